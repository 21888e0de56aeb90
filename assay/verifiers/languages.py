"""The language of a text, by its script and its most frequent words: without a model, and so without its mistakes of
chance. A text of a few words may hold none of them; it then has no language, and is in none.

A script that one language alone uses here decides by itself. Between languages of one script the small words decide
which each of them writes all the time (articles, pronouns, prepositions), and letters that the others do not have.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_SCRIPTS = {
    "ja": "HIRAGANA KATAKANA",
    "ko": "HANGUL",
    "th": "THAI",
    "el": "GREEK",
    "he": "HEBREW",
    "bn": "BENGALI",
    "ta": "TAMIL",
    "te": "TELUGU",
    "kn": "KANNADA",
    "gu": "GUJARATI",
    "pa": "GURMUKHI",
    "ml": "MALAYALAM",
}
"""Language -> the scripts, as Unicode names its characters, that it alone uses."""

_ONLY = {name: language for language, names in _SCRIPTS.items() for name in names.split()}

_WORDS = {
    "LATIN": {
        "en": "the and of to in is that it was for on are with as his they at be this have from or had by but not what "
        "all were we when your can said there an which she do how their if will would you he i my has been more "
        "could should about who its out so up them then these some her like him into our no than just also very",
        "es": "de la que el en y los del se las por un para con no una su al lo como más pero sus le ya este sí porque "
        "esta entre cuando muy sin sobre también hasta hay donde quien desde todo nos durante es son está fue ser",
        "pt": "de que e do da em um para com não uma os no se na por mais as dos como mas foi ao ele das tem seu sua "
        "ou ser quando muito nos já está eu também só pelo pela até isso ela entre era depois sem mesmo você são é à",
        "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont avec son sa "
        "ses mais comme nous vous ils elle ou cette être fait aux leur ont même aussi je tu dont très était où d l c",
        "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus "
        "er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber ich",
        "it": "di e il la che in un per è non una sono con del da si le dei al della come più anche ma nel i lo gli se "
        "delle alla questo ha su ci mi sua suo essere o dal nella questa fra quando molto tutti perché degli alle era",
        "pl": "w i na z się nie do to jest o że jak za od po są co przez tym dla tak ale czy już być przy może ich "
        "ze który która które tylko jego jej był było bardzo nas więc też ten ta oraz kiedy gdy mnie ja ty my",
        "vi": "và của là có trong cho được không một các với những người này đã đến khi từ như về để cũng tôi ra bạn "
        "nhiều rất sẽ trên vào năm còn thì ở hay lại chúng nhưng nếu phải anh theo đó mà",
        "sw": "ya na wa kwa ni katika za la kuwa cha hii yake kama watu huo sana lakini pia au kila baada hiyo yao "
        "hivyo kutoka hadi mimi wewe yeye sisi wao siku zaidi nchi moja ambayo ambao hapa hakuna vya lake",
        "fi": "ja on ei se että oli hän ovat mutta joka kun niin myös ole kuin sen tai mukaan jo vain voi nyt sitä "
        "olen tämä ne minä sinä me te he jos ollut jossa kanssa kaikki tämän mitä hyvin sekä vielä olla joita",
    },
    "CYRILLIC": {
        "ru": "и в не на что я с он как это по но из у за то все она так его к от же вы бы мы только о ее был мне было "
        "вот для меня еще ещё нет ему когда даже если или быть чтобы они очень этот который где",
        "uk": "і в не на що я з він як це по але із у за то та й вона так його до від ж ви б ми тільки про її був мені "
        "було для мене ще ні йому коли навіть якщо або бути щоб вони дуже цей який де є від",
        "bg": "и в не на че аз с той как това по но от за са се тя така го до вие бих ние само беше ми ме още му "
        "дори ако или да те много този който къде е съм ще със върху който след през",
    },
    "ARABIC": {
        "ar": "في من على إلى أن هذا التي الذي عن مع هذه كان لا ما هو هي أو كل بين قد بعد لم ذلك عند كما حتى غير إن ثم",
        "ur": "کے میں کی ہے اور سے کا کو اس کہ پر نے ہیں یہ کر بھی ایک ہو تھا جو وہ ان گیا تو نہیں تھے کیا لئے لیے آپ",
        "fa": "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز شد می ما اما یا هر بود شود آنها او چه های",
    },
    "DEVANAGARI": {
        "hi": "के में की है और से का को इस कि पर ने हैं यह कर भी एक हो था जो वह उन गया तो नहीं थे क्या लिए आप मैं",
        "mr": "आणि आहे या तो ती ते मी आपण च हा ही हे व त्या होते होता की नाही एक पण केली केले मध्ये आहेत असे साठी करून",
        "ne": "र छ को मा ले यो हो छन् पनि गर्न भएको लागि एक थियो तर म त्यो हुन्छ गर्ने के का की बाट संग तथा भने अनि हामी",
    },
}
"""Script -> language -> small words that it writes all the time."""

_LETTERS = {
    "LATIN": {
        "es": "ñ¿¡",
        "pt": "ãõ",
        "fr": "œèêù",
        "de": "ßä",
        "it": "ìò",
        "pl": "ąęłńśźż",
        "vi": "ăđơưạảấầẩậắằếềểệịọốồộớờợụứừựỳ",
        "fi": "ä",
    },
    "CYRILLIC": {"ru": "ыэё", "uk": "іїєґ", "bg": ""},
    "ARABIC": {"ar": "ةىأإ", "ur": "ٹڈڑںےہھ", "fa": "ژ"},
    "DEVANAGARI": {"hi": "", "mr": "ळ", "ne": ""},
}
"""Script -> language -> letters that speak for it."""

_TABLES = {
    script: {language: frozenset(words.split()) for language, words in of.items()} for script, of in _WORDS.items()
}
LANGUAGES = tuple(sorted({*_SCRIPTS, "zh", *(language for of in _WORDS.values() for language in of)}))
"""The codes of the languages that are told apart, of ISO 639."""

MOST = 20_000  # characters that are looked at: a language shows in the first pages
_WORD = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f\u0900-\u0963\u064b-\u0652\u200c]+[^\W\d_]*)*")


def language_of(text: str) -> str:
    """The code of the language; "" where nothing speaks for one language more than for another.

    language_of("Where is the station, and when does it open?")  # "en"
    """
    text = unicodedata.normalize("NFC", text[:MOST])
    scripts = Counter(
        name.partition(" ")[0] for letter in text if letter.isalpha() if (name := unicodedata.name(letter, ""))
    )
    if not scripts:
        return ""
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > scripts["CJK"] / 10 and scripts["HIRAGANA"] + scripts["KATAKANA"]:
        scripts["HIRAGANA"] += scripts.pop("CJK", 0)  # Japanese is written with Chinese characters too
    script = max(scripts, key=lambda name: scripts[name])
    if script in _ONLY:
        return _ONLY[script]
    return "zh" if script == "CJK" else _by_words(text, script)


def _by_words(text: str, script: str) -> str:
    """The language of a script whose small words and letters are the most frequent in a text."""
    words = Counter(_WORD.findall(text.lower()))
    letters = Counter(text.lower())
    counts = {
        language: float(sum(words[word] for word in small)) for language, small in _TABLES.get(script, {}).items()
    }
    for language, own in _LETTERS.get(script, {}).items():
        counts[language] += 0.5 * sum(letters[letter] for letter in own)
    first, second = sorted([*counts.values(), 0.0, 0.0], reverse=True)[:2]
    return max(counts, key=lambda language: counts[language]) if first > second else ""


def is_english(text: str) -> bool:
    """Whether a text is English, or of the Latin script with nothing that speaks for another language: a title of three
    words holds no small word.
    """
    if (language := language_of(text)) != "":
        return language == "en"
    return any(letter.isascii() and letter.isalpha() for letter in text)
