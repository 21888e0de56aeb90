"""Under which licence a package stands, by its own metadata, and whether that is one of those that are allowed."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution
from pathlib import Path

LISTED = tomllib.loads(Path(__file__).with_name("release.toml").read_text())["licences"]
ALLOWED = frozenset[str](LISTED["allowed"])
WRITTEN: Mapping[str, str] = LISTED["written"]
READ: Mapping[str, Mapping[str, str]] = LISTED["read"]


def licence_of(package: Distribution) -> str:
    """The expression of SPDX, as the package writes it or as its classifiers or its text say it; "" if none of them
    says a licence that is known here.

    Where there are classifiers they count, and the text does not: it may be the whole licence, or a remark on it.
    """
    if expression := _field(package, "License-Expression"):
        return expression
    named = [line.rpartition("::")[2].strip() for line in classifiers(package)]
    text = _field(package, "License")
    words = [word for word in named if word != "OSI Approved"] or [text]
    if not any(words):
        return _read(package)
    known = [WRITTEN.get(word, word) for word in words]
    if not all(map(is_known, known)):
        return ""
    return " AND ".join(f"({word})" if " OR " in word else word for word in known)


def _read(package: Distribution) -> str:
    """The licence that a person read in the text beside the package, if it is still that text."""
    about = READ.get(package.metadata["Name"], {})
    texts = [file for file in package.files or () if "licen" in file.name.lower()]
    digests = {hashlib.sha256(Path(str(file.locate())).read_bytes()).hexdigest() for file in texts}
    return about["licence"] if digests == {about.get("sha256")} else ""


def is_known(expression: str) -> bool:
    """Whether every licence of an expression is listed in tests/release.toml, whichever of them hold."""
    parts = [part.strip(" ()") for part in re.split(r"\b(?:AND|OR)\b", expression)]
    return all(part in {*ALLOWED, *WRITTEN.values()} for part in parts)


def allowed(expression: str) -> bool:
    """Whether a package under this expression may come along: of `OR` one side must be allowed, of `AND` both."""
    words = re.findall(r"\(|\)|[^\s()]+", expression)
    try:
        fine = _either(words)
    except IndexError:  # it ends within a bracket or behind an AND
        return False
    return fine and not words


def _either(words: list[str]) -> bool:
    fine = _both(words)
    while words and words[0] == "OR":
        words.pop(0)
        fine = _both(words) or fine
    return fine


def _both(words: list[str]) -> bool:
    fine = _one(words)
    while words and words[0] == "AND":
        words.pop(0)
        fine = _one(words) and fine
    return fine


def _one(words: list[str]) -> bool:
    name = words.pop(0)
    if name == "(":
        fine = _either(words)
        return words.pop(0) == ")" and fine
    if words and words[0] == "WITH":
        name = f"{name} WITH {words.pop(1)}"
        words.pop(0)
    return name in ALLOWED


def unfit(packages: Iterable[Distribution]) -> Iterator[str]:
    """The packages that may not come along, each with what it says of its licence."""
    for package in packages:
        licence = licence_of(package)
        if not allowed(licence):
            yield f"{package.metadata['Name']} {package.version} ({licence or written(package)})"


def written(package: Distribution) -> str:
    """What a package says of its licence where that is nothing that is known here."""
    text = _field(package, "License").partition("\n")[0][:60]
    return "; ".join(filter(None, [text, *classifiers(package)])) or "says no licence"


def classifiers(package: Distribution) -> list[str]:
    """The classifiers of a package that are about its licence."""
    return [line for line in package.metadata.get_all("Classifier") or () if line.startswith("License")]


def _field(package: Distribution, name: str) -> str:
    return (package.metadata.get_all(name) or [""])[0].strip()
