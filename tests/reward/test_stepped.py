"""The reward of single steps by hand, its credit, what a run reports of steps, and training on nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import tiny
from altered import altered
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import episode

from assay.credit import ReturnToGo
from assay.part import bind
from assay.record.measure import step_stats
from assay.reward import ValidSteps
from assay.reward.stepped import token_at
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Problem, Row, Verdict

SPEC = {"facts": ["c=a+b", "x=b*3", "b=5", "a=4", "d=c-a"], "asked": "cd"}  # a 4, b 5, c 2, d 5
PROBLEM = task("quantities").pose(SPEC, level=2)
TEXT = "c=2,x=1,d=6,~,d=5#25"  # valid, useless, wrong, valid, valid


class Characters:
    """A codec of one token a character, of two for a capital."""

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids)).replace("^", "")

    def encode(self, text: str) -> list[int]:
        return [ord(one) for letter in text for one in (f"^{letter}" if letter.isupper() else letter)]


def answered(text: str, problem: Problem = PROBLEM, **changes: object) -> Episode:
    plain = episode(Characters().encode(text))
    asked = dataclasses.replace(plain.request, problem=problem)
    return dataclasses.replace(plain, request=asked, text=text, **changes)  # type: ignore[arg-type]


def test_each_step_has_the_reward_of_its_verdict_at_its_last_token() -> None:
    part = ValidSteps(valid=0.25, useless=0.125, wrong=-0.5)
    (found,) = bind(part, codec=Characters())([answered(TEXT)])
    assert (found.name, found.scope, found.value) == ("valid-steps", "span", 0.25 + 0.125 - 0.5 + 0.25 + 0.25)
    assert found.at.tolist() == [TEXT.index(",x") - 1, TEXT.index(",d=6") - 1, TEXT.index("~") - 2, 12, len(TEXT) - 4]
    dense = found.dense(len(TEXT))
    assert [dense[place] for place in found.at] == [0.25, 0.125, -0.5, 0.25, 0.25]
    assert np.count_nonzero(dense) == 5


def test_a_task_without_judged_steps_has_no_such_reward() -> None:
    plain = task("mod-chain").problem(Key(0), level=2)
    assert bind(ValidSteps(), codec=Characters())([answered("1", plain), answered("25")])[0] is None
    (empty,) = bind(ValidSteps(), codec=Characters())([answered("25")])
    assert empty.value == 0.0 and empty.values.tolist() == []


def test_mistakes_on_purpose_do_not_pay() -> None:
    assert ValidSteps().refusal() is None and ValidSteps(valid=1.0, wrong=-1.0).refusal() is None
    assert "would earn 0.5" in str(ValidSteps(valid=1.0, wrong=-0.5).refusal())
    (honest, slow) = bind(ValidSteps(), codec=Characters())([answered("c=2,d=5#25"), answered("c=3,~,c=2,d=5#25")])
    assert slow.value == pytest.approx(honest.value)


@given(st.text("abAB", min_size=1, max_size=30), st.data())
def test_a_character_is_complete_with_the_first_token_up_to_which_the_text_has_it(
    text: str, data: st.DataObject
) -> None:
    ids, character = Characters().encode(text), data.draw(st.integers(0, len(text) - 1))
    at = token_at(character, ids, Characters())
    assert len(Characters().decode(ids[: at + 1])) == character + 1
    assert len(Characters().decode(ids[:at])) == character


def test_the_credit_of_a_token_is_that_of_the_steps_that_follow_it() -> None:
    """A single answer of two steps beside an empty one: what is to come of 0.5, -0.5, less the mean return, 0."""
    part = ValidSteps(valid=0.5, wrong=-0.5)
    rows = []
    for number, text in enumerate(("c=2,d=6#26", "25")):
        one = answered(text, verdict=Verdict.fail("wrong"))
        one = dataclasses.replace(one, request=dataclasses.replace(one.request, sample=number))
        rows.append(Row.of(dataclasses.replace(one, rewards=tuple(bind(part, codec=Characters())([one])))))
    made = bind(ReturnToGo())(rows)
    assert np.allclose(made[0].advantage, [0.0] * 3 + [-0.5] * 4 + [0.0] * 3)
    assert np.allclose(made[1].advantage, 0.0)


def test_a_step_reports_shares_of_steps_and_of_endings() -> None:
    """Five, none and one steps; of the answers the first is faithful, the second a shortcut, the third not there."""
    rows = [answered(text, verdict=Verdict.fail("wrong")) for text in (TEXT, "25", "c=1,")]
    stats = step_stats(rows, [Row(one) for one in rows])
    assert stats["steps/mean"] == 2.0
    assert [stats[f"steps/{kind}"] for kind in ("valid", "useless", "wrong")] == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    assert (stats["steps/faithful"], stats["steps/shortcut"]) == (0.5, 0.5)
    other = answered("1", task("mod-chain").problem(Key(0), level=2), verdict=Verdict.ok("1"))
    assert not any(name.startswith("steps/") for name in step_stats([other], [Row(other)]))
    assert "steps/valid" not in step_stats(rows[1:2], [Row(rows[1])])


class Signs(tiny.Letters):
    """One token for each of four signs."""

    signs = "1=,#"

    def encode(self, text: str) -> np.ndarray:
        return np.array([1 + self.signs.index(sign) for sign in text if sign in self.signs], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.signs[i - 1] if i else "" for i in ids)


@pytest.mark.slow
@pytest.mark.learning
def test_a_policy_learns_to_write_valid_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step `1` is valid, any other is wrong, and no answer is right: only the steps have a reward."""
    judged = altered(
        tiny.TINY,
        compact=lambda spec: "1",
        check=lambda spec, answer: Verdict.fail("wrong"),
        steps=lambda spec, steps, answer: (["valid" if step == "1" else "wrong" for step in steps], "none"),
    )
    tiny.register(monkeypatch, judged)
    plain = tiny.recipe_of("grpo", num_prompts=8, group_size=8, num_steps=40, learning_rate=0.01)
    reward = (ValidSteps(valid=1.0, wrong=-1.0),)
    recipe = dataclasses.replace(plain, mechanism=dataclasses.replace(plain.mechanism, reward=reward))
    worth = []
    for flipped in (False, True):
        notes, _ = tiny.run(recipe, tiny.policy(), codec=Signs(), flipped=flipped)
        own = [episode for step in notes.episodes[-5:] for episode in step]
        worth.append(np.mean([sum(part.value for part in episode.rewards) for episode in own]))
    shown("reward, less that with the sign turned", worth[0] - worth[1], above=1.0)


def test_the_answer_is_a_step_too_if_it_is_asked_for() -> None:
    """`valid` at its last token if it is right, else `wrong`; an answer without steps has this value alone."""
    part = ValidSteps(valid=0.25, useless=0.125, wrong=-0.5, last=True)
    right, wrong, bare = answered(TEXT, verdict=Verdict.ok()), answered(TEXT), answered("25", verdict=Verdict.ok())
    found = bind(part, codec=Characters())([right, wrong, bare])
    assert [reward.at[-1] for reward in found] == [len(TEXT) - 1, len(TEXT) - 1, 1]
    assert [reward.values[-1] for reward in found] == [0.25, -0.5, 0.25]
    assert [len(reward.values) for reward in found] == [6, 6, 1]
