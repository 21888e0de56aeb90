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
from copies import contents, copy_of_the_repository, lint, python, touched
from small_runs import ROOT

from assay.lab import new
from assay.lab.part_card import questions
from assay.methods import METHODS
from assay.part import KINDS, Part
from assay.part_checks import GIVEN, OFFERED

PAGE = ROOT / "docs" / "method.md"
FILE = re.compile(r"^```python ([\w/.]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORKED = {"mad": "an advantage", "diary": "a prompt with a memory"}
FILES = dict(FILE.findall(PAGE.read_text()))


def of(method: str) -> dict[str, str]:
    """The files of one of the methods."""
    return {path: text for path, text in FILES.items() if Path(path).parts[3] == method}


def group_of(method: str) -> str:
    """The group that the page puts it in."""
    return next(Path(path).parts[2] for path in of(method))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("| --- ", "|---").replace("--- |", "---|")


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def cost() -> str:
    """Files and lines of each method, those of its tests apart."""
    rows = []
    for method, what in WORKED.items():
        code = [text for path, text in of(method).items() if path.startswith("assay/")]
        tests = [text for path, text in of(method).items() if path.startswith("tests/")]
        counts = [len(code), sum(map(count, code)), len(tests), sum(map(count, tests)), 1]
        rows.append([f"`{method}`: {what}", *map(str, counts)])
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


TABLES = {"cost": cost, "sizes": sizes, "seams": seams, "names": names, "questions": asked}


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
def test_the_worked_methods_cost_one_line_each_and_pass_their_tests(tmp_path: Path) -> None:
    copy = copy_of_the_repository(tmp_path)
    before = contents(copy)
    for path, text in FILES.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text)
    listings = {new.listing_of(group_of(method), Path()): method for method in WORKED}
    for listing, method in listings.items():
        changed, line = new._with_line((copy / listing).read_text(), method)
        (copy / listing).write_text(changed)
        assert f"`{line}`" in PAGE.read_text()
    after = contents(copy)
    assert set(map(str, after.keys() - before.keys())) == set(FILES)
    places = [f"{group_of(method)}/{method}" for method in WORKED]
    folders = {f"{root}/methods/{place}" for place in places for root in ("assay", "tests")}
    assert {str(Path(path).parent) for path in FILES} == folders
    assert touched(before, after) == {listing: [f'+     "{method}",'] for listing, method in listings.items()}
    lint(copy, *FILES, *map(str, listings))
    wanted = [*sorted(folder for folder in folders if folder.startswith("tests/")), "tests/test_rooms.py"]
    assert "passed" in python("-m", "pytest", "-q", "-p", "no:cacheprovider", *wanted, place=copy, path=copy)
