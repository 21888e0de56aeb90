"""Settings with a short name: an option of the command line without a group, and a key of a file outside of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SHORT_NAMES = {"agent": "agent.command", "lora": "lora.rank", "cut": "cut", "stop": "chat.stop", "shots": "chat.shots"}
"""Name -> the setting that it stands for."""
ELSEWHERE = {
    "lr": "scale.learning_rate",
    "batch_size": "scale.num_prompts",
    "max_length": "scale.max_new",
    "max_tokens": "scale.max_new",
    "max_new_tokens": "scale.max_new",
    "gpus": "machine.learners",
}
"""What others call a setting -> its path here."""


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(path, value) of each setting below this path. A table that names its `part` is one value.

    list(leaves("scale", {"top-k": 5}))  # [("scale.top_k", 5)]
    """
    if isinstance(value, Mapping) and "part" not in value:
        for key, inner in value.items():
            yield from leaves(f"{path}.{str(key).replace('-', '_')}", inner)
    else:
        yield SHORT_NAMES.get(path, path), value
