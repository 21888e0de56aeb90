"""What answers earn by the reward of a recipe and what advantages that gives, through the recipe's own parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from answers import answered
from tiny import Letters, Table, batch_of, models_of, phases_of, recipe_of, update

from assay.engine.interface import Chunk, Outputs, Want
from assay.memory import Memory
from assay.part import bind
from assay.tasks import task
from assay.types import Episode, Finish, Problem, Row


class Told(Table):
    """An engine of given log-probs and entropies, by the place of an answer among the different ones that it reads."""

    vocab = Letters.vocab

    def __init__(self, logp: Sequence[Sequence[float]], entropy: Sequence[Sequence[float]]) -> None:
        super().__init__(_by_place(logp), _by_place(entropy))

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        found = super().forward(chunk, want)
        entropy = None if found.entropy is None else found.entropy.detach()
        return Outputs(logp=found.logp.detach(), entropy=entropy)


def _by_place(rows: Sequence[Sequence[float]]) -> dict[str, Sequence[float]]:
    return {str(place): row for place, row in enumerate(rows)}


def judged(problem: Problem, text: str, *, finish: Finish = "stop", sample: int = 0) -> Episode:
    """An answer with the verdict of its task."""
    found = answered(problem, text, finish=finish, sample=sample)
    return dataclasses.replace(found, verdict=task(problem.task).verify(problem, text))


def posed(episodes: Sequence[Episode], **changes: Any) -> list[Episode]:
    """The answers, to another request."""
    return [dataclasses.replace(e, request=dataclasses.replace(e.request, **changes)) for e in episodes]


def paid(name: str, episodes: Sequence[Episode], *, engine: Any = None) -> list[Episode]:
    """The answers with the rewards that the parts of the recipe give them."""
    offered = {"codec": Letters(), "max_new": 10**6, "micro_tokens": 99, "models": models_of(engine)}
    parts = [bind(part, **offered) for part in recipe_of(name).mechanism.reward]
    columns = [part(episodes, everyone=episodes, memory=Memory(0)) for part in parts]
    given = [tuple(one for one in row if one is not None) for row in zip(*columns, strict=True)]
    return [dataclasses.replace(e, rewards=rewards) for e, rewards in zip(episodes, given, strict=True)]


def earned(name: str, episodes: Sequence[Episode], *, engine: Any = None) -> list[float | None]:
    return [episode.reward for episode in paid(name, episodes, engine=engine)]


def advantages(name: str, episodes: Sequence[Episode], *, engine: Any = None) -> list[float]:
    """What the recipe makes of what the answers earn: the advantage of their first tokens."""
    rows = [Row(episode) for episode in paid(name, episodes, engine=engine)]
    batch = batch_of(recipe_of(name), rows)
    return batch.advantage[batch.at[:-1]].tolist()


def pushed(name: str, rows: Sequence[Row], logp: Mapping[str, Sequence[float]], *, stage: int = 0) -> list[list[float]]:
    """What each token of each row is pushed up by in the first update of a stage, at these log-probs."""
    recipe, table = recipe_of(name, num_minibatches=1), Table(logp)
    (batch,) = phases_of(recipe, stage=stage).credit(rows, Memory(0))
    update(table, batch, (recipe.stages[stage].mechanism or recipe.mechanism).objective, recipe.scale)
    return [(-table.coefficients[row.episode.request.id]).tolist() for row in rows]
