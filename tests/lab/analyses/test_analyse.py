"""`assay analyse`: names, banks and models, and the page with what was taken and what was not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from answered import drawn, of_banks, of_counts, posed, written
from banked import FIRST, OTHER, made
from small_runs import Shell

from assay.errors import DataError, UsageError
from assay.lab.analyses import NAMES, measure
from assay.lab.analyses.analysis import analyse, chosen, document, needs, text
from assay.lab.analyses.measure import NEEDED, Lacking
from assay.lab.analyses.page import page
from assay.lab.analyses.pair import Pair, Side


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def banks(tmp_path: Path) -> tuple[Path, Path]:
    """Two banks of a task, of which no model can be opened."""
    pool, problems = posed("countdown", 4, 12)
    chances = np.random.default_rng(0).beta(0.5, 1.0, (2, 12))
    number = {problem.id: i for i, problem in enumerate(problems)}
    paths = tmp_path / "base.parquet", tmp_path / "child.parquet"
    for path, row in zip(paths, chances, strict=True):
        right = np.random.default_rng(1).random((12, 8)) < row[:, None]
        written(
            pool, problems, 8, lambda one, i, right=right: (one.solution or "") if right[number[one.id], i] else "1+1"
        ).write(path)
    return paths


def test_every_name_is_a_measure_that_says_what_it_asks() -> None:
    for name in NAMES:
        one = measure(name)
        assert one.name == name and one.title and one.asks.endswith("?")
        assert one.needs and set(one.needs) <= set(NEEDED)
    assert [one.name for one in chosen([])] == list(NAMES)
    assert [one.name for one in chosen(["math-beyond", "math-beyond"])] == ["math-beyond"]
    assert needs(["sharpen-discover"]) == {"banks"} and "weights" in needs(["contamination"])


def test_an_unknown_name_is_refused_before_anything_is_read(shell: Shell, tmp_path: Path) -> None:
    reply = shell("analyse", tmp_path / "a.parquet", tmp_path / "b.parquet", "--only", "rlvr-bounday")
    assert reply.code == 2 and "rlvr-boundary" in reply.err and "assay list measures" in reply.err


def test_a_bank_and_a_model_are_no_pair(shell: Shell, tmp_path: Path) -> None:
    reply = shell("analyse", tmp_path / "a.parquet", "countdown")
    assert reply.code == 2 and "two banks, or two models" in reply.err


def test_a_bank_that_is_not_there_is_named(shell: Shell, tmp_path: Path) -> None:
    reply = shell("analyse", tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert reply.code != 0 and "there is no bank" in reply.err


def test_banks_that_were_not_asked_alike_are_refused() -> None:
    with pytest.raises(DataError, match=r"not asked alike \(system, temperature\)"):
        analyse(of_banks(made(FIRST), made(OTHER, temperature=0.6, system="Hello.")))
    with pytest.raises(DataError, match="share 1 problems"):
        analyse(of_banks(made({"a": [0, 1], "b": [1, 1]}), made({"a": [0, 1], "x": [1, 1]})))


@pytest.mark.slow
def test_two_banks_give_a_page_and_numbers(shell: Shell, banks: tuple[Path, Path], tmp_path: Path) -> None:
    reply = shell("analyse", *banks, "--json", "--into", tmp_path / "out")
    assert reply.code == 0, reply.err
    told = json.loads(reply.out)
    assert list(told["measures"]) == list(NAMES)
    assert told["measures"]["rlvr-boundary"]["samples"] == 8
    assert "cannot be opened" in told["measures"]["contamination"]["lacking"]
    assert "--task" in told["measures"]["seq-shortcuts"]["lacking"]
    stored = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert stored == {name: value for name, value in told.items() if name != "page"}
    html = Path(told["page"]).read_text()
    for name in NAMES:
        assert f'id="{name}"' in html and measure(name).title in html
    assert "<script" not in html and "src=" not in html and "://" not in html.replace("http://www.w3.org", "")
    shown = shell("analyse", *banks, "--only", "math-beyond", "--into", tmp_path / "out", "--quiet")
    assert shown.code == 0 and "math-beyond" in shown.out and "rlvr-boundary" not in shown.out


@pytest.mark.slow
def test_a_measure_that_was_named_and_cannot_be_taken_is_an_error(shell: Shell, banks: tuple[Path, Path]) -> None:
    reply = shell("analyse", *banks, "--only", "seq-shortcuts", "--into", banks[0].parent / "out")
    assert reply.code == 2 and "seq-shortcuts cannot be taken of" in reply.err
    easy = of_banks(of_counts([4, 4], 4), of_counts([4, 3], 4))
    with pytest.raises(UsageError, match="harder ones"):
        analyse(easy, ["math-beyond"])


def test_what_was_not_taken_stands_with_its_reason() -> None:
    pair = of_banks(of_counts([4, 4], 4), of_counts([4, 3], 4))
    (one,) = [one for one in analyse(pair) if one.measure.name == "math-beyond"]
    assert one.reading is None and "harder ones" in one.lacking
    assert document(pair, [one])["measures"] == {"math-beyond": {"lacking": one.lacking}}
    assert "not taken: the base solves every problem" in text([one])
    assert "Not taken: the base solves every problem" in page(pair, [one])


def test_names_of_sides_are_shown_as_text() -> None:
    base, child = drawn(np.array([0.2, 0.5, 0.0]), 4, 1), drawn(np.array([0.5, 0.5, 0.5]), 4, 2)
    pair = Pair(Side("<b>base</b>", base), Side("child & more", child))
    html = page(pair, analyse(pair, ["math-beyond"]))
    assert "&lt;b&gt;base&lt;/b&gt;" in html and "<b>base" not in html and "child &amp; more" in html


def test_weights_of_a_bank_alone_are_those_that_answered() -> None:
    with pytest.raises(Lacking, match="cannot be opened"):
        _ = Side("bank", made(FIRST)).policy
    with pytest.raises(Lacking, match="no banks"):
        _ = Pair(Side("a", model="a"), Side("b", model="b")).banks
