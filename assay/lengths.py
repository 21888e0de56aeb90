"""How long prompts and answers are, and whether they fit into a model's context."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from assay import run_data
from assay.augment.abstract import ASKING, GIVEN, Abstract, worded
from assay.augment.condition import LABELS, labelled
from assay.curate import LabelSteps
from assay.errors import DataError
from assay.experiment import Experiment
from assay.recipe import Recipe, at_profile
from assay.rng import Key
from assay.source import Pool, Share
from assay.source.posed import Pose, PoseSeeds
from assay.tasks import task
from assay.tasks.pose import PREFIX
from assay.types import Problem

if TYPE_CHECKING:
    from assay.policy import Policy

PROBE = 256  # problems looked at before a run starts


def asked_of(recipe: Recipe, pool: Pool) -> Pool:
    """The pool, and where the recipe has its problems posed the posing of them, at all levels: they grow harder."""
    if not any(isinstance(mechanism.source, Pose | PoseSeeds) for mechanism in recipe.mechanisms):
        return pool
    names = [PREFIX + share.task for share in pool.shares if task(share.task).posing is not None]
    return dataclasses.replace(pool, shares=(*pool.shares, *(Share(name, tuple(task(name).levels)) for name in names)))


def added(recipe: Recipe, problems: Sequence[Problem], render: Callable[[Any], Any]) -> int:
    """Tokens by which a prompt grows where abstractions are asked for and given, each as long as it may be, or where it
    says how good an answer is wanted.
    """
    parts = [p for mechanism in recipe.mechanisms for p in mechanism.augment if isinstance(p, Abstract)]
    if any(isinstance(part, LabelSteps) for mechanism in recipe.mechanisms for part in mechanism.curate):
        return max(0, *(len(render(labelled(p, label))) - len(render(p.prompt)) for p in problems for label in LABELS))
    if not parts:
        return 0
    hint = min(max(part.longest for part in parts), recipe.scale.max_new)
    asked = [len(render(worded(ASKING, p))) - len(render(p.prompt)) for p in problems]
    given = [len(render(worded(GIVEN, p))) - len(render(p.prompt)) + hint for p in problems]
    return max(0, *asked, *given)


def longest_solution(pool: Pool) -> int:
    """Tokens that an answer in characters may need: the longest worked solution of a probe, and half as much again."""
    key = Key("probe")
    solutions = [pool.problem(key(i)).solution or "" for i in range(PROBE)]
    return max(8, round(1.5 * max(len(text) for text in solutions)) + 1)


def check_lengths(experiment: Experiment, policy: Policy) -> tuple[Experiment, int, list[str]]:
    """Refuses a task whose prompts and answers do not fit into the model's context; also the tokens of the longest
    prompt, and what a person should know. Behind rows of files, whose answers have no known length, answers are cut to
    the context.
    """
    key, pool, max_new = Key("probe"), asked_of(experiment.recipe, experiment.pool), experiment.recipe.scale.max_new
    context, rows, longest = policy.config.context, run_data.all_rows(pool), 0
    told: list[str] = []
    probe = [] if pool.finite else [pool.problem(key(i)) for i in range(PROBE)]
    spoken = any(not isinstance(problem.prompt, str) for problem in (*rows, *probe))
    if policy.tokenizer.template is None and (experiment.chat.system or spoken):
        told.append("the tokenizer has no chat template: messages are written as `Role: text`, an empty line between")
    more = added(experiment.recipe, (*rows, *probe), policy.tokenizer.render)
    if rows:
        room, model = context - more, experiment.model
        max_new, longest, lines = run_data.fit(max_new, rows, policy.tokenizer, context=room, model=model)
        told += lines
        recipe, _ = at_profile(experiment.recipe, "paper", max_new=max_new)
        experiment = dataclasses.replace(experiment, recipe=recipe)
    longest = more + max((longest, *(len(policy.tokenizer.render(problem.prompt)) for problem in probe)))
    if (needed := longest + max_new) > context:
        raise DataError(
            f"prompts of up to {longest} tokens and answers of {max_new} need {needed} positions; {experiment.model} "
            f"has {context}. Lower --scale.max-new, or take easier levels or a model with a longer context."
        )
    return experiment, longest, told
