"""A small model that sees, and prompts that show it pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.policy import Policy, PolicyConfig, character_tokenizer, fresh_seeing
from assay.policy.config import EyeShape
from assay.policy.pictures import address_of
from assay.rng import Key
from assay.tasks import ALPHABET

EYE = EyeShape(side=24, patch=8, hidden=16, layers=1, heads=2)
PATCHES = 9


def seeing_policy(seed: int = 0) -> Policy:
    tokenizer = character_tokenizer(ALPHABET, sees=True)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 96, attention_bias=True)
    return fresh_seeing(shape, EYE, tokenizer, key=Key(seed))


def noise(seed: int, side: int = 24) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


def asked(text: str, *pictures: np.ndarray) -> tuple[Mapping[str, Any], ...]:
    shown = [{"type": "image", "image": address_of(one)} for one in pictures]
    return ({"role": "user", "content": [*shown, {"type": "text", "text": text}]},)
