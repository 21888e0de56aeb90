"""The number format to compute in. `auto` takes bf16 where the machine multiplies bf16 natively, else fp32."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Literal

import torch

from assay.engine.native import build

Precision = Literal["auto", "fp32", "bf16", "fp64"]
FORMATS: dict[Precision, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp64": torch.float64}


def native_bf16(device: torch.device) -> tuple[bool, str]:
    """Whether the machine multiplies bf16 natively, and the reason in words."""
    if device.type == "cuda":
        if torch.cuda.get_device_capability(device) >= (8, 0):
            return True, "the GPU has bf16 matrix units"
        return False, "the GPU has no bf16 matrix units"
    if device.type != "cpu":
        return False, f"bf16 is not known to be fast on {device.type}"
    if build.named_format() == "fp32":
        return False, f"{build.CHOICE} names a variant of the core that computes in fp32"
    info = Path("/proc/cpuinfo")
    flags = info.read_text() if info.exists() else ""
    if "amx_bf16" in flags or "avx512_bf16" in flags:
        return True, "the processor has bf16 products"
    return False, f"the processor ({platform.machine()}) has no bf16 products; emulating them is slower than fp32"


def choose(precision: Precision, device: torch.device) -> tuple[torch.dtype, str]:
    """The compute format, and the reason in words."""
    if precision != "auto":
        return FORMATS[precision], f"{precision} was asked for"
    native, reason = native_bf16(device)
    return (torch.bfloat16, f"bf16: {reason}") if native else (torch.float32, f"fp32: {reason}")


def name_of(compute: torch.dtype) -> Precision:
    """The name of this format in the settings."""
    return next(name for name, dtype in FORMATS.items() if dtype == compute)
