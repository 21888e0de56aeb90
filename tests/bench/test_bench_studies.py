"""The committed studies: every result answers its study as it is written now, and the pages say what results say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.known import RECIPES
from assay.lab.study import markdown
from assay.lab.study.results import Result
from bench.studies import __main__ as committed


@pytest.fixture(autouse=True)
def recipes_and_bases_of_a_study_stay_in_it() -> Iterator[None]:
    """The Python files of a study register them, and tests of the built-in ones must not meet them."""
    with committed.alone():
        yield


@pytest.mark.turns(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", committed.names())
def test_results_answer_their_study_and_the_report_is_of_them(name: str) -> None:
    """A setting that was renamed makes results stale: `assay compare --study FILE --adopt --report` takes them on."""
    folder, study = committed.HERE / name, committed.study(name)
    findings = committed.found(name, study)
    there = [Result.read(path) for path in (folder / "results").rglob("seed-*.json")]
    named = {(run.arm, run.task, run.seed) for run in study.runs()}
    assert {(one.arm, one.task, one.seed) for one in there} <= named, "no result of an arm that is gone"
    assert len(findings.results) == len(there), "results of another question: adopt them, or run them again"
    assert (folder / markdown.NAME).read_text() == markdown.text(findings, name), "python -m bench.studies --render"


@pytest.mark.slow
def test_every_recipe_is_an_arm_or_is_refused_with_its_reason() -> None:
    study = committed.study("recipes")
    assert set(study.arms) | set(study.left_out) == set(RECIPES) and next(iter(study.arms)) == "grpo"


README = " ".join((committed.HERE.parents[1] / "README.md").read_text().split())


def test_the_readme_counts_what_the_contrasts_came_to() -> None:
    rows = committed.INDEX.read_text().split("## Contrasts on the test beds")[1].split("##")[0].splitlines()
    words = [row.split("|")[-2].split(";")[0].split(":")[0].strip() for row in rows if row.startswith("| ")][1:]
    decided = [word for word in words if word != "not run yet"]
    assert len(decided) == 12 and ("others wait for their runs" in README) == (len(decided) < len(words))
    supported, undecided = words.count("SUPPORTED"), words.count("UNDECIDED")
    opposite = words.count("REFUTED, the opposite")
    refuted = words.count("REFUTED") + opposite
    void = words.count("NO EVIDENCE")
    assert supported + refuted + undecided + void == 12
    told = (
        f"{supported} are supported, {refuted} refuted ({opposite} of them the opposite), {undecided} undecided, and "
        f"{void} without evidence"
    )
    assert told in README


def test_the_index_shows_where_curves_cross() -> None:
    """Of grpo pass@1 rises on both tasks of `ten`, and pass@256 falls; of sft it does not."""
    rows = committed.INDEX.read_text().split("## What becomes of pass@k")[1].split("##")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("| [ten]")]
    signs = {(row[1], row[2]): (row[4][0], row[5][0]) for row in cells}
    assert len(signs) == 20
    for task in ("countdown:3,4", "metamath"):
        assert signs[task, "grpo"] == ("+", "-") and signs[task, "sft"] == ("+", "+")


def test_the_index_names_every_study() -> None:
    text = committed.INDEX.read_text()
    assert all(f"[{name}]({name}/report.md)" in text for name in committed.names())
