"""Exams on open problems. Nothing says whether an answer is right, so that there is no pass rate: the mean of the
recipe's own rewards is reported.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial

from assay.ask import Codec
from assay.assemble import worth_by_role
from assay.memory import Memory
from assay.models import Models
from assay.part import Rewarding, parts_of
from assay.recipe import Recipe
from assay.scoring.bank import Rewarded
from assay.source import Pool
from assay.types import Episode, changed


def rewarding(
    recipe: Recipe, pool: Pool, codec: Codec, memory: Memory, models: Models | None = None, *, micro_tokens: int = 2048
) -> Rewarded:
    """A function that gives answers to open problems the rewards of the recipe's last stage; `models` are those of the
    run, without which rewards that ask a model of the run are left out.
    """
    number = max(i for i, stage in enumerate(recipe.stages) if stage.share > 0)
    worth = worth_by_role(recipe, pool=pool, codec=codec, micro_tokens=micro_tokens, stage=number)("policy")
    parts = (recipe.stages[number].mechanism or recipe.mechanism).rule("policy").reward
    pairs = zip(parts, worth.rewards, strict=True)
    given = {"memory": memory, "models": models}
    functions = [partial(bound, **given) for part, bound in pairs if _absolute(part, known=models is not None)]

    def rewarded(episodes: Sequence[Episode]) -> list[Episode]:
        asked = [i for i, e in enumerate(episodes) if e.request.problem.open and e.finish != "error"]
        mine, result = [episodes[i] for i in asked], list(episodes)
        columns = [reward(mine, everyone=episodes) for reward in functions] if asked else []
        for i, *rewards in zip(asked, *columns, strict=True):
            result[i] = changed(episodes[i], rewards=tuple(reward for reward in rewards if reward is not None))
        return result

    return rewarded


def _absolute(part: Rewarding, *, known: bool) -> bool:
    """Whether the mean of a reward says how good answers are. A reward that compares answers with each other has the
    same mean for any answers. `known`: the models of the run are there to be asked.
    """
    rewards = [one for one in parts_of((part,)) if isinstance(one, Rewarding)]
    asks = any("models" in inspect.signature(one.does).parameters for one in rewards)
    return not any(one.relative for one in rewards) and (known or not asks)
