"""No round of a step runs again what an earlier one has run: counted for each method, same answers as without."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from of_methods import make, said
from talking import TALKING
from tiny import Letters, models_of, phases_of, policy, recipe_of, register, with_forks

from assay.collect import Collector
from assay.engine import footprint
from assay.engine.interface import Done, Generation
from assay.engine.local import LocalEngine
from assay.engine.sampling_call import prompt_of
from assay.memory import Memory
from assay.part import name_of
from assay.recipe import Stage
from assay.rng import Key
from assay.types import Request

both = pytest.mark.parametrize("kind", ["torch", "native"], indirect=True)


class Calls:
    """What an engine was asked, what it answered, and how many tokens of prompts each call ran."""

    def __init__(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[list[Request], list[Generation]]] = []
        self.ran: list[int] = []
        real = engine.generate

        def generate(requests: Sequence[Request], key: Key, *, done: Done) -> list[Generation]:
            before, made = engine.prefilled, real(requests, key, done=done)
            self.asked.append((list(requests), made))
            self.ran.append(engine.prefilled - before)
            return made

        monkeypatch.setattr(engine, "generate", generate)

    def needed(self, *, keeping: bool) -> list[int]:
        """Tokens that each call must run, from sets of all beginnings: those that no call before has run, and for each
        prompt that is known whole its last, which the answer is predicted from. Prompts within longer ones are not run.
        """
        seen: set[tuple[int, ...]] = set()
        result = []
        for requests, made in self.asked:
            prompts = {tuple(int(i) for i in prompt_of(r)) for r in requests}
            hosts = [p for p in prompts if not any(q != p and q[: len(p)] == p for q in prompts)]
            fresh = sum(p[:n] not in seen for p in hosts for n in range(1, len(p) + 1))
            result.append(fresh + len(prompts & seen))
            if keeping:
                rows = [(*prompt_of(r), *g.segment.ids[:-1]) for r, g in zip(requests, made)]
                seen |= {tuple(map(int, row[:n])) for row in (*hosts, *rows) for n in range(1, len(row) + 1)}
        return result


def collected(recipe: Any, engine: LocalEngine) -> list[Any]:
    phases, models = phases_of(recipe), models_of(engine)
    episodes, _ = phases.collect(models, phases.ask(models, phases.source(Memory(0)), Memory(0)), Memory(0))
    return list(episodes)


@dataclasses.dataclass(frozen=True)
class Rounds:
    """What rounds are of, and how large."""

    recipe: str
    group_size: int = 8
    talks: bool = False  # the environment replies
    hints: bool = False  # a round hands over longer and shorter hints, not answers
    values: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)  # of parts that ask


ROUNDS = {
    "turns": Rounds("grpo", talks=True),
    **{name: Rounds(name, **values) for name, values in said("ROUNDS").items()},
}


def recipe_for(method: str) -> Any:
    rounds = ROUNDS[method]
    recipe = recipe_of(rounds.recipe, max_new=9, num_prompts=4, group_size=rounds.group_size)
    named = ((f"ask:{name_of(part)}", part) for part in recipe.mechanism.ask)
    ask = tuple(make(place, **rounds.values[place]) if place in rounds.values else part for place, part in named)
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, ask=ask), stages=(Stage(),))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Each thread of the core runs the prompts of its own rows, so that two of them run a shared prompt twice."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@both
@pytest.mark.parametrize("method", ROUNDS)
def test_no_round_of_a_step_runs_what_an_earlier_one_has_run(
    kind: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = ROUNDS[method].talks
    register(monkeypatch, TALKING) if turns else register(monkeypatch)
    monkeypatch.setattr(footprint, "NATIVE_SLOTS", 64)  # a prompt whose rows enter in two waves is run twice
    engine, plain = (policy("fp32", decode=Letters().decode) for _ in range(2))
    monkeypatch.setattr(plain, "keeping", nullcontext)
    calls, without = Calls(engine, monkeypatch), Calls(plain, monkeypatch)
    with_it, alone = collected(recipe_for(method), engine), collected(recipe_for(method), plain)
    assert [e.request.id for e in with_it] == [e.request.id for e in alone]
    assert [e.stream("ids").tolist() for e in with_it] == [e.stream("ids").tolist() for e in alone]
    if kind == "native":
        assert [e.stream("old").tobytes() for e in with_it] == [e.stream("old").tobytes() for e in alone]
    assert len(calls.ran) >= 2 and calls.ran == calls.needed(keeping=True)
    assert without.ran == without.needed(keeping=False)
    if not ROUNDS[method].hints:
        later = [len({prompt_of(r).tobytes() for r in asked}) for asked, _ in calls.asked[1:]]
        replies = 2 if turns else 0
        assert all(count <= places * (1 + replies) for count, places in zip(calls.ran[1:], later))
    assert sum(calls.ran[1:]) < sum(without.ran[1:])
    assert engine.kept.most == 0, "the step is over"


@both
def test_where_no_round_goes_on_from_another_nothing_is_kept(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    engine = policy("fp32")
    monkeypatch.setattr(engine, "keeping", lambda: pytest.fail("there is nobody to keep anything for"))
    for method in ("grpo", "dapo", *said("ANEW")):
        assert collected(recipe_of(method, max_new=6, num_prompts=4, group_size=4), engine)


def test_an_error_ends_the_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    engine = policy("fp32")
    monkeypatch.setattr(Collector, "rewarded", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        collected(with_forks("grpo", num_prompts=4, group_size=8), engine)
    assert engine.kept.most == 0
