"""The choice of a network's kernels: Triton's where they can run and have been seen to compute the right numbers, else
torch's own operations. The choice and its reason are told.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from assay.engine.torch.kernels.checks import Sizes, fault
from assay.engine.torch.kernels.interface import FAMILIES, Kernels, KernelWish
from assay.engine.torch.kernels.plain import PLAIN
from assay.policy.config import PolicyConfig

CAPABLE = (8, 0)  # of the oldest GPUs that the kernels are for
FORMATS = (torch.bfloat16, torch.float32)


@dataclass(frozen=True)
class KernelChoice:
    """A set of kernels, and in a sentence what it is and why."""

    kernels: Kernels
    reason: str

    @property
    def fused(self) -> bool:
        """Whether any of them is Triton's."""
        return self.kernels != PLAIN


def load() -> tuple[Kernels, str]:
    """Triton's kernels, and their version of Triton; ImportError where there is no Triton."""
    import triton

    from assay.engine.torch.kernels.fused import FUSED

    return FUSED, f"triton {triton.__version__}"


@dataclass(frozen=True)
class Surroundings:
    """What a choice depends on beside its arguments; tests put other ones in place."""

    load: Callable[[], tuple[Kernels, str]] = load
    capability: Callable[[torch.device], tuple[int, int]] = torch.cuda.get_device_capability
    fault: Callable[[str, Kernels, Sizes, torch.device, torch.dtype], str] = fault


HERE = Surroundings()


def sizes_of(c: PolicyConfig) -> Sizes:
    return Sizes(hidden=c.hidden, heads=c.heads, kv_heads=c.kv_heads, head_dim=c.head_dim, ffn=c.ffn)


@functools.cache
def choose(
    wish: KernelWish, device: torch.device, dtype: torch.dtype, sizes: Sizes, about: Surroundings = HERE
) -> KernelChoice:
    """The kernels for a network of these sizes on this device, in this number format.

    Each family of kernels is compiled and tried on a small case at first. One that does not compile, or whose numbers
    are off by more than rounding, is replaced by torch's, and the reason names it.
    """
    why = refusal(wish, device, dtype, about)
    if why:
        return KernelChoice(PLAIN, f"torch: {why}")
    try:
        fused, version = about.load()
    except ImportError as error:
        return KernelChoice(PLAIN, f"torch: triton cannot be imported ({error})")
    taken, faults = PLAIN, dict[str, str]()
    for family, names in FAMILIES.items():
        if wrong := _fault(family, fused, sizes, device, dtype, about):
            faults[family] = wrong
        else:
            taken = replace(taken, **{name: getattr(fused, name) for name in names})
    return KernelChoice(taken, _told(version, faults))


def refusal(wish: KernelWish, device: torch.device, dtype: torch.dtype, about: Surroundings = HERE) -> str:
    """Why Triton's kernels are not even tried; "" if they are."""
    if wish == "torch":
        return "it was asked for"
    if device.type != "cuda":
        return f"Triton's kernels are for NVIDIA's GPUs, and this device is {device.type}"
    if dtype not in FORMATS:
        return f"Triton's kernels compute in bf16 and fp32, not in {str(dtype).removeprefix('torch.')}"
    if torch.version.hip is not None:
        return "Triton's kernels are for NVIDIA's GPUs, and this torch is built for AMD's"
    if (capability := about.capability(device)) < CAPABLE:
        return f"Triton's kernels need compute capability {_dotted(CAPABLE)}, and the GPU has {_dotted(capability)}"
    return ""


def _fault(
    family: str, kernels: Kernels, sizes: Sizes, device: torch.device, dtype: torch.dtype, about: Surroundings
) -> str:
    """What is wrong with a family of kernels. Whatever a compiler or a driver raises is told, and torch's operations
    are taken: they compute the same.
    """
    try:
        return about.fault(family, kernels, sizes, device, dtype)
    except Exception as error:
        lines = str(error).strip().splitlines()
        return f"{type(error).__name__}: {lines[0]:.200}" if lines else type(error).__name__


def _told(version: str, faults: dict[str, str]) -> str:
    if not faults:
        return f"{version}: {', '.join(FAMILIES)}"
    good = ", ".join(family for family in FAMILIES if family not in faults)
    wrong = "; ".join(f"torch for {family}, because {why}" for family, why in faults.items())
    return f"{version}: {good}; {wrong}" if good else f"{wrong} ({version})"


def _dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))
