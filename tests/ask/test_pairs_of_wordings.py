"""Any two parts that word a prompt: both texts stand in it, in both orders."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import tiny
import worked
from composed import ROLES, Dice, Signs, constants, lacks_solutions, mechanism_of, part_of, recipe, train_with_dice
from worded import holds, keeps

from assay.ask import Sampling, first_requests
from assay.ask.template import R1
from assay.errors import DataError
from assay.known import SLOTS
from assay.memory import Memory
from assay.models import Models
from assay.part import Part, bind
from assay.prompt import Prompt
from assay.recipe import Mechanism
from assay.rng import Key
from assay.types import Request

WORDING = {
    slot: [name for name, kind in sorted(SLOTS[slot].items()) if kind.prompts is not Part.prompts]
    for slot in ("ask", "expand")
}
ALWAYS: dict[str, Any] = {"share": 1.0}  # of a part that words some requests alone


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.register(monkeypatch)
    worked.register(monkeypatch)


def through(name: str, requests: Sequence[Request]) -> list[Request]:
    """What the part of `ask` makes of the requests, with every one of them worded."""
    part = part_of("ask", name)
    if any(field.name == "share" for field in dataclasses.fields(part)):
        part = dataclasses.replace(part, **ALWAYS)
    models = Models({"policy": Dice(Signs.vocab)}, dict.fromkeys(ROLES, "policy"))  # type: ignore[dict-item]
    offered = {**constants(recipe(Mechanism()), {"codec": Signs(), "pool": worked.POOL}), "place": ""}
    return bind(part, **offered)(list(requests), models=models, memory=Memory(0))


def in_wording(wording: str) -> list[Request]:
    """Requests for questions in this wording, of which the codec reads the signs that it knows."""
    pool = dataclasses.replace(worked.POOL, wording=wording)
    problems = [dataclasses.replace(pool.problem(Key(i)), hints=("b",)) for i in range(8)]
    return first_requests(problems, Memory(0), first=0, samples=4, sampling=Sampling(4), codec=Signs())


def lost(pair: tuple[str, str], wording: str) -> Iterator[str]:
    """What is wrong with the prompts of the requests that go through the first and then through the second part."""
    plain = in_wording(wording)
    first = through(pair[0], plain)
    both = through(pair[1], first)
    for prompt, draw in ((request.prompt, request.draw) for request in both):
        if not any(keeps(prompt, one.prompt) for one in first if one.draw == draw):
            yield f"what the first wrote is lost: {prompt}"
        if not holds(prompt):
            yield f"what a place holds is not told: {prompt.told!r}"
    alone = through(pair[1], plain)
    if any(r.prompt != Prompt.of(r.problem) for r in alone) and all(_among(r, first) for r in both):
        yield "the second writes nothing, where alone it writes"


def _among(request: Request, others: Sequence[Request]) -> bool:
    return any(request.prompt == other.prompt for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("wording", ["compact", "natural"])
def test_what_the_first_wrote_stands_beside_what_the_second_writes(wording: str) -> None:
    pairs = list(itertools.permutations(WORDING["ask"], 2))
    assert len(pairs) > 50
    wrong = [f"{pair}: {why}" for pair in pairs for why in itertools.islice(lost(pair, wording), 1)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("order", [("templated", "hinted"), ("hinted", "templated")])
def test_a_template_and_a_hint_both_stand_in_every_prompt(order: tuple[str, str]) -> None:
    made = through(order[1], through(order[0], in_wording("natural")))
    told = [str(request.prompt.told) for request in made]
    assert told and all("\n\nHint: " in text and text.endswith(R1) for text in told)
    assert all(request.hinted for request in made)


@pytest.mark.slow
def test_what_asks_further_keeps_what_the_question_had() -> None:
    for ask in WORDING["ask"]:
        wrong = [f"{ask}, {expand}: {why}" for expand in WORDING["expand"] for why in forgotten(ask, expand)]
        assert not wrong, "\n".join(wrong)


def forgotten(ask: str, expand: str) -> Iterator[str]:
    """What is asked later of a problem of the step, in a run with both, without what was asked of it first."""
    made = recipe(mechanism_of(("ask", ask), ("expand", expand)))
    try:
        watch = train_with_dice(made)
    except DataError as error:  # who poses knows no solution
        assert lacks_solutions(made) and "worked solution" in str(error)
        return
    for requests in ([episode.request for episode in episodes] for episodes in watch.episodes):
        first = [request for request in requests if request.round == 0]
        for request in (one for one in requests if one.round):
            same = [r.prompt for r in first if (r.problem.id, r.draw) == (request.problem.id, request.draw)]
            if same and not any(keeps(request.prompt, one) for one in same):
                yield str(request.prompt)
            if not holds(request.prompt):
                yield str(request.prompt.told)
