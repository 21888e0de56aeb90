"""A model in a wheel, and the record of it that `assay get` is to have."""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.policy import fingerprint, load_policy
from assay.policy.gguf import sha256_of
from assay.run.pretrained import SMOLLM2, Pretrained

TINY_WHEEL = "llm_tiny-0.1.0-py3-none-any.whl"
INSIDE = "llm_tiny/Tiny.Q4_1.gguf"


def wheel_of(file: Path, folder: Path, more: Mapping[str, str] | None = None) -> Path:
    """Writes a wheel with a GGUF file and further files, {path: text}; its path."""
    path = folder / TINY_WHEEL
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, INSIDE)
        for name, text in (more or {}).items():
            archive.writestr(name, text)
    return path


def record_of(wheel: Path, file: Path, converted: Path, **changes: Any) -> Pretrained:
    """The record of a model, `tiny`, in a wheel of ours, by the folder that its GGUF file becomes."""
    policy = load_policy(converted)
    return dataclasses.replace(
        SMOLLM2,
        name="tiny",
        wheel=sha256_of(wheel),
        size=wheel.stat().st_size,
        file=INSIDE,
        gguf=sha256_of(file),
        gguf_size=file.stat().st_size,
        shape=policy.config,
        fingerprint=fingerprint(policy),
        **changes,
    )
