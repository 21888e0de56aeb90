"""Turns a recipe into the functions that the loop calls.

Each part of the recipe becomes a function: its own values and those of the run (group size, pool, codec, ...) are bound
as arguments, so that the loop passes only what changes from step to step.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assay import stages
from assay.ask import Codec, Sampling, first_requests
from assay.collect import AtEnd, Collect, Collector, Verdicts, Worth
from assay.credit import BatchRule, credit
from assay.forwards import run_forwards
from assay.memory import Memory, pass_rates
from assay.memory.places import Keeper, keepers, place_for
from assay.models import Models
from assay.part import Part, bind
from assay.recipe import Mechanism, Recipe
from assay.record.measure import step_stats
from assay.scale import Scale
from assay.source import Pool
from assay.source.rows import count_rows
from assay.tasks.verifying import verify
from assay.types import Batch, Episode, Origin, Problem, Request, Row, Stats


@dataclass(frozen=True)
class Phases:
    """One stage of a recipe: each phase as a function of the models and the memory.

    stage = assemble(recipe, ...)[0]
    requests = stage.ask(models, stage.source(memory), memory)
    """

    end: int  # the number of the first step that no longer belongs to this stage
    over: Callable[[Memory], bool]  # whether the run is over
    due: Callable[[Memory], bool]  # whether the stage's condition `when` holds, so that the stage begins early
    enter: Callable[[Models, Memory], Memory]  # sets the weights and the memory with which the stage begins
    source: Callable[[Memory], list[Problem]]
    ask: Callable[[Models, Sequence[Problem], Memory], list[Request]]
    collect: Collect
    curate: Callable[[Models, Sequence[Episode], Memory], list[Row]]
    forwards: Callable[[Models, Sequence[Row], Memory], tuple[list[Row], Stats]]
    credit: Callable[[Sequence[Row], Memory], list[Batch]]
    improve: Callable[[Models, Batch, Memory], Stats]
    remember: Callable[[Memory, Models, Sequence[Episode], Sequence[Row], Stats], Memory]


def assemble(
    recipe: Recipe, *, pool: Pool, codec: Codec, micro_tokens: int, verdicts: Verdicts | None = None
) -> list[Phases]:
    """The stages of a recipe as functions, in their order.

    `verdicts` says which completions are right; without it the verifiers of the tasks do, at the end of each round.

    stages = assemble(recipe, pool=Pool((Share("countdown", (3, 4)),)), codec=policy.codec, micro_tokens=2048)
    memory = train(stages, models, Memory(seed), recorder)
    """
    spans = itertools.pairwise([0, *stages.ends([stage.share for stage in recipe.stages], recipe.scale.num_steps)])
    verdicts = verdicts or AtEnd(verify)
    return [_phases(recipe, number, span, pool, codec, micro_tokens, verdicts) for number, span in enumerate(spans)]


def _phases(
    recipe: Recipe, number: int, span: tuple[int, int], pool: Pool, codec: Codec, micro_tokens: int, verdicts: Verdicts
) -> Phases:
    """The stage with this number. `span`: its first step, and the first step after it, by the shares of the stages."""
    since, end = span
    scale, stage = recipe.scale, recipe.stages[number]
    mechanism = stage.mechanism or recipe.mechanism
    keepers_by_mechanism, all_keepers = _keepers(recipe)
    own_keepers = keepers_by_mechanism[next(i for i, other in enumerate(recipe.mechanisms) if other is mechanism)]
    drawn = scale.num_prompts * scale.oversample
    constants = {**_offered(recipe, mechanism, all_keepers, pool, codec, micro_tokens), "since": since, "until": end}
    (source,) = _bound((mechanism.source,), constants)
    asking = _bound(mechanism.ask, constants)
    curators = _bound(mechanism.curate, constants)
    memories = [bind(keeper.part, place=keeper.place, **constants) for keeper in own_keepers]
    watched = stages.watched([other.when for other in recipe.stages])

    def ask_all(models: Models, problems: Sequence[Problem], memory: Memory, first: int = 0) -> list[Request]:
        settings = constants["sampling"]
        requests = first_requests(
            problems, memory, first=first, samples=scale.group_size, sampling=settings, codec=codec
        )
        for part in asking:
            requests = part(requests, models=models, memory=memory)
        return requests

    def more(models: Models, memory: Memory, first: int, count: int) -> list[Request]:
        return ask_all(models, source(memory, first, count), memory, first)

    def curate(models: Models, episodes: Sequence[Episode], memory: Memory) -> list[Row]:
        rows = [Row.of(episode) for episode in episodes]
        for part in curators:
            rows = part(rows, models=models, memory=memory)
        return rows

    def remember_all(
        memory: Memory, models: Models, episodes: Sequence[Episode], rows: Sequence[Row], stats: Stats
    ) -> Memory:
        for part in memories:
            memory = part(memory, models=models, episodes=episodes, rows=rows, stats=stats)
        if watched:
            memory = stages.note(memory, {**step_stats(episodes, rows), **stats}, watched)
        return remember(count_rows(memory, episodes, pool=pool, drawn=drawn), models, episodes, rows, stats)

    return Phases(
        end=end,
        over=lambda memory: scale.over(memory.step, memory.budget.tokens),
        due=partial(stages.due, part=stage.when, pool=pool, place=place_for(stage.when, all_keepers)),
        enter=partial(
            stages.enter, number=number, start=stage.start, optimiser=stage.optimiser, clear=stage.memory == "clear"
        ),
        source=lambda memory: source(memory, 0, drawn),
        ask=ask_all,
        collect=_collector(mechanism, verdicts, more, constants),
        curate=curate,
        forwards=partial(
            run_forwards,
            objective=lambda role: mechanism.rule(role).objective,
            batch_of=partial(_batch_of, recipe, mechanism),
            num_updates=scale.num_updates,
            parts=_bound(mechanism.forwards, constants),
        ),
        credit=partial(credit, rule_of=_batch_rules(recipe, mechanism, constants)),
        improve=_improver(mechanism, scale, micro_tokens),
        remember=remember_all,
    )


def worth_by_role(
    recipe: Recipe, *, pool: Pool, codec: Codec, micro_tokens: int, stage: int = 0
) -> Callable[[str], Worth]:
    """Role -> how its answers are judged in a stage, for a look at rewards outside of the loop."""
    mechanism = recipe.stages[stage].mechanism or recipe.mechanism
    constants = _offered(recipe, mechanism, _keepers(recipe)[1], pool, codec, micro_tokens)
    return _worth_by_role(mechanism, {**constants, "until": recipe.scale.num_steps})


def _keepers(recipe: Recipe) -> tuple[list[list[Keeper]], list[Keeper]]:
    """The parts that keep a store: those of each mechanism of the recipe, and all of them in one list."""
    by_mechanism = keepers([mechanism.remember for mechanism in recipe.mechanisms])
    return by_mechanism, [keeper for parts in by_mechanism for keeper in parts]


def _offered(
    recipe: Recipe, mechanism: Mechanism, kept: Sequence[Keeper], pool: Pool, codec: Codec, micro_tokens: int
) -> dict[str, Any]:
    """The values that functions of parts may ask for and that do not change during a run, by name."""
    scale = recipe.scale
    return {
        "pool": pool,
        "codec": codec,
        "sampling": Sampling.at(scale, codec.stops),
        "num_prompts": scale.num_prompts,
        "group_size": scale.group_size,
        "max_new": scale.max_new,
        "drawn": scale.num_prompts * scale.oversample,
        "num_steps": scale.num_steps,
        "micro_tokens": micro_tokens,
        "scale": scale,
        "keepers": kept,
        "waiting": [place_for(part, kept) for part in mechanism.curate if "order" in part.writes],
    }


def _bound(parts: Sequence[Part], constants: Mapping[str, Any]) -> tuple[Callable[..., Any], ...]:
    """The parts as functions. A part that reads what another part remembers is bound to its place in the memory."""
    all_keepers = constants["keepers"]
    return tuple(bind(part, place=place_for(part, all_keepers), **constants) for part in parts)


def _collector(
    mechanism: Mechanism,
    verdicts: Verdicts,
    more: Callable[[Models, Memory, int, int], list[Request]],
    constants: Mapping[str, Any],
) -> Collect:
    """The collector that generates and judges in rounds, inside the recipe's `collect` parts, the last outermost."""
    expand = _bound(mechanism.expand, constants)
    continues = any(part.continues for part in mechanism.expand)
    worth = _worth_by_role(mechanism, constants)
    collect = rounds = Collector(verdicts, worth, expand, more, constants["codec"], continues)
    for part in _bound(mechanism.collect, {**constants, "more": more, "rewarded": rounds.rewarded}):
        collect = part(collect)
    return collect


def _worth_by_role(mechanism: Mechanism, constants: Mapping[str, Any]) -> Callable[[str], Worth]:
    def worth(role: str) -> Worth:
        rule = mechanism.rule(role)
        return Worth(rule.verified, _bound(rule.reward, constants))

    return functools.cache(worth)


def _batch_rules(recipe: Recipe, mechanism: Mechanism, constants: Mapping[str, Any]) -> Callable[[str], BatchRule]:
    """For each role: its advantage estimators and the batch that its rows go to.

    Roles played by one parameter set share a batch, unless a role has an objective or an update schedule of its own.
    """

    def rule_of(role: str) -> BatchRule:
        rule = mechanism.rule(role)
        estimators = (*_bound((rule.credit,), constants), *_bound(rule.shape, constants))
        return BatchRule(estimators, _batch_of(recipe, mechanism, role), rule.objective.injected == "train")

    return functools.cache(rule_of)


def _batch_of(recipe: Recipe, mechanism: Mechanism, role: str) -> str:
    rule = mechanism.rule(role)
    apart = rule.objective != mechanism.objective or rule.every != 1 or bool(rule.moments)
    return f"{recipe.roles[role]}/{role}" if apart else recipe.roles[role]


def _improver(mechanism: Mechanism, scale: Scale, micro_tokens: int) -> Callable[[Models, Batch, Memory], Stats]:
    def improve_batch(models: Models, batch: Batch, memory: Memory) -> Stats:
        from assay.objective.improve import improve

        rule = mechanism.rule(batch.role)
        if (memory.step + 1) % rule.every:
            return {}
        key, player = memory.key("improve", memory.step, batch.role), models.play(batch.role)
        before = memory.step * scale.num_updates
        values = {"objective": rule.objective, "scale": scale, "key": key, "micro_tokens": micro_tokens}
        stats = improve(player, batch, before=before, moments=rule.moments, **values)
        # Metrics of the policy are named after the role, so that two roles do not write to one curve.
        return {name.replace("policy/", f"{batch.role}/", 1): value for name, value in stats.items()}

    return improve_batch


def remember(memory: Memory, models: Models, episodes: Sequence[Episode], rows: Sequence[Row], stats: Stats) -> Memory:
    """The memory after this step, with its cost added to the budget and its fresh episodes to the pass rates."""
    fresh = [episode for episode in episodes if episode.provenance == "fresh"]
    origins = [s.origin for e in fresh for s in e.segments[len(e.request.prefix) :]]
    tokens = int(np.count_nonzero(np.concatenate(origins) == Origin.POLICY)) if origins else 0
    budget = memory.budget.spend(
        generated_tokens=tokens,
        verified_answers=sum(episode.verdict is not None for episode in fresh),
        update_tokens=int(stats.get("update/tokens", 0)),
        optimiser_steps=int(stats.get("update/steps", 0)),
        rollouts=sum(episode.finish != "pause" for episode in fresh),
    )
    return dataclasses.replace(pass_rates(memory, fresh), step=memory.step + 1, budget=budget)
