"""Questions for other roles."""

from __future__ import annotations

from assay.ask import AlsoAsk, Sampling, first_requests
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
