"""Answers that say nothing: judges that compare with a reference accept many of them (2507.08794).

":", "Solution", "Let's solve this problem step by step.", "The answer is as stated." are refused before a judge is
asked. An answer says something if a word is left when the words that only announce, praise or point are removed.
"""

from __future__ import annotations

import re
import unicodedata

_WORDS = """
a an the this that these those it its is are was were be been being am i we you he she they our your my me us let lets
let's and or but so thus hence therefore then now first finally here there above below as of to in on at by for with
from into about will would shall should can could may might must do does did done have has had having not answer
answers solution solutions result results response reply output conclusion final correct right true exact exactly
precise perfect verified valid good great accurate stated given same equal equals equivalent identical matches match
matching reference ground truth gold expected candidate student question problem task exercise thought thoughts
process think thinking thinks thought's reasoning reason explanation explain step steps solve solving solved find
finding found compute computing calculate calculating analyse analyze analysis start begin beginning follows following
says said know known need needed want wanted okay ok sure yes indeed definitely certainly course carefully detail
detailed details overview approach method idea plan proof verify checking checked check please grade verdict score
mark pass accept accepted full marks best die der das den dem des ein eine einen einem und oder ist sind wir ich es zu
zum zur mit von auf im wie hier nun also antwort lösung ergebnis endergebnis aufgabe frage schritt schritte
schrittweise denkprozess gedanken gedankengang überlegung richtig richtige korrekt lautet folgt lösen rechnung rechnen
lassen uns dieses diese dieser genannt angegeben oben le la les un une du de et ou est sont nous je il elle à au aux
avec sur dans comme voici donc réponse résultat problème étape étapes par correcte exacte juste raisonnement pensée
processus résolvons résoudre suivant suit indiqué ci-dessus commençons el los las una unos unas y o son nosotros yo al
con sobre en como aquí entonces respuesta solución resultado problema pregunta paso pasos correcta correcto exacta
razonamiento pensamiento proceso resolvamos resolver sigue siguiente indicado arriba empecemos vamos
"""
_PHRASES = """
让我们 一步一步 一步步 逐步 解决 这个 问题 思考 过程 思路 推理 解答 解析 答案 正确 如下 结果 最终 首先 所以 因此 参考
相同 一致 题目 分析 解 是 的 为 与 我们 来 我 了 上述 如上 所述 回答 解説 解法 答え 正解 過程 推論 問題 ステップ
順番 解き ましょう 考え よう です ます である この まず 最終 結果 結論 正しい とおり 通り 上記 参照 同じ は を に の
が と で て い り え る かいせつ
"""
_LONGEST = 400  # characters; an answer of more is for the judge to read
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_KNOWN = frozenset(_WORDS.split())
_LONG_FIRST = sorted(_PHRASES.split(), key=len, reverse=True)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def says_something(answer: str) -> bool:
    """Whether an answer has a word, number or formula beside announcements, praise and references to itself."""
    text = unicodedata.normalize("NFKC", answer).casefold()
    if len(text) > _LONGEST:
        return True
    words = _WORD.findall(text.replace("’", "'"))
    letter = len(words) == 1 and len(words[0]) == 1 and words[0].isascii()  # of a multiple choice
    return letter or any(not _empty(word) for word in words)


def has_text(response: str) -> bool:
    """Whether a response has a letter or a digit. More is left to a judge that reads the problem beside it: a yes may
    be all that a problem asks for.
    """
    return any(character.isalnum() for character in response)


def _empty(word: str) -> bool:
    if word in _KNOWN or all(piece in _KNOWN for piece in re.split(r"['-]", word)):
        return True
    if not _CJK.search(word):
        return False
    for phrase in _LONG_FIRST:
        word = word.replace(phrase, " ")
    return not word.strip()
