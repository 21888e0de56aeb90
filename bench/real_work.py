"""What every process of `bench.real_turns` is given: the model's files, the questions, the sizes of a step.

Imports what each of their environments has: the standard library, numpy, and our tasks, which need no more.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

Paid = Literal["even", "verdict"]
PAID: tuple[Paid, ...] = get_args(Paid)
TASK = "words"
CLIP_RATIO, CLIP_NORM = 0.2, 1.0
LEARNING_RATE = 1e-6  # so small that the answers of the last step are as long as those of the first
RANK, ALPHA = 16, 32.0


@dataclass(frozen=True)
class Question:
    """A problem of the task: what the user says, the ids of the whole prompt, and how an answer is checked."""

    text: str
    ids: tuple[int, ...]
    spec: dict[str, Any]


@dataclass(frozen=True)
class Work:
    """A step, or a call of the sampler, on `samples` answers to each question of at most `answer` tokens."""

    folder: str  # of the model, in the Hugging Face layout
    files: dict[str, str]  # number format -> the GGUF file for llama.cpp
    questions: tuple[Question, ...]
    samples: int
    answer: int
    temperature: float
    paid: Paid
    steps: int  # the most that a process takes
    threads: int

    @property
    def rows(self) -> int:
        return len(self.questions) * self.samples

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Work:
        given = json.loads(path.read_text())
        questions = tuple(Question(q["text"], tuple(q["ids"]), q["spec"]) for q in given.pop("questions"))
        return cls(questions=questions, **given)


def job() -> tuple[Work, dict[str, Any]]:
    """The work and the options of this process, from its command line."""
    parser = argparse.ArgumentParser(description="A process of a measurement; started by `python -m bench.real_turns`.")
    parser.add_argument("--job", type=Path, required=True)
    parser.add_argument("--options", type=json.loads, default={}, help="JSON")
    given = parser.parse_args()
    return Work.read(given.job), given.options


def reward(work: Work, question: Question, ids: Sequence[int], text: str, *, ended: bool) -> float:
    """`even`: the share of even ids, with which no group is uniform, so that every row teaches in every system.
    `verdict`: 1 for an answer that ended and that the verifier of the task accepts.
    """
    if work.paid == "even":
        return sum(int(i) % 2 == 0 for i in ids) / max(1, len(ids))
    from assay.tasks.words import WORDS

    return float(ended and WORDS.checker.check(question.spec, text).status == "ok")


def advantages(rewards: np.ndarray, *, samples: int) -> np.ndarray:
    """A_i = r_i - mean_g r, as Dr. GRPO has it; rows of a group are adjacent."""
    groups = rewards.reshape(-1, samples)
    return (groups - groups.mean(1, keepdims=True)).reshape(-1)
