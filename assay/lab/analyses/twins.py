"""Twins of the problems of a bank, fresh ones of the same generator; and how a model is asked what it knows of both."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.analyses.measure import Lacking
from assay.rng import Key
from assay.scoring.boundary import Counts
from assay.tasks import task
from assay.types import Ids, Problem, Request

if TYPE_CHECKING:
    from assay.engine.interface import Engine
    from assay.policy import Policy
    from assay.policy.codec import Codec
    from assay.scoring.bank import Bank
    from assay.scoring.samples import SampleBank

KEY = Key("twins")
TRIES = 200  # draws of a twin, until it is a problem that nobody has asked yet
SEED = "contamination"


def twins_of(problems: Mapping[str, Problem]) -> list[Problem]:
    """A fresh problem for each: of the same task, level and wording, and none of those given. Its split is `test`, from
    which no run trains.
    """
    taken, twins = set(problems), []
    for name, problem in problems.items():
        kind = task(problem.task)
        if kind.generator.rows is not None:
            raise Lacking(f"'{problem.task}' is a list of problems: nothing draws fresh ones of the same kind.")
        for number in range(TRIES):
            fresh = kind.problem(KEY(name, number), level=problem.level, split="test", wording=problem.wording)
            if fresh.id not in taken:
                break
        else:
            raise Lacking(
                f"level {problem.level} of '{problem.task}' has no problem that was not asked: take a higher one."
            )
        taken.add(fresh.id)
        twins.append(fresh)
    return twins


@dataclass(frozen=True, eq=False)
class QuestionText:
    """The question of a problem as tokens, and what the model reads before it.

    QuestionText(np.array([1]), np.array([39, 4, 21])).cut(0.6)
    """

    before: Ids
    ids: Ids

    def cut(self, share: float) -> tuple[Ids, Ids]:
        """What is read and what is left to be completed: of T tokens the first ceil(share T), and at least one token on
        either side.
        """
        place = min(max(1, math.ceil(share * len(self.ids))), len(self.ids) - 1)
        return np.concatenate([self.before, self.ids[:place]]), self.ids[place:]


def text_of(problem: Problem, codec: Codec) -> QuestionText:
    """The text of a question within its rendered prompt. Where the tokens of the question do not stand in it as they
    are, because they join with those beside them, the question is read alone.
    """
    prompt = problem.prompt
    if not isinstance(prompt, str):
        raise Lacking("the questions are conversations: texts alone are completed.")
    ids, whole = (np.asarray(read(prompt), dtype=np.int32) for read in (codec.encode, codec.render))
    if len(ids) < 2:
        raise Lacking(f"the question {prompt[:40]!r} is too short to be cut in two.")
    for start in range(1, len(whole) - len(ids) + 1):
        if (whole[start : start + len(ids)] == ids).all():
            return QuestionText(whole[:start], ids)
    return QuestionText(ids[:0], ids)


@dataclass(frozen=True, eq=False)
class Witness:
    """A model as it is asked about questions.

    witness_of(bank, policy).complete([np.array([1, 39])], [12])
    """

    text: Callable[[Problem], QuestionText]
    complete: Callable[
        [Sequence[Ids], Sequence[int]], list[Ids]
    ]  # the likeliest tokens after contexts, at most so many
    logp: Callable[[Sequence[QuestionText]], list[np.ndarray]]  # log-probabilities of the tokens of questions
    solved: Callable[[Sequence[Problem], Sequence[Ids]], np.ndarray]  # bool: by its likeliest answer to these questions
    right: Callable[[Sequence[Problem], int], Counts]  # how often problems are answered rightly in so many samples


def witness_of(bank: SampleBank, policy: Policy) -> Witness:
    """A policy, asked as its bank was asked."""
    from assay.engine.choose import frozen_engine
    from assay.engine.interface import Span
    from assay.host.space import device_of

    asked = bank.asked
    if asked.judge:
        raise Lacking("the answers of the banks were graded by functions that are not stored in them.")
    policy = policy.told(asked.system) if asked.system else policy
    engine, codec = frozen_engine(policy, device=device_of("auto"), precision="auto"), policy.codec

    def complete(contexts: Sequence[Ids], lengths: Sequence[int]) -> list[Ids]:
        problem = Problem(task="text", prompt="", spec={}, canonical="")
        requests = [
            Request(problem, context, str(i), length, temperature=0.0, sample=i)
            for i, (context, length) in enumerate(zip(contexts, lengths, strict=True))
        ]
        return [made.segment.ids for made in engine.generate(requests, Key(asked.seed)(SEED))]

    def logp(texts: Sequence[QuestionText]) -> list[np.ndarray]:
        read = [each if len(each.before) else QuestionText(each.ids[:1], each.ids[1:]) for each in texts]
        return [scores.logp for scores in engine.score([Span(each.before, each.ids) for each in read])]

    def solved(problems: Sequence[Problem], asked_with: Sequence[Ids]) -> np.ndarray:
        texts = (codec.decode([token for token in ids if token not in codec.end_ids]) for ids in asked_with)
        asked_so = [dataclasses.replace(each, prompt=text) for each, text in zip(problems, texts, strict=True)]
        return _asked(bank, codec, engine, asked_so, 1, temperature=0.0).correct > 0

    def right(problems: Sequence[Problem], samples: int) -> Counts:
        counts = _asked(bank, codec, engine, problems, samples, temperature=asked.temperature)
        if (counts.n == 0).any():
            raise Lacking("a verifier failed on every answer to a fresh problem.")
        return Counts(counts.n, counts.correct)

    return Witness(lambda problem: text_of(problem, codec), complete, logp, solved, right)


def _asked(
    bank: SampleBank, codec: Codec, engine: Engine, problems: Sequence[Problem], samples: int, *, temperature: float
) -> Bank:
    """Answers to these problems, which are asked as the bank was asked."""
    from assay.lab.sample import asked_with, sampling_of
    from assay.run.grader import Grader
    from assay.scoring.bank import answer, questions
    from assay.scoring.bank import bank as counted

    asked = bank.asked
    sampling = sampling_of(asked.model, codec, asked.max_new, temperature, asked.top_p)
    requests = asked_with(asked.model, codec)(questions(problems, samples=samples, sampling=sampling, codec=codec))
    return counted(answer(engine, requests, key=Key(asked.seed)("eval"), codec=codec, verify=Grader().exam))
