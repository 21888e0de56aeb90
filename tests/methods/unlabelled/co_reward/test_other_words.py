"""The question in other words, and the vote of the group that was asked so."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters, episode
from worded import grown

from assay.ask import Sampling, first_requests
from assay.memory import Memory
from assay.methods.unlabelled.co_reward.paraphrased import Paraphrased, in_other_words
from assay.methods.unlabelled.co_reward.partner_vote import PartnerVote
from assay.part import Rewarding, bind
from assay.policy import character_tokenizer
from assay.rng import Key
from assay.tasks import ALPHABET, task
from assay.types import Episode, Problem, Request

CODEC = character_tokenizer(ALPHABET)
PROBLEMS = [task("countdown").problem(Key(i), level=3) for i in range(3)]
ONE = Problem("countdown", "one", {}, "one")
OTHER = Problem("countdown", "other", {}, "other", parents=(ONE.id,))
ALONE = Problem("countdown", "alone", {}, "alone")


def requests(samples: int = 2) -> list[Request]:
    return first_requests(PROBLEMS, Memory(0), first=0, samples=samples, sampling=Sampling(8), codec=CODEC)


def test_every_question_is_asked_in_other_words_in_a_group_that_names_it() -> None:
    asked = requests()
    made = bind(Paraphrased())(asked, memory=Memory(0), codec=CODEC, group_size=2)
    first, second = made[:6], made[6:]
    assert first == asked and [r.group for r in second] == [f"{r.group}/reworded" for r in first]
    assert len({r.id for r in made}) == 12
    for plain, other in zip(first, second, strict=True):
        assert other.problem.parents == (plain.problem.id,) and other.problem.id == plain.problem.id
        assert CODEC.decode(other.context.tolist()).strip().endswith(str(other.problem.prompt))


@given(st.integers(0, 99))
def test_other_words_ask_for_the_same(seed: int) -> None:
    """Whatever is right for one wording is right for the other, and the numbers are the same ones."""
    problem = task("countdown").problem(Key(seed), level=4)
    other = in_other_words(problem, Key(seed))
    assert sorted(other.spec["numbers"]) == sorted(problem.spec["numbers"])
    assert task("countdown").verify(other, problem.solution or "").status == "ok"


def test_a_task_of_one_wording_asks_the_same_again() -> None:
    problem = task("lis").problem(Key(0), level=8)
    assert in_other_words(problem, Key(1)).prompt == problem.prompt
    assert grown(Paraphrased(), problem, CODEC, 8) == 0


@pytest.mark.parametrize("level", [3, 6])
def test_some_question_does_change(level: int) -> None:
    problem = task("countdown").problem(Key(1), level=level)
    assert len({in_other_words(problem, Key(i)).prompt for i in range(9)}) > 1 and Letters.vocab == 5


def answers(problem: Problem, *texts: str, group: str) -> list[Episode]:
    made = []
    for i, text in enumerate(texts):
        answer = episode([1], group=group, sample=i)
        request = dataclasses.replace(answer.request, problem=problem)
        made.append(dataclasses.replace(answer, request=request, text=text, finish="length" if not text else "stop"))
    return made


def earned(part: Rewarding, episodes: list[Episode]) -> list[float | None]:
    return [None if found is None else found.value for found in bind(part)(episodes)]


def test_each_wording_is_judged_by_the_answers_to_the_other() -> None:
    first = answers(ONE, "7", "7", "9", group="g")
    second = answers(OTHER, "9", "9", "7", group="h")
    third = answers(ALONE, "7", group="i")
    assert earned(PartnerVote(), first + second + third) == [0, 0, 1, 0, 0, 1, None]


def test_a_group_is_never_its_own_partner() -> None:
    """Two wordings of one problem have one identity."""
    again = dataclasses.replace(ONE, parents=(ONE.id,))
    second = answers(again, "9", "9", "7", group="g/reworded")
    assert earned(PartnerVote(), second) == [None, None, None]
    assert earned(PartnerVote(), answers(ONE, "7", "9", group="g") + second) == [0, 1, 0, 0, 1]
