"""The studies of turns and tools: each of their runs can be configured, and they say beforehand what should differ."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.studies import __main__ as committed

STUDIES = {
    "search-stages": [("two-stages", "answer-only"), ("two-stages", "answer-only"), ("always", "two-stages")],
    "with-interpreter": [("interpreter", "none")],
    "turn-limits": [("sixteen", "four"), ("sixteen", "four")],
}


@pytest.fixture(autouse=True)
def bases_of_a_study_stay_in_it() -> Iterator[None]:
    with committed.alone():
        yield


@pytest.mark.parametrize("name", STUDIES)
def test_every_run_is_configured_and_says_what_should_differ(name: str) -> None:
    study = committed.study(name)
    assert [(one.arm, one.against) for one in study.expected] == STUDIES[name]
    assert {one.moves for one in study.expected} == {"up"} and len(study.seeds) == 5
    runs = [run for run in study.runs() if run.seed == study.seeds[0]]
    made = {run.arm: study.experiment(run, 4) for run in runs}
    assert set(made) == set(study.arms)
    limits = {arm: [getattr(part, "most", None) for part in one.recipe.mechanism.ask] for arm, one in made.items()}
    if name == "with-interpreter":
        assert limits == {"none": [0], "interpreter": [8]}
    if name == "turn-limits":
        assert limits == {"four": [4], "sixteen": [16]}
    if name == "search-stages":
        shares = {arm: [stage.share for stage in one.recipe.stages] for arm, one in made.items()}
        assert shares == {"answer-only": [0, 8148], "two-stages": [1, 3], "always": [0, 8148]}
        rewards = made["always"].recipe.mechanism
        assert [type(part).__name__ for part in rewards.reward] == [
            "AnswerF1",
            "TurnForm",
            "Called",
        ]
        assert rewards.reward[2].tools == ("search", "s")  # pyright: ignore[reportAttributeAccessIssue]
