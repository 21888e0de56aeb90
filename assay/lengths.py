"""How long prompts and answers are, and whether they fit into a model's context."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay import run_data
from assay.errors import DataError
from assay.experiment import Experiment
from assay.recipe import at_profile
from assay.rng import Key
from assay.source import Pool

if TYPE_CHECKING:
    from assay.policy import Policy

PROBE = 256  # problems looked at before a run starts


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
    key, pool, max_new = Key("probe"), experiment.pool, experiment.recipe.scale.max_new
    context, rows, longest = policy.config.context, run_data.all_rows(pool), 0
    told: list[str] = []
    probe = [] if pool.finite else [pool.problem(key(i)) for i in range(PROBE)]
    spoken = any(not isinstance(problem.prompt, str) for problem in (*rows, *probe))
    if policy.tokenizer.template is None and (experiment.chat.system or spoken):
        told.append("the tokenizer has no chat template: messages are written as `Role: text`, an empty line between")
    if rows:
        max_new, longest, lines = run_data.fit(max_new, rows, policy.tokenizer, context=context, model=experiment.model)
        told += lines
        recipe, _ = at_profile(experiment.recipe, "paper", max_new=max_new)
        experiment = dataclasses.replace(experiment, recipe=recipe)
    longest = max((longest, *(len(policy.tokenizer.render(problem.prompt)) for problem in probe)))
    if (needed := longest + max_new) > context:
        raise DataError(
            f"prompts of up to {longest} tokens and answers of {max_new} need {needed} positions; {experiment.model} "
            f"has {context}. Lower --scale.max-new, or take easier levels or a model with a longer context."
        )
    return experiment, longest, told
