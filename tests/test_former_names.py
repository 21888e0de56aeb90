"""Parts that bore another name: run folders that say it are read, and go on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from of_methods import named
from small_runs import STEPS, Shell, came_to, copy_of, make_model, train_line

from assay.curate import StatisticsOnly
from assay.known import PARTS, RECIPES
from assay.part import Curator, Part
from assay.run.configure import from_data, to_data

RENAMED = [(kind, part, name) for kind, parts in PARTS.items() for part in parts.values() for name in part.formerly]


@pytest.mark.parametrize(("kind", "part", "name"), RENAMED, ids=[name for _, _, name in RENAMED])
def test_a_former_name_is_read_and_the_present_one_is_written(kind: type[Part], part: type[Part], name: str) -> None:
    found = from_data(kind, {**to_data(part()), "part": name}, place="here")
    assert found == part() and to_data(found)["part"] != name


def test_what_was_renamed_has_names_of_its_own() -> None:
    assert {"nobody", "aside", "steps"} | named("FORMERLY") <= {name for _, _, name in RENAMED}
    every = Counter((kind, name) for kind, parts in PARTS.items() for name in parts)
    every.update((kind, name) for kind, _, name in RENAMED)
    assert not [place for place, count in every.items() if count > 1]


@pytest.mark.slow
def test_a_run_that_says_a_former_name_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recipe sets greedy answers aside with a part that was called so."""
    shell, model = Shell(capsys), make_model(tmp_path / "model")
    curating = {name: made.mechanism.curate for name, made in RECIPES.items()}
    setting_aside = [name for name, parts in curating.items() if any(isinstance(one, StatisticsOnly) for one in parts)]
    assert shell(*train_line(model, tmp_path / "run", recipe=setting_aside[0]), "--quiet").code == 0
    old = copy_of(tmp_path / "run", tmp_path / "old")
    text = (old / "run.json").read_text()
    assert '"statistics-only"' in text and from_data(Curator, "aside", place="here")
    (old / "run.json").write_text(text.replace('"statistics-only"', '"aside"'))
    for path in (tmp_path / "run", old):
        assert shell("resume", path, "--steps", STEPS + 1, "--quiet").code == 0
    assert came_to(old) == came_to(tmp_path / "run")
