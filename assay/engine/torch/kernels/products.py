"""Products that add to what is there: the gradients of weights, which every chunk of a step adds to."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.engine import head


def add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a' b. On a GPU the product itself adds bf16 factors to a sum in fp32: else the product is rounded, and
    written and read once more, which for an output layer is most of the time.
    """
    if not total.is_cuda or total.dtype == a.dtype:
        head.add_product(total, a, b)
    else:
        torch.ops.aten.addmm.dtype_out(total, a.t(), b, total.dtype, out=total)
