"""How long prompts and answers are, and whether they fit into a model's context."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Protocol

from assay.ask import Codec
from assay.errors import DataError
from assay.part import parts_of
from assay.recipe import Recipe, at_scale
from assay.rng import Key
from assay.run import data_needs
from assay.run.experiment import Experiment
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.pose import PREFIX
from assay.types import Problem

if TYPE_CHECKING:
    from assay.policy import PolicyConfig, Tokenizer
    from assay.policy.foreign import ForeignConfig

PROBE = 256  # problems looked at before a run starts


def asked_of(recipe: Recipe, pool: Pool) -> Pool:
    """The pool, and where the recipe has its problems posed the posing of them, at all levels: they grow harder."""
    if not any(mechanism.source.posed for mechanism in recipe.mechanisms):
        return pool
    names = [PREFIX + share.task for share in pool.shares if task(share.task).posing is not None]
    return dataclasses.replace(pool, shares=(*pool.shares, *(Share(name, tuple(task(name).levels)) for name in names)))


def added(recipe: Recipe, problem: Problem, codec: Codec) -> int:
    """Tokens by which the parts of the recipe may make the prompt of this problem longer: those of the part that adds
    most, since a prompt is asked with one of them.
    """
    parts = [part for mechanism in recipe.mechanisms for part in parts_of(mechanism)]
    return max((part.grows(problem, codec, recipe.scale.max_new) for part in parts), default=0)


def longest_solution(pool: Pool) -> int:
    """Tokens that an answer in characters may need: the longest worked solution of a probe, and half as much again."""
    key = Key("probe")
    solutions = [pool.problem(key(i)).solution or "" for i in range(PROBE)]
    return max(8, round(1.5 * max(len(text) for text in solutions)) + 1)


class Reader(Protocol):
    """What of a model reads a prompt: a policy, or the files of one without its weights."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def config(self) -> PolicyConfig | ForeignConfig: ...


def check_lengths(experiment: Experiment, policy: Reader) -> tuple[Experiment, int, list[str]]:
    """Refuses a task whose prompts and answers do not fit into the model's context; also the tokens of the longest
    prompt, and what a person should know. Behind rows of files, whose answers have no known length, answers are cut to
    the context.
    """
    key, pool, max_new = Key("probe"), asked_of(experiment.recipe, experiment.pool), experiment.recipe.scale.max_new
    context, rows, longest = policy.config.context, data_needs.all_rows(pool), 0
    told: list[str] = []
    probe = [p for p in ([] if pool.finite else map(pool.problem, map(key, range(PROBE)))) if p.provenance != "data"]
    spoken = any(not isinstance(problem.prompt, str) for problem in (*rows, *probe))
    if policy.tokenizer.template is None and (experiment.chat.system or spoken):
        told.append("the tokenizer has no chat template: messages are written as `Role: text`, an empty line between")
    more = functools.partial(added, experiment.recipe, codec=policy.tokenizer)
    found = data_needs.measured(rows, policy.tokenizer, more)
    if rows:
        fits = data_needs.fit(max_new, found, context=context, model=experiment.model)
        told += fits.lines
        max_new, longest = fits.max_new, fits.longest
        recipe, moved = at_scale(experiment.recipe, dataclasses.replace(experiment.recipe.scale, max_new=max_new))
        told += moved
        asked = dataclasses.replace(experiment.pool, left_out=fits.left_out)
        experiment, fewer = data_needs.at_most_rows(dataclasses.replace(experiment, recipe=recipe, pool=asked))
        told += fewer
    longest = max((longest, *(len(policy.tokenizer.render(problem.prompt)) + more(problem) for problem in probe)))
    if (needed := longest + max_new) > context:
        raise DataError(
            f"prompts of up to {longest} tokens and answers of {max_new} need {needed} positions; {experiment.model} "
            f"has {context}. Lower --scale.max-new, or take easier levels or a model with a longer context."
        )
    return experiment, longest, told
