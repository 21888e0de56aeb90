"""From the host's arrays to tensors on the device, without waiting for what the device has still to do."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def uploaded(array: np.ndarray, device: torch.device) -> Tensor:
    """The array as a tensor on the device. On a processor it shares the array's memory.

    A copy to a GPU from ordinary memory waits for the work that was handed to the GPU before; one from locked memory
    does not, and the memory stays locked until the copy is made.
    """
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
