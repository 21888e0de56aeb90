"""`assay search`: a run answers by search, guided by the model that was trained beside it and by no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from small_runs import Shell

from assay.errors import ConfigError, UsageError
from assay.lab.searched import GUIDE, opened, search, table, training
from assay.lab.trial import small_model, small_run
from assay.source import Pool, Share
from assay.types import Episode, Verdict

pytestmark = pytest.mark.slow

POOL = Pool((Share("quantities", (3,)),))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = {"scale.max_new": 24}
    made = small_run("rstar-math", tmp_path_factory.mktemp("search"), task="quantities", steps=1, settings=settings)
    return str(made.path)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_a_run_answers_by_search(run: str) -> None:
    found = search(run, POOL, problems=3, width=3, rollouts=2)
    one, tree, several, votes = found["arms"]
    assert found["problems"] == 3 and [a["arm"] for a in (one, tree)] == ["one answer", "search"]
    assert several["tokens"] == votes["tokens"] and several["arm"].startswith("best of ")
    number = int(several["arm"].split()[-1])
    assert number == max(1, round(tree["tokens"] / one["tokens"])) and tree["tokens"] > 0
    assert all(a["right"]["mean"] <= 1 and a["invalid"] == 0 for a in found["arms"])
    assert "the search found a right answer" in table(found)
    assert search(run, POOL, problems=3, width=3, rollouts=2) == found


def test_no_verdict_guides_the_search(run: str) -> None:
    """With a verifier that says the same of all answers the search writes the same tokens."""

    def never(episodes: Sequence[Episode]) -> list[Verdict]:
        return [Verdict.fail("wrong", answer=e.text) for e in episodes]

    def always(episodes: Sequence[Episode]) -> list[Verdict]:
        return [Verdict.ok(e.text) for e in episodes]

    low, high = (search(run, POOL, problems=4, width=3, rollouts=3, verify=judge) for judge in (never, always))
    assert [a["tokens"] for a in low["arms"]] == [a["tokens"] for a in high["arms"]]
    assert [a["right"]["mean"] for a in low["arms"]] == [0.0] * 4 and low["found"] == 0.0
    assert high["arms"][0]["right"]["mean"] == 1.0


def test_the_models_are_those_of_the_last_checkpoint(run: str) -> None:
    _, models = opened(run, "preference-model")
    assert set(models) == {"policy", "preference-model"} and np.isfinite(models["policy"].version)


def test_what_cannot_be_searched_is_refused(run: str, tmp_path: Path, shell: Shell) -> None:
    with pytest.raises(UsageError, match="is not a run"):
        search(str(small_model(tmp_path / "model")), POOL)
    with pytest.raises(ConfigError, match="no model 'critic' with a value head; it has preference-model"):
        search(run, POOL, guide="critic")
    with pytest.raises(ConfigError, match=r"search\.width must be 1 or more, not 0"):
        search(run, POOL, width=0)
    with pytest.raises(ConfigError, match=r"search\.rollouts must be 0 or more, not -1"):
        search(run, POOL, rollouts=-1)
    with pytest.raises(UsageError, match="the model is the judge, and model is ''"):
        search(run, POOL, guide="")
    assert shell("search", run, "--guide", "critic").code == 78


def test_the_command(run: str, shell: Shell) -> None:
    asked = ("search", run, "--problems", "2", "--width", "2", "--rollouts", "1")
    found = shell(*asked, "--json").document
    assert [len(found["arms"]), found["problems"]] == [4, 2]
    assert "tokens a problem" in shell(*asked).out


def test_it_trains_the_model_that_is_asked_where_none_is_named() -> None:
    assert "rstar-math" in training(GUIDE)
