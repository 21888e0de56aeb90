"""A GGUF file: its metadata, the list of its tensors, and their numbers.

The layout is that of the GGUF specification, versions 2 and 3. A file may be torn or made by a stranger: every count,
length and place is compared with what the file has before anything is allocated or read.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from assay.errors import ConfigError, DataError, StorageError
from assay.host.files import require_regular

MAGIC = b"GGUF"
VERSIONS = (2, 3)
HEADER = 64 << 20  # the most bytes of metadata and the list of tensors; the largest vocabularies take a third of it
ENTRIES = 1 << 16  # the most fields of the metadata, and the most tensors
LONGEST_NAME, LONGEST_TEXT = 1 << 16, 4 << 20  # bytes
CHUNK = 1 << 15  # blocks that are computed at once

_NUMBERS = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "|u1", 10: "<u8", 11: "<i8"}
_NUMBERS |= {12: "<f8"}
_SHORT, _BOOL, _TEXT, _LIST = 6, 7, 8, 9
_OTHERS = {
    6: "Q5_0",
    7: "Q5_1",
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    30: "BF16",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}
"""Types of tensors that others write and that are not read here, for the error that refuses them."""


@dataclass(frozen=True)
class Kind:
    """A type of tensors: blocks of `numbers` numbers, and how a block becomes fp32."""

    name: str
    numbers: int
    block: np.dtype
    values: Callable[[np.ndarray], np.ndarray]

    @property
    def quantised(self) -> bool:
        return self.numbers > 1


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """The 32 whole numbers from 0 to 15 of each block: the low halves of its 16 bytes, then the high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)


def _single(blocks: np.ndarray, field: str) -> np.ndarray:
    return blocks[field].astype(np.float32)[:, None]


def _q4_0(blocks: np.ndarray) -> np.ndarray:
    """w = d (q - 8)."""
    return _single(blocks, "d") * (_nibbles(blocks["q"]) - np.float32(8))


def _q4_1(blocks: np.ndarray) -> np.ndarray:
    """w = d q + m. The product is exact in fp32, so that the sum is rounded once, on every machine alike."""
    return _single(blocks, "d") * _nibbles(blocks["q"]) + _single(blocks, "m")


def _q8_0(blocks: np.ndarray) -> np.ndarray:
    """w = d q."""
    return _single(blocks, "d") * blocks["q"].astype(np.float32)


def _plain(blocks: np.ndarray) -> np.ndarray:
    return blocks.astype(np.float32)


_D, _M, _NIBBLES = ("d", "<f2"), ("m", "<f2"), ("q", "u1", (16,))
KINDS = {
    0: Kind("F32", 1, np.dtype("<f4"), _plain),
    1: Kind("F16", 1, np.dtype("<f2"), _plain),
    2: Kind("Q4_0", 32, np.dtype([_D, _NIBBLES]), _q4_0),
    3: Kind("Q4_1", 32, np.dtype([_D, _M, _NIBBLES]), _q4_1),
    8: Kind("Q8_0", 32, np.dtype([_D, ("q", "i1", (32,))]), _q8_0),
}


@dataclass(frozen=True)
class Stored:
    """A tensor in the file: its shape with the fastest axis last, its type, and the bytes that it takes."""

    shape: tuple[int, ...]
    kind: Kind
    start: int
    size: int


@dataclass(frozen=True)
class GGUF:
    """A file whose header was read and checked.

    file = read_gguf(Path("model.gguf"))
    file.metadata["general.architecture"]  # "llama"
    file.numbers("token_embd.weight")  # fp32, as [rows, columns]
    """

    path: Path
    metadata: Mapping[str, Any]  # numbers, texts, truths, lists of texts, arrays of numbers
    tensors: Mapping[str, Stored]

    def numbers(self, name: str) -> np.ndarray:
        stored = self.tensors[name]
        with _opened(self.path) as file:
            file.seek(stored.start)
            raw = file.read(stored.size)
        if len(raw) != stored.size:
            raise DataError(f"{self.path} became shorter while it was read; tensor {name} is torn.")
        blocks = np.frombuffer(raw, stored.kind.block)
        result = np.empty((len(blocks), stored.kind.numbers), np.float32)
        with np.errstate(invalid="ignore", over="ignore"):  # numbers that are not finite are refused below
            for at in range(0, len(blocks), CHUNK):
                part = stored.kind.values(blocks[at : at + CHUNK])
                result[at : at + CHUNK] = part.reshape(-1, stored.kind.numbers)
        if not np.isfinite(result).all():
            raise DataError(f"{self.path}: tensor {name} holds numbers that are not finite; the file is damaged.")
        return result.reshape(stored.shape)


def is_gguf(path: Path) -> bool:
    """Whether this is a file that calls itself GGUF, by its first bytes or its name."""
    if not path.is_file():
        return False
    if path.suffix.lower() == ".gguf":
        return True
    with _opened(path) as file:
        return file.read(len(MAGIC)) == MAGIC


def read_gguf(path: Path) -> GGUF:
    """Reads and checks the header of a file. The numbers of its tensors are read by `GGUF.numbers`."""
    with _opened(path) as file:
        header = _Header(file, os.fstat(file.fileno()).st_size, str(path))
        tensor_count, field_count = header.begin()
        metadata = dict(_fields(header, field_count))
        listed = list(_tensor_list(header, tensor_count))
        return GGUF(path, metadata, _placed(header, listed, _alignment(metadata, str(path))))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, whose errors name it. A pipe in its place is not waited for."""
    try:
        require_regular(path)
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StorageError(f"{path} was a file and is none any more; it is not read.")
            yield file
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


class _Header:
    """Reads from the beginning of a file, and never past the end of the file or of what a header may take."""

    def __init__(self, file: BinaryIO, size: int, place: str) -> None:
        self.file, self.size, self.place = file, size, place
        self.at = 0

    def torn(self, what: str) -> DataError:
        return DataError(
            f"{self.place} is torn or no GGUF file: {what}. Fetch the file again, and compare its size and hash with "
            "those of its source."
        )

    def take(self, count: int, what: str) -> bytes:
        if count > self.size - self.at:
            raise self.torn(
                f"{what} at byte {self.at:,} would take {count:,} bytes, and {self.size - self.at:,} follow"
            )
        if self.at + count > HEADER:
            raise self.torn(f"its header would have more than {HEADER:,} bytes")
        data = self.file.read(count)
        if len(data) != count:
            raise self.torn("it became shorter while it was read")
        self.at += count
        return data

    def whole(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what), "little")

    def text(self, what: str, most: int) -> str:
        length = self.whole(8, f"the length of {what}")
        if length > most:
            raise self.torn(f"{what} would have {length:,} bytes, and at most {most:,} are read")
        try:
            return self.take(length, what).decode()
        except UnicodeDecodeError as error:
            raise self.torn(f"{what} is not UTF-8 ({error})") from None

    def begin(self) -> tuple[int, int]:
        """(how many tensors, how many fields of metadata) the file says that it has."""
        magic = self.take(min(4, self.size), "its mark")
        if magic != MAGIC:
            raise self.torn(f"it begins with {magic!r}, and a GGUF file with {MAGIC!r}")
        version = self.whole(4, "the version")
        if version not in VERSIONS:
            big = " It is written in big-endian order." if version.to_bytes(4, "big")[0] in VERSIONS else ""
            raise ConfigError(
                f"{self.place} is of GGUF version {version:,}; versions {' and '.join(map(str, VERSIONS))} in "
                f"little-endian order are read.{big} Convert the model again with a current llama.cpp."
            )
        counts = self.whole(8, "the number of tensors"), self.whole(8, "the number of fields")
        for count, what in zip(counts, ("tensors", "fields"), strict=True):
            if count > ENTRIES:
                raise self.torn(f"it would have {count:,} {what}, and at most {ENTRIES:,} are read")
        return counts


def _fields(header: _Header, count: int) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for _ in range(count):
        name = header.text("the name of a field", LONGEST_NAME)
        if name in seen:
            raise header.torn(f"field {name!r:.80} is there twice")
        seen.add(name)
        kind = header.whole(4, f"the type of {name!r:.80}")
        yield name, _list(header, name) if kind == _LIST else _value(header, kind, f"field {name!r:.80}")


def _value(header: _Header, kind: int, what: str) -> Any:
    if kind == _TEXT:
        return header.text(what, LONGEST_TEXT)
    if kind not in _NUMBERS:
        raise header.torn(f"{what} is of type {kind}, which GGUF does not have")
    form = np.dtype(_NUMBERS[kind])
    (value,) = np.frombuffer(header.take(form.itemsize, what), form)
    if kind == _BOOL:
        if value > 1:
            raise header.torn(f"{what} is neither true nor false but {value}")
        return bool(value)
    return float(str(value)) if kind == _SHORT else value.item()  # 1e-05, not 9.999999747378752e-06


def _list(header: _Header, name: str) -> Any:
    what = f"field {name!r:.80}"
    kind, count = header.whole(4, f"the type of {what}"), header.whole(8, f"the length of {what}")
    if kind == _TEXT:
        if count * 8 > header.size - header.at:  # each text has a length of eight bytes
            raise header.torn(f"{what} would have {count:,} texts, more than fit")
        return [header.text(f"text {i} of {what}", LONGEST_TEXT) for i in range(count)]
    if kind == _LIST:
        raise ConfigError(f"{header.place}: {what} is a list of lists, which no model that is read here has.")
    if kind not in _NUMBERS:
        raise header.torn(f"{what} is a list of type {kind}, which GGUF does not have")
    form = np.dtype(_NUMBERS[kind])
    return np.frombuffer(header.take(count * form.itemsize, what), form)


def _alignment(metadata: Mapping[str, Any], place: str) -> int:
    value = metadata.get("general.alignment", 32)
    if type(value) is not int or not 8 <= value <= 1 << 20 or value % 8:
        raise DataError(f"{place}: general.alignment is a multiple of 8 of at most a million, not {value!r:.80}.")
    return value


def _tensor_list(header: _Header, count: int) -> Iterator[tuple[str, tuple[int, ...], Kind, int]]:
    """(name, shape, type, place after the header) of each tensor."""
    seen: set[str] = set()
    for _ in range(count):
        name = header.text("the name of a tensor", LONGEST_NAME)
        what = f"tensor {name!r:.80}"
        if name in seen:
            raise header.torn(f"{what} is there twice")
        seen.add(name)
        axes = header.whole(4, f"the number of axes of {what}")
        if not 1 <= axes <= 4:
            raise header.torn(f"{what} has {axes:,} axes, and tensors have one to four")
        lengths = tuple(header.whole(8, f"the shape of {what}") for _ in range(axes))
        kind = header.whole(4, f"the type of {what}")
        offset = header.whole(8, f"the place of {what}")
        yield name, lengths[::-1], _kind(header, kind, what), offset


def _kind(header: _Header, kind: int, what: str) -> Kind:
    if kind not in KINDS:
        known = ", ".join(one.name for one in KINDS.values())
        raise ConfigError(
            f"{header.place}: {what} is of type {_OTHERS.get(kind, kind)}; {known} are read. Take a file of one of "
            "these types, or convert it: llama-quantize --allow-requantize OLD NEW Q8_0."
        )
    return KINDS[kind]


def _placed(header: _Header, listed: list[Any], alignment: int) -> dict[str, Stored]:
    """The tensors with their places in the file: aligned, inside the file, and apart from each other."""
    data = -(-header.at // alignment) * alignment
    stored: dict[str, Stored] = {}
    for name, shape, kind, offset in listed:
        what, count = f"tensor {name!r:.80}", math.prod(shape)
        if not count or shape[-1] % kind.numbers:
            raise header.torn(f"{what} of type {kind.name} has the shape {list(shape)}")
        size = count // kind.numbers * kind.block.itemsize
        if offset % alignment:
            raise header.torn(f"{what} begins at {offset:,}, which is no multiple of {alignment}")
        if data + offset + size > header.size:
            raise header.torn(f"{what} ends at byte {data + offset + size:,} of {header.size:,}")
        stored[name] = Stored(shape, kind, data + offset, size)
    order = sorted(stored, key=lambda name: stored[name].start)
    for first, other in zip(order, order[1:]):
        if stored[first].start + stored[first].size > stored[other].start:
            raise header.torn(f"tensors {first!r:.80} and {other!r:.80} overlap")
    return stored
