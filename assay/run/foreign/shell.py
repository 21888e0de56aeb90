"""The settings in a shell script that starts a trainer: words `key=value` and options `--key value`. Nothing is run.

Variables that the script sets are put in, with their defaults; so are HOME and sums of numbers. What stands under a
condition (`if`, `case`, a loop, a function) is not followed, and is told.
"""

from __future__ import annotations

import ast
import operator
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import DataError

UNKNOWN = "\0"  # stands for what only a shell could tell
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ASSIGNED = re.compile(rf"^(?:export\s+|local\s+|readonly\s+)?({NAME})(\+?)=(.*)$", re.DOTALL)
VARIABLE = re.compile(rf"\$\{{({NAME})(?:(:?-)((?:[^{{}}]|\{{[^{{}}]*\}})*))?\}}|\$({NAME})")
ARRAY = re.compile(rf"^\$\{{({NAME})\[[@*]\]\}}$")
SUM = re.compile(r"\$\(\((.*?)\)\)")
COMMAND = re.compile(r"\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`")
SETTING = re.compile(r"^(?:\+{0,2}|~)([A-Za-z_][\w@/-]*(?:\.[\w@/-]+)+)=(.*)$", re.DOTALL)
OPTION = re.compile(r"^--([A-Za-z][\w.-]*)(?:=(.*))?$", re.DOTALL)
STARTS = re.compile(r"\s-m\s+\w+\.")  # a module that a command starts, perhaps behind variables of its environment
ENDS = ("&>>", "&>", "2>&1", "|", "&&", ";", ">", ">>", "$@", "")  # words behind which no settings follow
OPENS, CLOSES = ("if", "case", "for", "while", "until", "function"), ("fi", "esac", "done", "}")
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass
class Script:
    """What a script says: its settings in order, and the lines that were not followed."""

    values: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


@dataclass
class Shell:
    """The variables and the arrays of a script up to some line."""

    path: Path
    texts: dict[str, str] = field(default_factory=lambda: {"HOME": str(Path.home())})
    arrays: dict[str, list[str]] = field(default_factory=dict)

    def assign(self, name: str, value: str, *, more: bool, line: int) -> None:
        """Sets a variable or an array, or adds to it."""
        if value.startswith("("):
            before = self.arrays.get(name, []) if more else []
            self.arrays[name] = [*before, *self.words(value[1:].rsplit(")", 1)[0], line)]
        else:
            before = self.texts.get(name, "") if more else ""
            self.texts[name] = before + " ".join(self.words(value, line))

    def words(self, text: str, line: int) -> list[str]:
        """The words of a text, without their quotes, with variables and arrays put in."""
        try:
            words = shlex.split(self.filled(text), comments=False)
        except ValueError as error:
            raise DataError(f"{self.path}, line {line} cannot be read as a shell command: {error}.") from None
        return [one for word in words for one in self._expanded(word)]

    def filled(self, text: str) -> str:
        """The text with variables, sums and defaults put in; what a command would say is unknown."""
        text = SUM.sub(lambda found: _sum(self._named(self.filled(found[1]))), text)
        return VARIABLE.sub(self._variable, COMMAND.sub(UNKNOWN, text))

    def _variable(self, found: re.Match[str]) -> str:
        name, kind, default = found[1] or found[4], found[2], found[3]
        if name in self.arrays:
            return " ".join(self.arrays[name])
        value = self.texts.get(name)
        if kind and not value:
            return self.filled(default)
        return UNKNOWN if value is None else value

    def _named(self, text: str) -> str:
        """A sum with its variables, which stand there without a dollar sign too, put in."""
        return re.sub(NAME, lambda found: self.texts.get(found[0], found[0]), text)

    def _expanded(self, word: str) -> list[str]:
        array = ARRAY.match(word)
        return [word] if array is None else self.arrays.get(array[1], [])


def read(text: str, path: Path) -> Script:
    """The settings of a script; of a key that comes twice the last value, as hydra and argparse have it."""
    script, shell = Script(), Shell(path)
    skipped: list[int] = []
    for number, line, conditional in _lines(text):
        if conditional:
            skipped.append(number)
        elif (assigned := ASSIGNED.match(line)) is not None and not STARTS.search(line):
            shell.assign(assigned[1], assigned[3].strip(), more=bool(assigned[2]), line=number)
        elif "<<" not in line:
            script.values |= dict(_settings(_of_trainer(shell.words(line, number))))
    if skipped:
        some = ", ".join(map(str, skipped[:6])) + (" ..." if len(skipped) > 6 else "")
        script.remarks.append(f"not followed, because they stand under a condition: lines {some}")
    return script


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """(number, line, whether it stands under a condition) for each line, with its continuations and without comments.
    Lines of an array in brackets are one line.
    """
    whole, first, depth = "", 0, 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _bare(raw)
        first = first if whole.strip() else number
        whole += line.removesuffix("\\") if line.endswith("\\") else line + " "
        if line.endswith("\\") or _open(whole):
            continue
        if command := whole.strip():
            depth += _opens(command)
            yield first, command, depth > 0
            depth = max(0, depth - (command.rstrip("; ").rpartition(" ")[2] in CLOSES))
        whole = ""
    if whole.strip():
        yield first, whole.strip(), depth > 0


def _opens(command: str) -> bool:
    """Whether a condition, a loop or a function begins here."""
    return command.split()[0] in OPENS or re.match(rf"{NAME}\s*\(\)\s*\{{", command) is not None


def _open(text: str) -> bool:
    """Whether a quotation or an array has begun and not ended."""
    try:
        shlex.split(text, comments=False)
    except ValueError:
        return True
    plain = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    return re.match(rf"^\s*{NAME}\+?=\(", text) is not None and plain.count("(") > plain.count(")")


def _bare(line: str) -> str:
    """A line without a comment at its end."""
    quote = ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place].rstrip()
    return line.rstrip()


def _of_trainer(words: list[str]) -> list[str]:
    """The words behind the trainer that a command starts; all words if it is nothing but settings, else none."""
    starts = [at for at, word in enumerate(words) if word == "-m" or word.endswith(".py") or word in ("trl", "rl")]
    if starts:
        return words[starts[0] + 1 :]
    return words if words and (OPTION.match(words[0]) or SETTING.match(words[0])) else []


def _sum(text: str) -> str:
    """The value of a sum of whole numbers."""
    try:
        return str(_value(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, TypeError):
        return UNKNOWN


def _value(node: ast.AST) -> int:
    """A whole number, or a sum of such."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("no sum of whole numbers")


def _settings(words: list[str]) -> Iterator[tuple[str, Any]]:
    """(key, value) of each setting among the words: `key=value`, `--key value ...`, or `--key` alone, which is true."""
    at = 0
    while at < len(words) and words[at] not in ENDS:
        word, at = words[at], at + 1
        if (option := OPTION.match(word)) is not None:
            following: list[str] = []
            while option[2] is None and at < len(words) and not words[at].startswith("--") and words[at] not in ENDS:
                following.append(words[at])
                at += 1
            yield option[1].replace("-", "_"), _of(following) if option[2] is None else scalar(option[2])
        elif (setting := SETTING.match(word)) is not None:
            yield setting[1], scalar(setting[2])


def _of(words: list[str]) -> Any:
    """The value of an option: true if it stands alone, a list if it has several."""
    return True if not words else scalar(words[0]) if len(words) == 1 else [scalar(word) for word in words]


def scalar(text: str) -> Any:
    """Text as hydra reads it: a list in brackets, nothing, or text without its quotes."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [item for raw in text[1:-1].split(",") if (item := raw.strip().strip("'\""))]
    return None if text.lower() in ("null", "none", "") else text.strip("'\"")
