"""A second player writes harder variants of problems, and pass counts of the policy decide which of them stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from assay.ask.prompts import rendered
from assay.memory import Memory
from assay.methods.exploration.synthrl.evolution import ROLE, Bar, Evolution, evolutions
from assay.part import Count, Expansion, Remembering, Within
from assay.prompt import Prompt, text_asked
from assay.tasks.harder import ASKING, variant_of
from assay.types import Episode, Problem, Request, by_group

if TYPE_CHECKING:
    from assay.ask import Codec, Sampling
    from assay.recipe import Mechanism
    from assay.scale import Scale

Checks = Annotated[int, Within(2)]
STORE = "evolved"


def evolve(
    episodes: Sequence[Episode],
    *,
    codec: Codec,
    sampling: Sampling,
    checks: int,
    sure: int,
    least: int,
    margin: int,
    attempts: int,
    longest: int,
) -> list[Request]:
    """The next requests for each problem of the step: more answers until it has `checks`, then a text, then `checks`
    answers to this text, and so on until there were `attempts` texts. A problem with fewer than `sure` right answers
    gets no text.
    """
    groups = by_group([episode.request for episode in episodes])
    asked: list[Request] = []
    for group, state in evolutions(episodes, Bar(checks, sure, least, margin)).items():
        requests = groups[group].members
        request, number = requests[0], len(requests)
        if number < checks:
            asked += [_again(request, sample=1 + max(r.sample for r in requests) + i) for i in range(checks - number)]
        elif state.right is None or state.right < sure:
            continue
        elif state.waiting is not None:
            asked += _replies(state, state.waiting, checks, codec, sampling)
        elif state.attempts < attempts:
            asked.append(_writing(request, state, codec, sampling, longest))
    return asked


class Evolve(Expansion):
    """The player `evolver` writes harder variants of the problems that the policy mostly solves, and the policy answers
    each (SynthRL 2506.02096).

    A variant is accepted if `least` or more of `checks` answers to it are right, by the answer of the old problem, and
    fewer than of the answers to the old problem, less `margin`. The next variant starts from the last accepted one.
    """

    checks: Checks = 16  # answers that measure a problem or a variant
    sure: int = 12  # right answers of a problem that gets variants
    least: Count = 4  # right answers of a variant that is accepted; more than chance would give
    margin: int = 1  # by how much more than this its count must be below that of the old problem
    attempts: int = 8  # texts for a problem
    longest: Count = 1024  # the most tokens of a text; the limit of answers holds too
    does = evolve
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (to_vary(prompt).longer(min(self.longest, max_new)),)


def to_vary(prompt: Prompt) -> Prompt:
    """The prompt that asks for a harder variant of the question; pictures that it shows stay in it."""
    return prompt.within(ASKING, instead=True)


def _again(request: Request, *, sample: int) -> Request:
    return dataclasses.replace(request, sample=sample, round=request.round + 1)


def _writing(request: Request, state: Evolution, codec: Codec, sampling: Sampling, longest: int) -> Request:
    place = {"draw": request.draw, "sample": state.attempts, "round": request.round + 1, "role": ROLE}
    limit = min(longest, sampling.max_new)
    values: dict[str, Any] = {**sampling.of(state.seed), **place, "max_new": limit}
    prompt = to_vary(request.prompt.about(state.current))
    return Request(state.seed, rendered(prompt, codec), f"{request.group}/{ROLE}", worded=prompt, **values)


def _replies(state: Evolution, written: Episode, checks: int, codec: Codec, sampling: Sampling) -> list[Request]:
    asked, variant = written.request, variant_of(state.seed, written.text.strip())
    place = {"draw": asked.draw, "round": asked.round + 1, "parent": asked.id, "tag": "check"}
    prompt, group = asked.prompt.for_an_answer().about(variant), f"{asked.group}/{asked.sample}"
    context, values = rendered(prompt, codec), sampling.of(variant) | place
    return [Request(variant, context, group, sample=i, worded=prompt, **values) for i in range(checks)]


def keep_evolved(
    memory: Memory,
    *,
    episodes: Sequence[Episode],
    checks: int,
    sure: int,
    least: int,
    margin: int,
    place: str = STORE,
) -> Memory:
    """For each problem of the step its count, the number of texts, and the best variant with its count and version."""
    store = memory.store(place)
    for state in evolutions(episodes, Bar(checks, sure, least, margin)).values():
        entry: dict[str, Any] = {"right": state.right, "of": checks, "texts": state.attempts, "step": memory.step}
        if state.best is not None:
            entry |= {"text": text_asked(state.best.prompt), "text_right": state.best_right}
        store[state.seed.id] = entry
    return memory.keep(place, store)


class KeepEvolved(Remembering):
    """Keeps the best variant of each problem of the step, with the counts by which `evolve` accepted it. Beside
    `evolve` it must have the same values.
    """

    keeps = STORE

    checks: Checks = 16  # answers that measure a problem or a variant
    sure: int = 12  # right answers of a problem that gets variants
    least: Count = 4  # right answers of a variant that is accepted
    margin: int = 1  # by how much more than this its count must be below that of the old problem
    does = keep_evolved
    needs = ("texts",)
    needs_verdict = True

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        own = Bar(self.checks, self.sure, self.least, self.margin)
        for part in mechanism.expand:
            if isinstance(part, Evolve) and (other := Bar(part.checks, part.sure, part.least, part.margin)) != own:
                return f"keep-evolved would accept other variants than evolve: {own} and {other}. Give both the same."
        return None
