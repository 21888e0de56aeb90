"""The set of kernels in Triton. Importing it needs the package triton, which torch's builds for GPUs bring along."""

from __future__ import annotations

from assay.engine.torch.kernels import decoding, draws, gates, norms, output, products, rotations
from assay.engine.torch.kernels.interface import Kernels

FUSED = Kernels(
    norm=norms.norm,
    norm_backward=norms.norm_backward,
    turn=rotations.turn,
    turn_backward=rotations.turn_backward,
    turn_normed=rotations.turn_normed,
    gate=gates.gate,
    gate_again=gates.gate_again,
    gate_backward=gates.gate_backward,
    read=output.read,
    pull=output.pull,
    add_product=products.add_product,
    draw=draws.draw,
    attend_shared=decoding.attend_shared,
)
