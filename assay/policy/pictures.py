"""Pictures in prompts. Where a prompt shows a picture, its token ids hold the name of the picture.

A model that sees reads P tokens in the place of a picture. The ids of these tokens are negative: P words of 31 bits of
the digest of the picture's pixels. So two contexts are equal if and only if they show the same pictures, and code that
compares, hashes, stores, cuts or packs contexts carries pictures without knowing of them. Only the engine looks the
pixels up.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, DataError, StorageError
from assay.types import Ids

KEPT_BYTES = 256 << 20  # of pixels that are kept as the model reads them
KEPT_NAMES = 1 << 14  # sources whose ids are kept
LARGEST = 1 << 25  # pixels of a picture that is read at all
SETTINGS = "preprocessor_config.json"


@dataclass(frozen=True)
class Eye:
    """How pixels become numbers: CLIP's steps, with the settings of a `preprocessor_config.json`.

    eye = Eye.of({"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}, ...})
    eye(pixels)  # float32[3, 32, 32]
    """

    height: int
    width: int
    shortest: int = 0  # the shorter side after resizing, before the middle is cut out; 0: resized to height and width
    resample: int = 3  # Pillow's number of a filter: 3 is bicubic
    factor: float = 1 / 255
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Eye:
        """The eye that a file describes. CLIP's image processor is known, and no other."""
        kind = settings.get("image_processor_type") or settings.get("feature_extractor_type") or "none"
        if not str(kind).startswith("CLIP"):
            raise ConfigError(
                f"{SETTINGS} names the image processor {kind}; CLIPImageProcessor is the one that is known."
            )
        size, crop = settings.get("size", {}), settings.get("crop_size", {})
        shortest = int(size.get("shortest_edge", 0)) if settings.get("do_resize", True) else 0
        shown = crop if settings.get("do_center_crop", True) else size
        if "height" not in shown or (shortest and shortest < max(shown["height"], shown["width"])):
            raise ConfigError(f"{SETTINGS} must give every picture one size; its size is {size}, its crop_size {crop}.")
        normal = settings.get("do_normalize", True)
        return cls(
            height=int(shown["height"]),
            width=int(shown["width"]),
            shortest=shortest,
            resample=int(settings.get("resample", 3)),
            factor=float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale", True) else 1.0,
            mean=tuple(settings["image_mean"]) if normal else (0.0, 0.0, 0.0),
            std=tuple(settings["image_std"]) if normal else (1.0, 1.0, 1.0),
        )

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        """float32[3, height, width] of uint8[H, W, 3]: resized, cut, scaled, and normalised for each colour."""
        height, width = pixels.shape[:2]
        if self.shortest:
            short, long = sorted((height, width))
            other = int(self.shortest * long / short)
            target = (self.shortest, other) if height <= width else (other, self.shortest)
        else:
            target = (self.height, self.width)
        if target != (height, width):
            from PIL import Image

            resized = Image.fromarray(pixels).resize((target[1], target[0]), resample=Image.Resampling(self.resample))
            pixels = np.asarray(resized)
        top, left = (target[0] - self.height) // 2, (target[1] - self.width) // 2
        cut = pixels[top : top + self.height, left : left + self.width].astype(np.float32) * np.float32(self.factor)
        normal = (cut - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(normal.transpose(2, 0, 1), dtype=np.float32)


class Pictures:
    """The pictures that a policy has been shown, by their ids. The tokenizer writes the ids, the engine reads them.

    pictures = Pictures(token=99, count=16, eye=eye)
    ids = pictures.ids("grid.png")  # int32[16], all negative
    pictures.pixels(ids)  # float32[3, 32, 32]
    """

    def __init__(self, *, token: int, count: int, eye: Eye) -> None:
        self.token = token  # the id that a chat template writes in the place of a picture
        self.count = count  # tokens of a picture
        self.eye = eye
        self.sources: dict[bytes, str] = {}  # the ids of a picture, as bytes -> its source
        self.told: Callable[[bytes, str], None] = lambda ids, source: None  # hears of each new picture
        self._names: dict[str, Ids] = {}
        self._seen: dict[bytes, np.ndarray] = {}

    def __deepcopy__(self, memo: Any) -> Pictures:
        """Copies of a network share the pictures, because all of them read contexts of one tokenizer."""
        return self

    def ids(self, source: str) -> Ids:
        """The ids of a picture, by its source."""
        known = self._names.get(source)
        if known is None:
            known = ids_of(pixels_of(source), self.count)
            _make_room(self._names, KEPT_NAMES - 1)
            self._names[source] = known
            if known.tobytes() not in self.sources:
                self.sources[known.tobytes()] = source
                self.told(known.tobytes(), source)
        return known

    def placed(self, ids: Ids, sources: Iterable[str]) -> Ids:
        """The ids of a prompt with those of each picture at its mark."""
        marks, shown = np.flatnonzero(ids == self.token), [self.ids(source) for source in sources]
        if len(marks) != len(shown):
            raise DataError(
                f"a prompt shows {len(shown)} pictures and has {len(marks)} marks of pictures. A text must not contain "
                "the mark itself, and the chat template must write it once for each picture."
            )
        pieces = np.split(ids, marks)
        return np.concatenate(
            [pieces[0], *(part for one, piece in zip(shown, pieces[1:]) for part in (one, piece[1:]))]
        )

    def pixels(self, ids: Ids) -> np.ndarray:
        """A picture as the model reads it, by its ids."""
        name = np.ascontiguousarray(ids, np.int32).tobytes()
        if name not in self._seen:
            if name not in self.sources:
                raise StorageError("a context shows a picture that this run does not know: its pictures.jsonl is lost.")
            pixels = pixels_of(self.sources[name])
            if ids_of(pixels, self.count).tobytes() != name:
                raise StorageError(f"the picture {self.sources[name][:80]} has changed since the run showed it.")
            seen = self.eye(pixels)
            _make_room(self._seen, KEPT_BYTES // seen.nbytes)
            self._seen[name] = seen
        return self._seen[name]


def _make_room(kept: dict[Any, Any], most: int) -> None:
    """Forgets the oldest entries, so that no more than `most` are left."""
    while len(kept) > max(most, 0):
        del kept[next(iter(kept))]


def ids_of(pixels: np.ndarray, count: int) -> Ids:
    """-1 - w_k for the first `count` words w of 31 bits of the digest of the picture."""
    shape = "x".join(map(str, pixels.shape)).encode()
    words = np.frombuffer(hashlib.shake_256(shape + pixels.tobytes()).digest(4 * count), "<u4")
    return (-1 - (words >> np.uint32(1)).astype(np.int64)).astype(np.int32)


def pixels_of(source: str) -> np.ndarray:
    """uint8[H, W, 3] of a file, or of a `data:` address."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(_file(source)) as image:
            if math.prod(image.size) > LARGEST:
                raise DataError(
                    f"the picture {source[:80]} has {math.prod(image.size):,} pixels; at most {LARGEST:,} are read."
                )
            return np.array(image.convert("RGB"))
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise DataError(f"the picture {source[:80]} cannot be read: {error!s:.200}") from error


def _file(source: str) -> Path | io.BytesIO:
    if not source.startswith("data:"):
        return Path(source.removeprefix("file://")).expanduser()
    kind, comma, data = source.partition(",")
    if not comma or not kind.endswith(";base64"):
        raise DataError(f"a picture's address is data:image/png;base64,..., not {source[:80]}.")
    try:
        return io.BytesIO(base64.b64decode(data, validate=True))
    except binascii.Error as error:
        raise DataError(f"the picture {source[:80]} is not base64: {error}.") from error


def address_of(pixels: np.ndarray) -> str:
    """The `data:` address of uint8[H, W, 3], as a PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
