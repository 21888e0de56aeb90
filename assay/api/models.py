"""A model that a program holds in memory, as a folder: its name is a digest of the weights, the configuration and the
tokenizer, so that the same model is written once, and a run from it can be resumed and repeated.

The object itself is only read.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from assay.api.given import Model, article, kept_in, library_of
from assay.errors import UsageError
from assay.host.cache import locked
from assay.record import disk

PAIR = "model=(model, tokenizer), or tokenizer=tokenizer"


def named(model: Model, tokenizer: Any = None, *, name: str = "model") -> str:
    """The name of a model: a place as it is, and for an object of transformers the folder that it is saved in.

    named((AutoModelForCausalLM.from_pretrained(place), AutoTokenizer.from_pretrained(place)))
    """
    if isinstance(model, str | os.PathLike):
        if tokenizer is not None:
            raise UsageError(f"{name} is a place, which has a tokenizer of its own: leave tokenizer out.")
        return os.fspath(model)
    if isinstance(model, tuple):
        if len(model) != 2 or tokenizer is not None:
            raise UsageError(f"{name} is given as {PAIR}, and not as a tuple of {len(model)} beside another tokenizer.")
        model, tokenizer = model
    _require_model(model, name)
    _require_tokenizer(tokenizer, name)
    return str(kept(model, tokenizer))


def _require_model(model: object, name: str) -> None:
    if library_of(model) == "peft":
        raise UsageError(
            f"{name} is {article(model)}: merge its adapter first (model.merge_and_unload()), and let the run train "
            "one of its own with lora=RANK."
        )
    if library_of(model) != "transformers" or not hasattr(model, "save_pretrained"):
        raise UsageError(
            f"{name} takes a folder, a GGUF file, a name of the Hub, a run, or a model of transformers with its "
            f"tokenizer, and not {article(model)}."
        )


def _require_tokenizer(tokenizer: Any, name: str) -> None:
    if tokenizer is None:
        raise UsageError(f"{name} is an object, and its tokenizer is missing: give {PAIR}.")
    if not hasattr(tokenizer, "save_pretrained"):
        raise UsageError(f"tokenizer is one of transformers, and not {article(tokenizer)}.")
    if not getattr(tokenizer, "is_fast", True):
        raise UsageError(
            f"{article(tokenizer)} is one without tokenizer.json, which Assay reads: load it with "
            "AutoTokenizer.from_pretrained(..., use_fast=True)."
        )


def kept(model: Any, tokenizer: Any) -> Path:
    """The folder that holds this model with this tokenizer, written if it is not there."""
    root = kept_in()
    with disk.storage_errors("saving the model that was given as an object"):
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".tmp-") as scratch:
            beside, whole = Path(scratch) / "beside", Path(scratch) / "whole"
            for part in (tokenizer, model.config, getattr(model, "generation_config", None)):
                if part is not None:
                    part.save_pretrained(str(beside))
            target = root / f"model-{_digest(model, beside)}"
            with locked(target):
                if not target.is_dir():
                    model.save_pretrained(str(whole))
                    tokenizer.save_pretrained(str(whole))
                    whole.rename(target)
    return target


def _digest(model: Any, beside: Path) -> str:
    """A digest of the files beside the weights, and of the weights."""
    import torch

    total = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in beside.rglob("*") if path.is_file()):
        total.update(f"{path.relative_to(beside)}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    for name, tensor in model.state_dict().items():
        total.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        total.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return total.hexdigest()
