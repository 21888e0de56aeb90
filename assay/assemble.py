"""From a recipe to the functions of the loop: every part is bound to its values and to what its phase gives it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.assess import ASSESSORS, assess
from assay.augment import AUGMENTS, Codec, Sampling, ask
from assay.collect import EXPANDERS, Collector
from assay.credit import CREDITS, credit
from assay.curate import CURATORS
from assay.memory import Memory, pass_rates
from assay.models import Models
from assay.part import bind
from assay.recipe import Mechanism, Recipe
from assay.reward import REWARDS
from assay.source import SOURCES, Pool
from assay.types import Batch, Episode, Origin, Problem, Request, Row, Stats
from assay.verify import verify


@dataclass(frozen=True)
class Phases:
    """One stage of the loop: the phases as functions, and the step before which it ends."""

    end: int
    source: Callable[[Memory], list[Problem]]
    augment: Callable[[Sequence[Problem], Memory], list[Request]]
    collect: Callable[[Models, Sequence[Request], Memory], list[Episode]]
    curate: Callable[[Sequence[Episode], Memory], list[Row]]
    assess: Callable[[Models, Sequence[Row]], list[Row]]
    credit: Callable[[Sequence[Row]], list[Batch]]
    improve: Callable[[Models, Batch, Memory], Stats]
    remember: Callable[[Memory, Models, Sequence[Episode], Sequence[Row], Stats], Memory]


def assemble(recipe: Recipe, *, pool: Pool, codec: Codec, micro_tokens: int) -> list[Phases]:
    """The stages of a recipe, each with its own mechanism, on this pool of problems."""
    shares = np.cumsum([stage.share for stage in recipe.stages])
    ends = np.round(shares / shares[-1] * recipe.scale.num_steps).astype(int)
    return [
        _phases(recipe, stage.mechanism or recipe.mechanism, int(end), pool, codec, micro_tokens)
        for stage, end in zip(recipe.stages, ends, strict=True)
    ]


def _phases(recipe: Recipe, mechanism: Mechanism, end: int, pool: Pool, codec: Codec, micro_tokens: int) -> Phases:
    scale, objective = recipe.scale, mechanism.objective
    sampling = Sampling(scale.max_new, scale.temperature, scale.top_p, scale.top_k, scale.min_p)
    drawn = scale.num_prompts * scale.oversample
    source = partial(bind(SOURCES, mechanism.source), pool=pool)
    augments = [partial(bind(AUGMENTS, part), codec=codec) for part in mechanism.augment]
    curators = [partial(bind(CURATORS, part), num_prompts=scale.num_prompts) for part in mechanism.curate]

    def augment(problems: Sequence[Problem], memory: Memory, first: int = 0) -> list[Request]:
        requests = ask(problems, memory, first=first, samples=scale.group_size, sampling=sampling, codec=codec)
        for part in augments:
            requests = part(requests, memory)
        return requests

    def more(memory: Memory, first: int, count: int) -> list[Request]:
        return augment(source(memory, first, count), memory, first)

    def curate(episodes: Sequence[Episode], memory: Memory) -> list[Row]:
        rows = [Row(episode) if episode.reward is not None else _masked(episode) for episode in episodes]
        for part in curators:
            rows = part(rows)
        return rows

    def improve_batch(models: Models, batch: Batch, memory: Memory) -> Stats:
        from assay.objective.improve import improve

        key = memory.key("improve", memory.step, batch.role)
        return improve(
            models.play(batch.role), batch, objective=objective, scale=scale, key=key, micro_tokens=micro_tokens
        )

    return Phases(
        end=end,
        source=lambda memory: source(memory, 0, drawn),
        augment=augment,
        collect=Collector(
            verify=verify,
            rewards=tuple(partial(bind(REWARDS, part), max_new=scale.max_new) for part in mechanism.reward),
            expand=tuple(
                partial(bind(EXPANDERS, part), more=more, num_prompts=scale.num_prompts, drawn=drawn)
                for part in mechanism.expand
            ),
            codec=codec,
        ),
        curate=curate,
        assess=partial(
            assess,
            objective=objective,
            num_updates=scale.num_updates,
            parts=tuple(bind(ASSESSORS, part) for part in mechanism.assess),
        ),
        credit=partial(credit, estimator=bind(CREDITS, mechanism.credit), injected=objective.injected == "likelihood"),
        improve=improve_batch,
        remember=remember,
    )


def _masked(episode: Episode) -> Row:
    """An error of ours left no verdict: the episode neither trains nor counts."""
    return Row(episode, in_loss=False, in_group=False, in_denominator=False)


def remember(memory: Memory, models: Models, episodes: Sequence[Episode], rows: Sequence[Row], stats: Stats) -> Memory:
    """The memory after this step: what was spent, and the pass rates of everything that was generated."""
    fresh = [episode for episode in episodes if episode.provenance == "fresh"]
    tokens = sum(
        int(np.count_nonzero(s.origin == Origin.POLICY)) for e in fresh for s in e.segments[len(e.request.prefix) :]
    )
    budget = memory.budget.spend(
        generated_tokens=tokens,
        verified_answers=sum(episode.verdict is not None for episode in fresh),
        update_tokens=int(stats.get("update/tokens", 0)),
        optimiser_steps=int(stats.get("update/steps", 0)),
        rollouts=len(fresh),
    )
    return dataclasses.replace(pass_rates(memory, fresh), step=memory.step + 1, budget=budget)
