"""docs/method.md: its two methods are written into a copy of the repository as they stand there, linted, tested and
trained; what that touches is counted; its tables are those that the parts say.

`ASSAY_WRITE_DOCS=1` writes the tables again; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

import pytest
from copies import contents, copy_of_the_repository, lint, touched
from small_runs import ROOT

from assay.known import PARTS
from assay.lab.part_card import questions
from assay.methods import METHODS
from assay.part import KINDS, PLACES, Part
from assay.part_checks import GIVEN, OFFERED
from examples import FILES, WORKED, group_of, listed, of, written

PAGE = ROOT / "docs" / "method.md"
PRICE = [(2, 1), (3, 1)]  # of the methods of the page: files, and lines elsewhere


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("| --- ", "|---").replace("--- |", "---|")


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def cost() -> str:
    """Files and lines of each method, those of its tests apart."""
    rows = []
    for method, (_, elsewhere) in zip(WORKED, PRICE, strict=True):
        code = [text for path, text in of(method).items() if path.startswith("assay/")]
        tests = [text for path, text in of(method).items() if path.startswith("tests/")]
        counts = [len(code), sum(map(count, code)), len(tests), sum(map(count, tests)), elsewhere]
        rows.append([f"`{method}`: {WORKED[method].lower()}", *map(str, counts)])
    return table(["method", "files", "lines", "files of tests", "lines", "lines elsewhere"], rows)


def count(text: str) -> int:
    return len(text.splitlines())


def sizes() -> str:
    """Of the methods that stand: files and lines, without tests and without parts of other rooms that they share."""
    measured = {
        group: {name: [count(path.read_text()) for path in code_of(group, name)] for name in names}
        for group, names in METHODS.items()
    }
    rows = [[group, *spread(found)] for group, found in measured.items()]
    rows.append(["all", *spread({name: lines for found in measured.values() for name, lines in found.items()})])
    return table(["group", "methods", "median files", "median lines", "largest"], rows)


def code_of(group: str, method: str) -> list[Path]:
    """The file of a method, or those of its folder."""
    folder = ROOT / "assay" / "methods" / group / method
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def spread(lines: Mapping[str, Sequence[int]]) -> list[str]:
    largest = max(lines, key=lambda name: sum(lines[name]))
    medians = (median(map(len, lines.values())), median(map(sum, lines.values())))
    return [str(len(lines)), *(f"{m:g}" for m in medians), f"`{largest}`: {sum(lines[largest])}"]


SET_UP = set.intersection(*(set(kind.offers) for kind in KINDS if len(kind.offers) > 5))  # what most kinds are offered


def seams() -> str:
    rows = []
    for kind in KINDS:
        whole = set(kind.offers) >= SET_UP
        more = [name for name in kind.offers if not whole or name not in SET_UP]
        offers = ["the set-up"] * whole + [quoted(more)] * bool(more)
        says = " ".join((kind.__doc__ or "").split())
        rows.append([quoted(kind.slots), kind.__name__, says, quoted(kind.given), ", ".join(offers) or "-"])
    head = ["slot", "kind", "what a part of it says", "called with", "may ask for"]
    return table(head, rows) + f"\nThe set-up is {quoted(sorted(SET_UP))}.\n"


def names() -> str:
    meanings = {**GIVEN, **OFFERED}
    return table(["name", "what it is"], [[f"`{name}`", meanings[name]] for name in sorted(meanings)])


def asked() -> str:
    """Of every part, and of the parts of some kinds."""
    all_parts = questions(Part)
    rows = [[f"`{name}`", "all", means] for name, means in all_parts.items()]
    seen: dict[str, list[str]] = {}
    said: dict[str, str] = {}
    for kind in KINDS:
        for name, means in questions(kind).items():
            if name not in all_parts:
                seen.setdefault(name, []).extend(kind.slots)
                said[name] = means
    rows += [[f"`{name}`", quoted(slots), said[name]] for name, slots in seen.items()]
    return table(["question", "of parts of", "what it asks"], rows)


def places() -> str:
    """What parts read and write beside what their kinds say, and which parts do."""
    rows = []
    for place, means in PLACES.items():
        parts = {f"{kind.slots[0]}:{name}": part() for kind in PARTS for name, part in PARTS[kind].items()}
        doing = [[name for name, part in parts.items() if place in getattr(part, verb)] for verb in ("reads", "writes")]
        rows.append([f"`{place}`", means, *(quoted(sorted(names)) or "-" for names in doing)])
    return table(["place", "what it is", "read by", "written by"], rows)


TABLES = {"places": places, "cost": cost, "sizes": sizes, "seams": seams, "names": names, "questions": asked}


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_say_what_the_parts_say(name: str) -> None:
    text, begin, end = PAGE.read_text(), f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, _, rest = text.partition(begin)
    found, _, after = rest.partition(end)
    if os.environ.get("ASSAY_WRITE_DOCS"):
        PAGE.write_text(f"{before}{begin}{TABLES[name]()}{end}{after}")
    assert found == TABLES[name]()


def test_every_slot_and_every_question_is_on_the_page() -> None:
    text = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", PAGE.read_text(), flags=re.DOTALL)
    for slot in (slot for kind in KINDS for slot in kind.slots):
        assert f"`{slot}`" in text
    for word in (
        "wants",
        "scope",
        "scales_with",
        "continues",
        "refusal",
        "prompts",
        "reads",
        "keeps",
        "called",
        "writes",
    ):
        assert f"`{word}`" in text


@pytest.mark.slow
def test_the_worked_methods_have_their_price_and_are_as_the_linter_wants_them(tmp_path: Path) -> None:
    """An advantage: two files and one line. A prompt with a memory: three files and one line."""
    copy = copy_of_the_repository(tmp_path)
    before = contents(copy)
    written(copy)
    after = contents(copy)
    added, changed = set(map(str, after.keys() - before.keys())), touched(before, after)
    assert added == set(FILES)
    assert changed == {listed(method): [f'+     "{method}",'] for method in WORKED}
    assert [(len(of(m)), len(changed[listed(m)])) for m in WORKED] == PRICE
    assert all(f'`"{method}",`' in PAGE.read_text() for method in WORKED)
    places = {root: {f"{root}/methods/{group_of(m)}/{m}" for m in WORKED} for root in ("assay", "tests")}
    homes = {path.removesuffix(".py").removesuffix("/__init__") for path in FILES}
    assert all(any(home.startswith(place) for place in places[home.split("/")[0]]) for home in homes)
    lint(copy, *FILES, *map(str, changed))
