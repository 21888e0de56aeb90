"""Pages: what they say of the universe in short and in sentences, and how they stand in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError
from assay.rng import Key, uniforms
from assay.worlds.search.universe import RELATIONS, Universe

TRADES = ("painter", "doctor", "sailor", "teacher", "farmer", "singer", "weaver", "lawyer", "miller", "printer")
GENRES = ("novel", "poem", "play", "opera", "song", "film", "ballad", "comedy")
GOODS = ("clocks", "boats", "glass", "paper", "cheese", "shoes", "lamps", "bricks", "ropes", "bells")


@dataclass(frozen=True)
class Page:
    """A page: `Page("Xovan", "b Mirel t Sanvi")`."""

    title: str
    text: str

    @property
    def line(self) -> str:
        """The page as it stands in a file."""
        return json.dumps({"title": self.title, "text": self.text}, ensure_ascii=False)


def short_pages(of: Universe) -> Iterator[Page]:
    """A page for each, in a few characters: the letter of each fact, and the name that it tells."""
    for number, name in enumerate(of.names):
        facts = [f"{way} {of.names[of.facts[way][number]]}" for way in RELATIONS[of.kind(number)]]
        yield Page(name, " ".join(facts))


def told_pages(of: Universe) -> Iterator[Page]:
    """A page for each, in a few sentences."""
    chances = uniforms(Key(0)("search", "pages").branches(range(len(of.names))), 2)
    for number, name in enumerate(of.names):
        kind = of.kind(number)
        one, two = (of.names[of.facts[way][number]] for way in RELATIONS[kind])
        yield Page(name, _TOLD[kind](name, one, two, *chances[number].tolist()))


def _person(name: str, town: str, teacher: str, work: float, time: float) -> str:
    trade = _of(TRADES, work)
    return (
        f"{name} is a {trade} who was born in {town} in the year {_year(time)}. As a young {trade}, this person was "
        f"taught by {teacher}. Letters from that time are kept in the archive."
    )


def _town(name: str, mayor: str, north: str, people: float, time: float) -> str:
    return (
        f"{name} is a town of {900 + int(people * 90_000)} people, first named in the year {_year(time)}. "
        f"Its mayor is {mayor}. The road to the north leads to {north}."
    )


def _work(name: str, author: str, town: str, kind: float, time: float) -> str:
    genre = _of(GENRES, kind)
    return (
        f"{name} is a {genre} that was written by {author} in the year {_year(time)}. "
        f"The story of the {genre} is set in {town}. It was well received."
    )


def _company(name: str, founder: str, town: str, goods: float, time: float) -> str:
    return (
        f"{name} is a company that makes {_of(GOODS, goods)}. It was founded by {founder} in the year {_year(time)}. "
        f"The headquarters are in {town}."
    )


_TOLD = {"person": _person, "town": _town, "work": _work, "company": _company}


def _of(words: tuple[str, ...], chance: float) -> str:
    return words[int(chance * len(words))]


def _year(chance: float) -> int:
    return 1200 + int(chance * 800)


def read(path: Path) -> Iterator[Page]:
    """The pages of a JSONL file, each with a title of its own and a text. What is no such file is refused."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file of pages.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as text in UTF-8: {error}") from error
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        page = _page(line, f"{path}, line {number}")
        if page.title in lines:
            raise DataError(
                f"{path}, line {number}: the title {page.title!r:.60} stands in line {lines[page.title]} already. A "
                "page is opened by its title, so each needs one of its own."
            )
        lines[page.title] = number
        yield page
    if not lines:
        raise DataError(f'{path} has no pages: expected a line {{"title": ..., "text": ...}} for each.')


def _page(line: str, where: str) -> Page:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is no JSON: {error}") from error
    for name in ("title", "text"):
        if not isinstance(row, dict) or not isinstance(row.get(name), str) or not row[name].strip():
            raise DataError(f"{where}: expected an object with a {name} that is not empty, and got {line[:60]!r}.")
        try:
            row[name].encode()
        except UnicodeEncodeError as error:
            raise DataError(f"{where}: the {name} holds half a character: {error.reason}.") from error
    return Page(row["title"].strip(), row["text"].strip())
