"""Questions for other roles, and in other words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters

from assay.ask import AlsoAsk, Paraphrased, Sampling, first_requests
from assay.ask.paraphrased import in_other_words
from assay.memory import Memory
from assay.part import bind
from assay.policy import character_tokenizer
from assay.rng import Key
from assay.tasks import ALPHABET, task
from assay.types import Request

CODEC = character_tokenizer(ALPHABET)
PROBLEMS = [task("countdown").problem(Key(i), level=3) for i in range(3)]


def requests(samples: int = 2) -> list[Request]:
    return first_requests(PROBLEMS, Memory(0), first=0, samples=samples, sampling=Sampling(8), codec=CODEC)


def test_every_role_gets_every_question_in_a_group_of_its_own() -> None:
    asked = requests()
    made = bind(AlsoAsk(roles=("second", "third")))(asked)
    assert made[:6] == asked and [r.role for r in made[6:]] == ["second"] * 6 + ["third"] * 6
    assert len({r.id for r in made}) == 18 and len({r.group for r in made}) == 9
    assert all(a.draw == b.draw and a.problem == b.problem for a, b in zip(made[:6], made[6:12], strict=True))
    assert bind(AlsoAsk())(asked) == asked


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
    assert Paraphrased().grows(problem, CODEC, 8) == 0


@pytest.mark.parametrize("level", [3, 6])
def test_some_question_does_change(level: int) -> None:
    problem = task("countdown").problem(Key(1), level=level)
    assert len({in_other_words(problem, Key(i)).prompt for i in range(9)}) > 1 and Letters.vocab == 5
