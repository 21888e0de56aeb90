"""The same from Python: five lines, settings as Python values, and a run by its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import SIZES, STEPS, came_to, make_model, train_line

import assay
from assay.cli.main import main
from assay.errors import ConfigError, DataError, UnknownName, UsageError

SETTINGS: dict[str, Any] = {name.replace("-", "_"): value for name, value in SIZES.items()}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> assay.Run:
    return assay.train(
        "grpo",
        task="countdown",
        levels=(3,),
        model=str(model),
        steps=STEPS,
        run=tmp_path_factory.mktemp("runs") / "run",
        settings=SETTINGS,
        quiet=True,
    )


@pytest.mark.slow
def test_a_run_knows_its_metrics_scores_report_and_model(run: assay.Run) -> None:
    from assay.policy import load_policy

    assert [record["step"] for record in run.metrics()] == [1, 2, 3, 4]
    scores = run.scores()
    assert scores["steps"] == STEPS and set(scores["difference"]["pass"]) == {"1", "2"}
    assert run.report() == run.path / "report.html" and run.report().stat().st_size > 1000
    assert run.model.name == "policy" and f"step-{STEPS:08d}" in str(run.model)
    weights = load_policy(run.model).network.state_dict()
    assert all(np.isfinite(tensor.numpy()).all() for tensor in weights.values())


@pytest.mark.slow
def test_python_and_the_command_line_make_the_same_run(run: assay.Run, model: Path, tmp_path: Path) -> None:
    assert main([*train_line(model, tmp_path / "run"), "--quiet"]) == 0
    assert came_to(tmp_path / "run") == came_to(run.path)


@pytest.mark.slow
def test_a_run_is_extended_by_resume(model: Path, tmp_path: Path) -> None:
    first = assay.train(
        "rloo",
        levels=(3,),
        model=str(model),
        steps=1,
        run=tmp_path / "run",
        settings={**SETTINGS, "mechanism.curate": (), "scale.clip_norm": None},
        quiet=True,
    )
    again = assay.resume(first.path, steps=2, quiet=True)
    assert again == first and len(again.metrics()) == 2


@pytest.mark.parametrize(
    ("wishes", "kind", "says"),
    [
        ({"task": "coutdown"}, UnknownName, "'countdown'"),
        ({"recipe": "dapoo"}, UnknownName, "'dapo'"),
        ({"levels": ()}, DataError, "without a level"),
        ({"levels": (99,)}, DataError, "not 99"),
        ({"profile": "labtop"}, ConfigError, "paper, laptop, processor, one-gpu"),
        ({"steps": 0}, ConfigError, "scale.num_steps must be at least 1"),
        ({"model": "contdown"}, UnknownName, "'countdown'"),
        ({"settings": {"scale.group_size": "many"}}, ConfigError, "expected int, came 'many'"),
        ({"settings": {"scale.group_size": None}}, ConfigError, "expected int, came None"),
        ({"settings": {"scal.group_size": 3}}, UnknownName, "'scale'"),
    ],
)
def test_wrong_wishes_raise_what_the_command_line_says(
    wishes: dict[str, Any], kind: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(kind) as caught:
        assay.train(**{"recipe": "grpo", "levels": (3,), "run": tmp_path / "run", "quiet": True, **wishes})
    assert says in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    nothing = assay.Run(tmp_path)
    for ask in (nothing.metrics, nothing.scores, nothing.report):
        with pytest.raises(UsageError, match="holds no run"):
            ask()
    with pytest.raises(UsageError, match="holds no run"):
        assay.resume(tmp_path)
