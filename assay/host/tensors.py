"""Writing and reading safetensors files. No file of a run folder is a pickle, which could run code when it is read.

Files are written tensor by tensor, so that a save needs memory for its largest tensor only, and not for a second copy
of the file. They are read by the safetensors library, which refuses inconsistent headers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.errors import StorageError

_CODES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}


def _dtype(tensor: Any) -> str:
    return tensor.dtype.name if isinstance(tensor, np.ndarray) else str(tensor.dtype).removeprefix("torch.")


def nbytes(tensors: Mapping[str, Any]) -> int:
    return sum(int(tensor.nbytes) for tensor in tensors.values())


def encode(tensors: Mapping[str, Any]) -> Iterator[Any]:
    """The bytes of a safetensors file, piece by piece: length of the header, header, then each tensor."""
    for name, tensor in tensors.items():
        if _dtype(tensor) not in _CODES:
            raise StorageError(f"tensor {name} has type {_dtype(tensor)}; a checkpoint holds {', '.join(_CODES)}.")
    # With wide types first every tensor is aligned to the width of its type.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}  # `from_pretrained` refuses a file without it
    start = 0
    for name in order:
        tensor = tensors[name]
        end = start + int(tensor.nbytes)
        shape = [int(n) for n in tensor.shape]
        header[name] = {"dtype": _CODES[_dtype(tensor)], "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        yield _bytes(tensors[name])


def _bytes(tensor: Any) -> np.ndarray:
    """The bytes of a tensor as uint8[nbytes], little-endian and row-major."""
    if isinstance(tensor, np.ndarray):
        little = np.ascontiguousarray(tensor, dtype=tensor.dtype.newbyteorder("<"))
        return little.reshape(-1).view(np.uint8)
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy()


def first_non_finite(tensors: Mapping[str, Any]) -> str | None:
    """The name of the first tensor that holds a NaN or an infinity, or None.

    The minimum and the maximum show that without a mask of the tensor's size.
    """
    for name, tensor in tensors.items():
        if "float" not in _dtype(tensor) or 0 in tensor.shape:
            continue
        if isinstance(tensor, np.ndarray):
            low, high = float(tensor.min()), float(tensor.max())
        else:
            low, high = (float(value) for value in tensor.detach().aminmax())
        if not (np.isfinite(low) and np.isfinite(high)):
            return name
    return None


def decode(path: Path, framework: Literal["numpy", "torch"] = "numpy") -> dict[str, Any]:
    """The tensors of a file as copies, because views of a mapped file become invalid when the file is replaced."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt" if framework == "torch" else "np") as file:
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
            if framework == "torch":
                return {name: tensor.clone() for name, tensor in tensors.items()}
            return {name: np.array(tensor) for name, tensor in tensors.items()}
    except (SafetensorError, OSError) as error:
        raise StorageError(f"{path} is not a readable safetensors file: {error}.") from error
    except (TypeError, AttributeError) as error:
        raise StorageError(
            f"{path} holds a data type that numpy does not have ({error}); read it with framework='torch'."
        ) from error
