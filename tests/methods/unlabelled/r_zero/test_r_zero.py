"""R-Zero and SQLM: what a posed problem is worth, who answers it, and runs in which both players learn."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters, episode, policy, recipe_of, register, require_resumable, run
from voting import answered, rows_of

from assay.ask import Sampling
from assay.known import RECIPES, recipe
from assay.memory import Memory
from assay.methods.unlabelled.r_zero.answer_posed import AnswerPosed, answer_posed
from assay.methods.unlabelled.r_zero.split import Split, band, tent
from assay.part import bind
from assay.run.own_rewards import scored_by
from assay.tasks import task
from assay.types import Episode, Verdict


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def posing(text: str, *, sample: int = 0) -> Episode:
    """An answer to the request for a problem of letters."""
    asked = task("pose:tiny").pose({"shown": [{"letter": "a"}], "example": {"letter": "a"}}, level=1)
    made = episode([1], sample=sample, role="proposer")
    verdict = Verdict.ok(text) if text in ("a", "b") else Verdict.fail("format")
    return dataclasses.replace(
        made, request=dataclasses.replace(made.request, problem=asked), text=text, verdict=verdict
    )


def answers(of: Episode, *texts: str) -> list[Episode]:
    return [
        dataclasses.replace(one, request=dataclasses.replace(one.request, parent=of.request.id))
        for one in answered(*texts, group=f"answers {of.request.sample}")
    ]


def worth(part: Split, proposals: list[Episode], *replies: Episode) -> list[float | None]:
    found = bind(part)(proposals, everyone=[*proposals, *replies])
    return [None if one is None else one.value for one in found]


def test_the_worth_of_a_share_by_hand() -> None:
    assert [tent(p) for p in (0.0, 0.25, 0.5, 0.75, 1.0)] == [0.0, 0.5, 1.0, 0.5, 0.0]
    assert [band(p, answers=4) for p in (0.0, 0.25, 0.5, 1.0)] == [0.0, 0.0, 1.0, 0.0]


def test_problems_by_hand() -> None:
    """Two of four agree on the first; all on the second; the third is no problem; of the fourth no answer is there."""
    first, second, third, fourth = (posing(text, sample=i) for i, text in enumerate(["a", "b", "?", "a"]))
    replies = [*answers(first, "x", "x", "y", "z"), *answers(second, "x", "x")]
    assert worth(Split(repeated=0.0), [first, second, third, fourth], *replies) == [1.0, 0.0, 0.0, None]
    assert worth(Split(form="band"), [first, second], *replies) == [1.0, 0.0]


def test_problems_that_are_posed_again_are_worth_less() -> None:
    first, second, third = (posing(text, sample=i) for i, text in enumerate(["a", "a", "b"]))
    replies = [reply for one in (first, second, third) for reply in answers(one, "x", "y")]
    assert worth(Split(repeated=1.0), [first, second, third], *replies) == pytest.approx([2 / 3, 2 / 3, 1.0])


@given(st.lists(st.sampled_from("xyz"), min_size=2, max_size=8))
def test_a_reward_is_from_nothing_to_one_and_symmetric(texts: list[str]) -> None:
    one = posing("a")
    (found,) = worth(Split(), [one], *answers(one, *texts))
    assert found is not None and 0 <= found <= 1
    share = max(map(texts.count, texts)) / len(texts)
    assert tent(share) == pytest.approx(tent(1 - share)) and found == pytest.approx(tent(share))


def test_every_problem_is_answered_once_in_a_group_of_its_own() -> None:
    proposals = [posing("a"), posing("?", sample=1), posing("b", sample=2)]
    values = {"sampling": Sampling(8), "codec": Letters(), "answers": 3}
    asked = answer_posed(proposals, Memory(0, step=2), **values)  # type: ignore[arg-type]
    draw = proposals[0].request.draw + 1
    assert [r.group for r in asked] == [f"2:{draw}"] * 3 + [f"2:{draw + 1}"] * 3
    assert [r.parent for r in asked] == [proposals[0].request.id] * 3 + [proposals[2].request.id] * 3
    assert {r.role for r in asked} == {"policy"} and len({r.id for r in asked}) == 6
    done = answers(proposals[0], "x")
    for episodes in ([*proposals, *done], [*done, *proposals]):
        assert answer_posed(episodes, Memory(0), **values) == []  # type: ignore[arg-type]
    late = dataclasses.replace(proposals[0], request=dataclasses.replace(proposals[0].request, draw=900))
    drawn = answer_posed([late, *proposals[1:]], Memory(0), **values)  # type: ignore[arg-type]
    assert [r.draw for r in drawn] == [901] * 3 + [902] * 3, "no draw of the step is used twice"
    assert AnswerPosed(answers=1).refusal() and AnswerPosed().refusal() is None


@pytest.mark.parametrize(("name", "expected"), [("r-zero", ["quarter", "half", "most"]), ("sqlm", None)])
def test_the_solver_trains_on_split_votes(name: str, expected: list[str] | None) -> None:
    """Of four answers 1, 2, 3 and 4 are the same, of eight 1: R-Zero takes shares from 1/4 to 3/4, SQLM all."""
    votes = {"none": "xyzabcde", "quarter": "xyza", "half": "xxyz", "most": "xxxy", "all": "xxxx"}
    rows = rows_of(*(answered(*texts, group=group) for group, texts in votes.items()))
    (curate,) = recipe(name).mechanism.curate
    found = bind(curate)(rows)
    assert list(dict.fromkeys(row.group for row in found if row.in_loss)) == (expected or list(votes))


@pytest.mark.parametrize("name", ["r-zero", "sqlm"])
@pytest.mark.learning
def test_both_players_learn(name: str) -> None:
    """In R-Zero each from a batch of its own model, in SQLM as one."""
    recipe = recipe_of(name, max_new=3, num_prompts=4, group_size=4, num_steps=6, warmup_steps=0)
    notes, _ = run(recipe, policy("fp32", vocab=4, init_std=0.1))
    assert {row.role for rows in notes.rows for row in rows if row.in_loss} == {"policy", "proposer"}
    assert max(map(len, notes.batches)) == (2 if name == "r-zero" else 1)


def test_a_run_goes_on_with_the_same_bits() -> None:
    recipe = recipe_of("r-zero", max_new=3, num_prompts=2, group_size=2, num_steps=4, warmup_steps=0)
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.5), after=2)


def test_a_role_that_poses_problems_keeps_its_reward_beside_a_function_of_the_user() -> None:
    posed = scored_by(RECIPES["r-zero"], ["/a/my.py:f"], only=True).mechanism.rules
    assert posed == RECIPES["r-zero"].mechanism.rules
