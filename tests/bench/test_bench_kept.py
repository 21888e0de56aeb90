"""Measurements are kept by machine and day: none is written over, and RESULTS.md is what is kept, byte for byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import kept, rendering, run, update_cost

HERE = {"processor": "AMD EPYC", "cores": 2, "flags": ["avx2"], "memory_gib": 23.5, "python": "3.11.7"}
SAME_NAME = HERE | {"cores": 64, "memory_gib": 251.0}


def result(about: dict[str, Any], day: str, seconds: float) -> dict[str, Any]:
    return {"name": "trl-S1-full-native", "machine": about, "measured": day, "seconds": seconds}


@pytest.mark.slow
def test_the_page_in_the_repository_is_what_its_results_say(tmp_path: Path) -> None:
    """A fresh clone renders the same page: nothing of it lives in the page alone."""
    rendering.render(page=tmp_path / "RESULTS.md")
    assert (tmp_path / "RESULTS.md").read_text() == rendering.PAGE.read_text()


def test_the_page_has_every_section_and_every_measurement() -> None:
    page = rendering.PAGE.read_text()
    for heading in ("# Results", "## Memory of half", "## What a method's update costs", "## What the comparisons say"):
        assert heading in page
    for kind in ("trl", "vllm"):
        for one in kept.stored(rendering.RESULTS, kind):
            rows = [line for line in page.splitlines() if line.startswith(f"| {one['name']} |")]
            assert any(line.endswith(f"| {one['measured']} |") for line in rows)


def test_a_measurement_is_never_written_over(tmp_path: Path) -> None:
    """Of another machine of the same name, of another day, and of the same machine later that day."""
    for about, day, seconds in [
        (HERE, "2026-11-20", 1.0),
        (SAME_NAME, "2026-11-20", 2.0),
        (HERE, "2026-11-21", 3.0),
        (HERE, "2026-11-21", 4.0),
    ]:
        kept.keep(tmp_path, "trl-S1-full-native", result(about, day, seconds))
    found = kept.stored(tmp_path, "trl")
    assert sorted(one["seconds"] for one in found) == [1.0, 2.0, 3.0, 4.0]
    assert [one["seconds"] for one in found if one["machine"] == HERE] == [1.0, 3.0, 4.0]


def test_the_tenth_measurement_of_a_day_comes_behind_the_ninth(tmp_path: Path) -> None:
    for seconds in range(1, 12):
        kept.keep(tmp_path, "trl-S1-full-native", result(HERE, "2026-11-20", seconds))
    assert [one["seconds"] for one in kept.stored(tmp_path, "trl-S1-full-native")] == list(range(1, 12))


def test_kinds_do_not_mix(tmp_path: Path) -> None:
    kept.keep(tmp_path, "trl-S1", result(HERE, "2026-11-20", 1.0))
    (tmp_path / "trl_gradient.json").write_text("{}")
    kept.keep(tmp_path, "trl_learning", result(HERE, "2026-11-20", 2.0))
    assert [one["seconds"] for one in kept.stored(tmp_path, "trl")] == [1.0]


@pytest.mark.slow
def test_measuring_adds_to_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m bench.run` on another machine of the same name: its rows stand below ours, and nothing is gone."""
    folder, page = tmp_path / "results", tmp_path / "RESULTS.md"
    shutil.copytree(rendering.RESULTS, folder)
    before = rendering.PAGE.read_text().splitlines()
    theirs = next(one for one in kept.stored(folder, "trl") if one["machine"]["processor"] == "AMD EPYC")
    about = theirs["machine"] | {"cores": 64}
    monkeypatch.setattr(run, "about_machine", lambda: about)
    monkeypatch.setattr(run, "compare", lambda *_, **__: theirs | {"machine": about, "measured": "2027-01-02"})
    monkeypatch.setattr(run.System, "check", lambda self: None)
    monkeypatch.setattr(run, "RESULTS", folder)
    monkeypatch.setattr(run, "render", lambda: rendering.render(folder, page))
    monkeypatch.setattr(
        "sys.argv", ["run", "--against", "trl", "--shapes", "S1", "--endings", "full", "--engines", "native"]
    )
    with pytest.raises(SystemExit) as done:
        run.main()
    assert done.value.code == 0
    after = page.read_text().splitlines()
    assert set(before) <= set(after)
    assert any(line.endswith("| 2027-01-02 |") for line in after) and "## AMD EPYC, 64 cores, " in page.read_text()


def test_costs_of_another_machine_are_a_file_of_their_own(tmp_path: Path) -> None:
    mine = update_cost.place_of(tmp_path, HERE, again=False)
    mine.write_text("{}")
    assert update_cost.place_of(tmp_path, HERE, again=False) == mine, "what was begun goes on"
    assert update_cost.place_of(tmp_path, HERE, again=True) != mine
    assert update_cost.place_of(tmp_path, SAME_NAME, again=False) != mine
    assert json.loads(mine.read_text()) == {}


@pytest.mark.slow
def test_a_further_section_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = (*rendering.SECTIONS[:-1], lambda folder: "## More\n\nof it\n", rendering.SECTIONS[-1])
    monkeypatch.setattr(rendering, "SECTIONS", more)
    rendering.render(page=tmp_path / "page.md")
    assert "\n\n## More\n\nof it\n\n## " in (tmp_path / "page.md").read_text()
