"""How long prompts and completions are in tokens, and whether they fit into a model's context together."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from assay.ask import Codec
from assay.ask.prompts import length_of
from assay.errors import DataError
from assay.part import Asking, Part, parts_of
from assay.policy.kinds import words_of
from assay.prompt import Prompt
from assay.recipe import Recipe, at_scale
from assay.run import data_needs
from assay.run.experiment import Experiment
from assay.run.probing import probed
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.pose import PREFIX, Posing
from assay.types import Problem

if TYPE_CHECKING:
    from assay.policy.codec import PolicyCodec
    from assay.policy.network import Shape

PROBE = 256  # problems looked at before a run starts


def asked_of(recipe: Recipe, pool: Pool) -> Pool:
    """The pool, and for a recipe whose model poses its own problems also the tasks of posing them.

    Posing tasks are added at all of their levels, because posed problems become harder during the run.
    """
    if not any(mechanism.source.posed for mechanism in recipe.mechanisms):
        return pool
    names = [PREFIX + share.task for share in pool.shares if task(share.task).ability(Posing) is not None]
    return dataclasses.replace(
        pool, shares=(*pool.shares, *(Share(name, tuple(task(name).generator.levels)) for name in names))
    )


def longest_asked(recipe: Recipe, problem: Problem, codec: Codec) -> int:
    """The length in tokens of the longest prompt that the recipe may make of this problem. The parts of `ask` write
    into one prompt, one after the other. Each other part writes into the prompts that these made.
    """

    def written(part: Part, before: Sequence[Prompt]) -> list[Prompt]:
        return [made for prompt in before for made in part.prompts(prompt, problem, codec, recipe.scale.max_new)]

    made: list[Prompt] = []
    for mechanism in recipe.mechanisms:
        asked = functools.reduce(lambda prompts, part: written(part, prompts), mechanism.ask, [Prompt.of(problem)])
        made += asked
        for part in parts_of(mechanism):
            if not isinstance(part, Asking):
                made += written(part, asked)
    different = {id(prompt): prompt for prompt in made}  # most parts leave a prompt as it is
    return max(length_of(prompt, codec) for prompt in different.values())


def longest_prompt(recipe: Recipe, problems: Sequence[Problem], codec: Codec) -> int:
    """The length in tokens of the longest prompt that the recipe may make of these problems."""
    return max((longest_asked(recipe, problem, codec) for problem in problems), default=0)


def longest_answer(recipe: Recipe, problems: Sequence[Problem], policy: Reader) -> int:
    """The greatest `max_new` with which these prompts fit into the context, 0 if none does.

    It is searched for, because what parts add to a prompt may grow with answers: a refinement reads one.
    """

    def too_long(max_new: int) -> bool:
        shorter, _ = at_scale(recipe, dataclasses.replace(recipe.scale, max_new=max_new))
        return longest_prompt(shorter, problems, policy.codec) + shorter.scale.longest > policy.config.context

    return bisect.bisect_left(range(1, recipe.scale.max_new + 1), True, key=too_long)


def longest_solution(pool: Pool) -> int:
    """The completion length for a model with one token per character: 1.5 times the longest of the probed solutions."""
    return max(8, round(1.5 * max(len(problem.solution or "") for problem in probed(pool, PROBE))) + 1)


class Reader(Protocol):
    """The codec and the shape of a model: a policy has them, and so have its files without the weights."""

    @property
    def codec(self) -> PolicyCodec: ...

    @property
    def config(self) -> Shape: ...


def check_lengths(experiment: Experiment, policy: Reader) -> tuple[Experiment, int, list[str]]:
    """Checks that prompts and completions fit into the context: (experiment, longest prompt in tokens, lines to print).
    A system message that the model would never read is refused too.

    A generated task that does not fit is refused. With rows of data files, whose completions have no known length, the
    returned experiment has a lower `max_new` if the longest prompt demands it, and leaves out rows that do not fit.
    """
    policy.codec.require_system()
    pool, max_new = asked_of(experiment.recipe, experiment.pool), experiment.recipe.scale.max_new
    context, rows, longest = policy.config.context, data_needs.all_rows(pool), 0
    sentences: list[str] = []
    probe = [problem for problem in ([] if pool.finite else probed(pool, PROBE)) if problem.provenance != "data"]
    if experiment.evaluation.levels:
        probe += probed(experiment.examined, PROBE)
    spoken = any(not isinstance(problem.prompt, str) for problem in (*rows, *probe))
    words = words_of(policy.codec)
    if words is not None and words.template is None and (experiment.chat.system or spoken):
        sentences.append(
            "the tokenizer has no chat template: each message is written as `Role: text`, with an empty line between "
            "two messages"
        )
    prompts = data_needs.measured(rows, functools.partial(longest_asked, experiment.recipe, codec=policy.codec))
    if rows:
        fits = data_needs.fit(max_new, prompts, context=context, model=experiment.model)
        sentences += fits.lines
        max_new, longest = fits.max_new, fits.longest
        recipe, moved = at_scale(experiment.recipe, dataclasses.replace(experiment.recipe.scale, max_new=max_new))
        sentences += moved
        asked = dataclasses.replace(experiment.pool, left_out=fits.left_out)
        experiment, fewer = data_needs.at_most_rows(dataclasses.replace(experiment, recipe=recipe, pool=asked))
        sentences += fewer
    longest = max(longest, longest_prompt(experiment.recipe, probe, policy.codec))
    replies = experiment.recipe.scale.max_replies
    if (needed := longest + max_new + replies) > context:
        fitting = longest_answer(experiment.recipe, probe, policy)
        shorter = f"--scale.max-new {fitting}, easier levels" if fitting else "easier levels"
        room = f"answers of {max_new}" + (f" with replies of {replies}" if replies else "")
        raise DataError(
            f"prompts of up to {longest} tokens and {room} need {needed} positions; the context of "
            f"{experiment.model} has {context}. Take {shorter} or a model with a longer context."
        )
    return experiment, longest, sentences
