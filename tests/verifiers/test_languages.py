"""The language of a text: a sentence or two of everyday words for each, and texts that have none."""

from __future__ import annotations

import pytest

from assay.verifiers.languages import LANGUAGES, is_english, language_of

TEXTS = {
    "en": "Where is the station, and when does it open?",
    "es": "El perro está en la casa y no quiere salir porque llueve.",
    "pt": "O cachorro não quer sair de casa porque está chovendo muito.",
    "fr": "Le chien ne veut pas sortir de la maison parce qu'il pleut.",
    "de": "Der Hund will nicht aus dem Haus gehen, weil es regnet.",
    "it": "Il cane non vuole uscire di casa perché piove molto.",
    "pl": "Pies nie chce wyjść z domu, bo jest deszcz.",
    "vi": "Con chó không muốn ra khỏi nhà vì trời mưa.",
    "sw": "Mbwa hataki kutoka nje ya nyumba kwa sababu ya mvua.",
    "fi": "Koira ei halua lähteä talosta, koska sataa vettä.",
    "ru": "Собака не хочет выходить из дома, потому что идёт дождь.",
    "uk": "Собака не хоче виходити з дому, бо йде дощ і вона боїться.",
    "bg": "Кучето не иска да излезе от къщата, защото вали дъжд.",
    "ar": "لا يريد الكلب أن يخرج من البيت لأن المطر ينزل في الخارج",
    "ur": "کتا گھر سے باہر نہیں جانا چاہتا کیونکہ بارش ہو رہی ہے",
    "fa": "سگ نمی‌خواهد از خانه بیرون برود چون باران می‌بارد و سرد است",
    "hi": "कुत्ता घर से बाहर नहीं जाना चाहता क्योंकि बारिश हो रही है",
    "mr": "कुत्रा घराबाहेर जात नाही कारण पाऊस पडत आहे आणि तो भिजतो",
    "ne": "कुकुर घर बाहिर जान चाहँदैन किनभने पानी परिरहेको छ र यो चिसो हुन्छ",
    "ja": "雨が降っているので、犬は家から出たがりません。",
    "zh": "下雨了,狗不想出门。",
    "ko": "비가 와서 개가 집 밖으로 나가려 하지 않는다.",
    "th": "สุนัขไม่อยากออกจากบ้านเพราะฝนตก",
    "he": "הכלב לא רוצה לצאת מהבית כי יורד גשם",
    "bn": "কুকুরটি ঘর থেকে বের হতে চায় না",
    "ta": "மழை பெய்வதால் நாய் வெளியே வர விரும்பவில்லை",
    "te": "వర్షం పడుతోంది కాబట్టి కుక్క బయటకు రాదు",
    "kn": "ಮಳೆ ಬರುತ್ತಿದೆ ನಾಯಿ ಹೊರಗೆ ಬರುವುದಿಲ್ಲ",
    "gu": "વરસાદ પડે છે એટલે કૂતરો બહાર આવતો નથી",
    "pa": "ਮੀਂਹ ਪੈ ਰਿਹਾ ਹੈ ਕੁੱਤਾ ਬਾਹਰ ਨਹੀਂ ਆਉਂਦਾ",
    "ml": "മഴ പെയ്യുന്നു നായ പുറത്തു വരുന്നില്ല",
    "el": "Ο σκύλος δεν θέλει να βγει",
}


def test_each_language_has_a_text() -> None:
    assert TEXTS.keys() == set(LANGUAGES)


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_known_by_its_everyday_words(language: str) -> None:
    assert language_of(TEXTS[language]) == language
    assert language_of(f"{TEXTS[language]} Berlin 2024.") == language, "a name in another script decides nothing"


def test_what_says_nothing_has_no_language() -> None:
    assert [language_of(text) for text in ("", "12 + 3", "Berlin", "\ud800")] == ["", "", "", ""]
    assert is_english("BREAKING NEWS") and not is_english("12") and not is_english(TEXTS["fr"].upper())
