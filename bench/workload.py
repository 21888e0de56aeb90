"""What every measured system is given: shapes, prompts, reward, advantages.

Imports numpy alone, because each system runs in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Ending = Literal["full", "eos"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
HAZARD: dict[Ending, float] = {"full": 1e-12, "eos": 1 / 64}  # chance of the end token at each position

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PAD, EOS, FIRST = 0, 1, 2  # ids of the two special tokens and of the alphabet's first character
VOCAB = FIRST + len(ALPHABET)

LEARNING_RATE = 1e-6  # so small that the length histogram of the last step is that of the first
CLIP_NORM = 1.0
CLIP_RATIO = 0.2
STD_EPSILON = 1e-4


@dataclass(frozen=True)
class Shape:
    """A model and a batch: `prompts` x `samples` rows of `prompt` + at most `answer` tokens."""

    name: str
    hidden: int
    layers: int
    heads: int
    ffn: int
    prompts: int
    samples: int
    prompt: int
    answer: int

    @property
    def rows(self) -> int:
        return self.prompts * self.samples

    @property
    def parameters(self) -> int:
        """Of a tied Qwen2 model with as many key-value heads as heads."""
        d = self.hidden
        return VOCAB * d + self.layers * (4 * d * d + 3 * d + 3 * d * self.ffn + 2 * d) + d

    def flops(self, answer_tokens: int, *, train: bool) -> float:
        """2N a token to generate, each prompt once; 6N a token to train, each answer with its prompt."""
        generate = 2 * (self.prompts * self.prompt + answer_tokens)
        return float(self.parameters) * (generate + (6 * (self.rows * self.prompt + answer_tokens) if train else 0))


SHAPES: dict[str, Shape] = {
    "S0": Shape("S0", hidden=64, layers=2, heads=2, ffn=128, prompts=4, samples=4, prompt=4, answer=8),
    "S1": Shape("S1", hidden=256, layers=4, heads=4, ffn=768, prompts=32, samples=8, prompt=6, answer=64),
    "S2": Shape("S2", hidden=160, layers=4, heads=5, ffn=416, prompts=128, samples=8, prompt=16, answer=24),
    "S3": Shape("S3", hidden=384, layers=6, heads=6, ffn=1024, prompts=16, samples=8, prompt=16, answer=256),
}
MEASURED = ("S1", "S2", "S3")  # S0 only shows that the machinery works


def prompt_ids(shape: Shape) -> np.ndarray:
    """int32[prompts, prompt]: distinct random words of the alphabet, the same in every system and every step."""
    generator = np.random.Generator(np.random.Philox(key=17 + shape.prompts))
    return generator.integers(FIRST, VOCAB, size=(shape.prompts, shape.prompt)).astype(np.int32)


def text(ids: Sequence[int] | np.ndarray) -> str:
    return "".join(ALPHABET[int(i) - FIRST] for i in ids)


def reward(answer: Sequence[int] | np.ndarray) -> float:
    """Share of even ids among an answer's tokens before the end token: no group is uniform, so no row is idle."""
    body = [int(i) for i in answer if int(i) != EOS]
    return sum(i % 2 == 0 for i in body) / max(1, len(body))


def advantages(rewards: np.ndarray, *, samples: int) -> np.ndarray:
    """A_i = (r_i - mean_g r) / (std_g r + 1e-4), std with ddof 1; rows of a group are adjacent."""
    groups = rewards.reshape(-1, samples)
    centred = groups - groups.mean(1, keepdims=True)
    return (centred / (groups.std(1, ddof=1, keepdims=True) + STD_EPSILON)).reshape(-1)
