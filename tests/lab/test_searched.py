"""`assay search`: what is chosen by hand, that no verdict guides it, and a run that answers by search."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from small_runs import Shell
from tiny import END, episode, segment

from assay.errors import ConfigError, UsageError
from assay.lab.searched import GUIDE, arm, best, most_frequent, opened, search, table, training, written
from assay.lab.trial import small_model, small_run
from assay.source import Pool, Share
from assay.types import Episode, Verdict

pytestmark = pytest.mark.slow

POOL = Pool((Share("quantities", (3,)),))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = {"scale.max_new": 24}
    (recipe, *_) = training(GUIDE)
    made = small_run(recipe, tmp_path_factory.mktemp("search"), task="quantities", steps=1, settings=settings)
    return str(made.path)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def said(answer: str | None, sample: int, *, right: bool = False, finish: str = "stop", group: str = "g") -> Episode:
    made = episode([1, END], sample=sample, group=group, finish=finish)
    verdict = Verdict("ok" if right else "fail", "" if right else "wrong", answer=answer)
    return dataclasses.replace(made, verdict=verdict)


def test_the_best_and_the_most_frequent_by_hand() -> None:
    members = [said("a", 0), said("b", 1, right=True), said("b", 2, right=True), said("c", 3, finish="length")]

    def score(answers: Sequence[Episode]) -> list[float]:
        return [{0: 0.5, 1: 0.1, 2: 0.4, 3: 9.0}[answer.request.sample] for answer in answers]

    assert best(members, score) == [members[0]], "what was cut is no answer"
    assert most_frequent(members) == [members[1]]
    assert best(members[3:], score) == [] == most_frequent([said(None, 0)])


def test_the_share_and_the_tokens_by_hand() -> None:
    """Of three problems one is right, one wrong, and of one the chosen answer was never judged."""
    rows = [said("a", 0, right=True, group="x"), said("a", 0, group="y"), said("a", 0, group="z")]
    rows[2] = dataclasses.replace(rows[2], verdict=Verdict.invalid("worker_lost"))
    found = arm("one", rows, lambda members: members[:1])
    assert found["right"]["mean"] == 0.5 and found["invalid"] == 1 and found["tokens"] == 2.0
    assert arm("none", rows[:2], lambda members: [])["right"]["mean"] == 0.0
    assert arm("lost", rows[2:], lambda members: members)["right"] is None


def test_every_token_is_counted_once() -> None:
    first = segment([1, 2], node="a")
    step = episode([first])
    after = episode([first, segment([3], node="b")])
    after = dataclasses.replace(after, request=dataclasses.replace(after.request, prefix=(first,)))
    assert written([step, after]) == 3


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

    low, high = (search(run, POOL, problems=4, width=3, rollouts=3, judge=judge) for judge in (never, always))
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
