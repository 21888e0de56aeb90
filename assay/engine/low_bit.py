"""AdamW with moments in eight bits, by the kernels of bitsandbytes (arXiv 2110.02861).

A moment is stored as a dynamic eight-bit code, relative to a scale that each block of 256 numbers has: its largest
magnitude. A step decodes a block, updates it in fp32 and encodes it again.
"""

from __future__ import annotations

import torch
from torch import Tensor

from assay.engine.footprint import CODED_BLOCK

PIECE = 1 << 22  # numbers at a time: the kernel for processors holds all of them in fp32, several times over


class Coded:
    """Both moments of `count` numbers, in eight bits; `count` is a multiple of the block size."""

    def __init__(self, count: int, device: torch.device) -> None:
        from bitsandbytes import functional  # type: ignore[reportMissingImports]

        self.update = functional.optimizer_update_8bit_blockwise
        self.maps = [functional.create_dynamic_map(signed=signed).to(device) for signed in (True, False)]
        self.codes = [torch.empty(count, dtype=torch.uint8, device=device) for _ in self.maps]
        self.scales = [torch.empty(count // CODED_BLOCK, device=device) for _ in self.maps]
        self.clear()

    def move(
        self,
        weights: Tensor,
        gradient: Tensor,
        *,
        step: int,
        lr: float,
        decay: float,
        betas: tuple[float, float],
        eps: float,
    ) -> None:
        """One AdamW step with decoupled weight decay. `weights` and `gradient` are the `count` numbers."""
        for low in range(0, len(weights), PIECE):
            part = slice(low, min(low + PIECE, len(weights)))
            blocks = slice(part.start // CODED_BLOCK, part.stop // CODED_BLOCK)
            codes, scales = [c[part] for c in self.codes], [s[blocks] for s in self.scales]
            numbers = [*betas, 0.0, 0.0, eps, step, lr]
            arguments = ["adam", gradient[part], weights[part], *codes, *numbers, *self.maps, *scales]
            self.update(*arguments, weight_decay=decay)  # type: ignore[reportCallIssue]

    def views(self, place: slice) -> dict[str, Tensor]:
        """The codes of the numbers at `place`, which begins a block, and the scales of the blocks that hold them."""
        blocks = slice(place.start // CODED_BLOCK, -(-place.stop // CODED_BLOCK))
        kinds = ("exp_avg", "exp_avg_sq")
        found = {kind: codes[place] for kind, codes in zip(kinds, self.codes)}
        return found | {f"{kind}_scale": scales[blocks] for kind, scales in zip(kinds, self.scales)}

    def clear(self) -> None:
        """Set all moments to zero, also in the padding of a parameter's last block, which no checkpoint holds."""
        for codes, scales, code_values in zip(self.codes, self.scales, self.maps):
            codes.fill_(int(code_values.abs().argmin()))
            scales.zero_()
