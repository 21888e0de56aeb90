"""`assay sample` and `assay eval`: a model's answers to a prompt, and its scores on held-out problems."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from assay.ask import Codec, Sampling, as_examined
from assay.errors import DataError, UsageError
from assay.host.space import device_of
from assay.host.terminal import say
from assay.memory import Memory
from assay.rng import Key
from assay.run import judged_exams
from assay.run.ancestry import origin
from assay.run.base_training import ready
from assay.run.context_fit import longest_solution
from assay.run.data_needs import fit, measured
from assay.run.grader import Grader
from assay.run.open_exams import rewarding
from assay.scoring import bank
from assay.scoring.samples import REPLIES
from assay.source import FEWEST, Pool
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.engine.local import LocalEngine
    from assay.engine.precision import Precision
    from assay.policy import Policy
    from assay.tasks.task import Split


SHORT = 64  # default length of an answer in tokens, for a model that is not a run


def open_engine(model: str, *, system: str | None = None, precision: Precision = "auto") -> tuple[Policy, LocalEngine]:
    """A model and an engine that samples from it. A run's model gets the system message of the run, unless given."""
    from assay.engine.choose import frozen_engine
    from assay.policy import load_policy

    policy = load_policy(ready(model))
    given = system is not None
    if not given and (run := origin(model)) is not None:
        system = run.system or None
    if system is not None:
        policy = policy.told(system)
        if given:
            policy.codec.require_system()
    return policy, frozen_engine(policy, device=device_of("auto"), precision=precision)


def sample(
    model: str,
    prompt: str,
    *,
    count: int,
    max_new: int | None,
    temperature: float,
    top_p: float,
    seed: int,
    system: str | None = None,
) -> dict[str, Any]:
    """Samples `count` answers to one prompt, with their log-probabilities."""
    if count < 1:
        raise UsageError(f"--n must be at least 1, not {count}.")
    if max_new is None:
        max_new = SHORT if (run := origin(model)) is None else run.experiment.recipe.scale.max_new
    check_sampling(max_new=max_new, temperature=temperature, top_p=top_p)
    policy, engine = open_engine(model, system=system)
    problem = Problem(task="prompt", prompt=prompt, spec={}, canonical=prompt)
    context = policy.codec.render(prompt)
    if len(context) + max_new > policy.config.context:
        raise DataError(
            f"the prompt has {len(context)} tokens and --max-new is {max_new}; the context of the model holds "
            f"{policy.config.context}. Lower --max-new or shorten the prompt."
        )
    question = Request(
        problem, context, "prompt", max_new, temperature=temperature, top_p=top_p, stop=policy.codec.stops
    )
    requests = [dataclasses.replace(question, sample=i) for i in range(count)]
    made = engine.generate(requests, Key(seed)("sample"))
    answers = []
    for answer in made:
        logp = float(answer.segment.old.sum()) if answer.segment.old is not None else None
        text = policy.codec.decode(answer.segment.ids.tolist())
        answers.append({"text": text, "finish": answer.finish, "tokens": len(answer.segment), "logp": logp})
    return {"prompt": prompt, "model": model, "answers": answers}


def check_sampling(*, max_new: int | None, temperature: float, top_p: float = 1.0) -> None:
    if max_new is not None and max_new < 1:
        raise UsageError(f"--max-new must be at least 1, not {max_new}.")
    if not 0 <= temperature < math.inf:
        raise UsageError(f"--temperature must be 0 (greedy) or more, not {temperature}.")
    if not 0 < top_p <= 1:
        raise UsageError(f"--top-p must be in (0, 1], not {top_p}.")


def examine(
    model: str,
    pool: Pool,
    *,
    problems: int | None,
    samples: int,
    ks: Sequence[int] | None,
    temperature: float | None,
    max_new: int | None,
    seed: int,
    system: str | None = None,
    grader: Grader | None = None,
) -> dict[str, Any]:
    """Evaluates a model: unbiased pass@k on the split `test`, on the same problems as every run on this pool, by the
    verifiers and beside them by the reward functions of `grader`.

    By default 256 problems are asked, or all rows of a data file. The model of a run is asked with the system message,
    the temperature and the answer length of the run, unless others are given.
    """
    run = origin(model)
    if temperature is None:
        temperature = 1.0 if run is None else run.experiment.evaluation.temperature
    problems = how_many(pool, problems, samples)
    ks = list(ks) if ks else bank.powers(samples)
    if max(ks) > samples:
        raise UsageError(f"pass@{max(ks)} needs --n of at least {max(ks)} samples a problem, not {samples}.")
    if min(ks) < 1:
        raise UsageError(f"--k must be at least 1, not {min(ks)}.")
    check_sampling(max_new=max_new, temperature=temperature)
    policy, engine = open_engine(model, system=system)
    asked, max_new = exam(model, pool, policy, count=problems, split="test", max_new=max_new)
    rates = run is not None and any(problem.open for problem in asked)
    sat = judged_exams.examine(
        engine,
        asked,
        grader=grader or Grader(),
        samples=samples,
        key=Key(seed)("eval"),
        sampling=sampling_of(model, policy.codec, max_new, temperature),
        codec=policy.codec,
        asked=asked_with(model, policy.codec),
        rewarded=rewarding(run.experiment.recipe, pool, policy.codec, Memory(seed)) if run and rates else list,
    )
    asking = {"model": model, "max_new": max_new, "system": policy.codec.chat.system}
    return {**asking, "left_out": len(pool.left_out), **sat.examined(ks)}


def sampling_of(model: str, codec: Codec, max_new: int, temperature: float, top_p: float = 1.0) -> Sampling:
    """How answers of an exam are sampled. What a world may reply to the model of a run is limited as in the run."""
    run = origin(model)
    limits = {} if run is None else {name: getattr(run.experiment.recipe.scale, name) for name in REPLIES}
    return Sampling(max_new, temperature, top_p, stop=codec.stops, **limits)


def how_many(pool: Pool, problems: int | None, samples: int, *, split: Split = "test") -> int:
    """The number of problems to ask: 256 unless it is given, or all rows of a data file."""
    if problems is None:
        problems = len(pool.rows(split)) if pool.finite else 256
    if problems < 1 or samples < 1:
        raise UsageError(f"--problems and --n must be at least 1, not {problems} and {samples}.")
    return problems


def exam(
    model: str, pool: Pool, policy: Policy, *, count: int, split: Split, max_new: int | None
) -> tuple[list[Problem], int]:
    """The problems of a split that every model is asked, and the most tokens of an answer.

    The length is by default that of the model's run, or what the task needs. Rows that do not fit are left out.
    """
    max_new = answer_length(model, pool) if max_new is None else max_new
    asked = pool.held_out(Key("exam", split), count, split, least=FEWEST)
    if len(asked) < count and not pool.finite:
        say(f"these levels have only {len(asked)} different problems, of {count} that were asked for")
    if rows := [problem for problem in asked if problem.provenance == "data"]:
        prompts = measured(rows, lambda row: len(policy.codec.render(row.prompt)))
        fits = fit(max_new, prompts, context=policy.config.context, model=model, flag="--max-new")
        for line in fits.lines:
            say(line)
        max_new, asked = fits.max_new, [problem for problem in asked if problem.id not in fits.left_out]
    return asked, max_new


def answer_length(model: str, pool: Pool) -> int:
    """The most tokens of an answer: the limit of the model's run, or what the tasks need."""
    if (run := origin(model)) is not None:
        return run.experiment.recipe.scale.max_new
    return longest_solution(pool) if pool.wording == "compact" else 1024


def asked_with(model: str, codec: Codec) -> Callable[[list[Request]], list[Request]]:
    """The function that changes requests as the run's recipe does in evaluations; no change for other models."""
    run = origin(model)
    return list if run is None else as_examined(run.experiment.recipe.mechanism.ask, codec)
