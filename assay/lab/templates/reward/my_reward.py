"""A reward function with the signature of TRL's: it is called with all answers of a round, and gives a number for each.

Fill in: what an answer is worth. The function gets what its arguments name: `prompts`, `completions`, `completion_ids`,
the columns of the data, and the fields of the task; here `target`, the number that an answer to countdown must reach.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

NUMBER = re.compile(r"-?\d+")


def my_reward(completions: Sequence[Any], target: Sequence[Any], **kwargs: Any) -> list[float]:
    """1 if the last number of an answer is the target, 0.1 if the answer has any other number last, else 0."""
    return [one(said(completion), str(wanted)) for completion, wanted in zip(completions, target, strict=True)]


def one(text: str, wanted: str) -> float:
    numbers = NUMBER.findall(text)
    if not numbers:
        return 0.0
    return 1.0 if numbers[-1] == wanted else 0.1


def said(completion: Any) -> str:
    """The text of an answer. If the prompt is a conversation, the answer is a list of messages."""
    return completion if isinstance(completion, str) else completion[-1]["content"]
