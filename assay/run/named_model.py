"""The model that a person names: where it lies, and what its files say of it before it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.errors import AssayError, StorageError, unknown
from assay.host.files import read_json
from assay.host.reach import of_hub
from assay.policy.config import PolicyConfig, parameters
from assay.policy.gguf_file import is_gguf
from assay.policy.hf_config import config_from_hf
from assay.policy.kinds import KINDS, Kind, kind_named
from assay.policy.lora import CONFIG, read_config
from assay.run.bases import BASES, folder_of
from assay.run.fresh_models import is_fresh, made, names
from assay.run.pretrained import PRETRAINED, converted, fetched, found


def locate(model: str) -> str:
    """The folder or Hub id of a model that is given as a base, a pretrained model's name, a run folder, a model folder,
    a GGUF file or a Hub id.

    A GGUF file is converted first. A base must have been built, which `assay.run.base_training.ready` sees to, and a
    pretrained model fetched by `assay get`. A run stands for the policy in its last checkpoint.
    """
    path = Path(model)
    if (path / "run.json").is_file():
        from assay.record.folder import RunFolder
        from assay.run.trust import require_known_base

        run = RunFolder.read_only(path)
        if (checkpoint := run.load()) is None:
            raise StorageError(f"the run {path} has no checkpoint yet.")
        require_known_base(run, checkpoint.path / "policy")
        return str(checkpoint.path / "policy")
    if is_gguf(path):
        return str(converted(path))
    if path.suffix.lower() == ".gguf" and not path.exists():
        raise StorageError(f"there is no file {path}.")
    if path.exists() or "/" in model:
        return model
    if model in PRETRAINED:
        return str(fetched(model))
    if is_fresh(model):
        return str(made(model))
    if model not in BASES:
        raise unknown("model folder, run or base", model, {*BASES, *PRETRAINED, *names()}, "assay list bases")
    if not (folder := folder_of(BASES[model])).exists():
        raise StorageError(f"the base {model} is not in the cache: `assay base build {model}` makes it.")
    return str(folder)


def resolved(model: str) -> str:
    """The folder of a GGUF file, which is converted now, of a model that is made by its name, or of a pretrained model
    that was fetched; any other name is given back as it is. So a plan can read the shape of a model before anything is
    trained.
    """
    path = Path(model)
    if model in PRETRAINED and not path.exists():
        return str(found(model) or model)
    return locate(model) if is_gguf(path) or is_fresh(model) else model


def shape_of(model: str) -> PolicyConfig | None:
    """The shape of a model, read without loading, building or fetching it; None for models of the Hub and unreadable
    files. A GGUF file is converted for it.
    """
    model = resolved(model)
    if not Path(model).exists() and model in BASES:
        return BASES[model].shape if BASES[model].eye is None else None
    if not Path(model).exists() and model in PRETRAINED:
        return PRETRAINED[model].shape
    return _stated(model, config_from_hf)


def size_of(model: str) -> int | None:
    """How many parameters a model has, read without loading, building or fetching it; None where that is not known."""
    if (shape := shape_of(model) or shape_at_hub(model)) is not None:
        return parameters(shape)
    return _stated(resolved(model), lambda raw: kind_named(raw.get("model_type")).size(raw))


def kind_of_model(model: str) -> Kind | None:
    """The kind of policy that a model is, read without loading or building it; None where its files are not here."""
    if not Path(model).exists() and model in BASES:
        return KINDS["transformer" if BASES[model].eye is None else "foreign"]
    return _stated(resolved(model), lambda raw: kind_named(raw.get("model_type")))


def _stated(model: str, read: Callable[[Mapping[str, Any]], Any]) -> Any:
    """What `read` finds in the config.json of a model's folder, or of the base below an adapter; None without one."""
    try:
        path = folder_below(model)
        if is_adapter(model):
            path = Path(read_config(read_json(path / CONFIG))[1])
        return read(read_json(path / "config.json"))
    except (OSError, AssayError):
        return None  # loading the model will report the same problem, with advice


def shape_at_hub(model: str) -> PolicyConfig | None:
    """The shape of a model of the Hub, whose small files are fetched for it; None where they cannot be had, which
    loading the model reports.
    """
    if not of_hub(model) or model in BASES or model in PRETRAINED:
        return None
    from assay.policy.model_folder import located

    try:
        return shape_of(str(located(model, weights=False)))
    except AssayError:
        return None


def is_adapter(model: str) -> bool:
    """Whether a model folder or a run folder holds a LoRA adapter instead of full weights."""
    model = resolved(model)
    try:
        return (folder_below(model) / CONFIG).is_file()
    except AssayError:
        return False  # loading the model will report the same problem, with advice


def folder_below(model: str) -> Path:
    """The model folder: for a run folder that of the policy in its last checkpoint, else the folder itself."""
    if not (Path(model) / "run.json").is_file():
        return Path(model)
    return Path(locate(model))


def family_of(model: str) -> str | None:
    """The family of a model, read without loading or building it; None for models of the Hub and unreadable files."""
    model = resolved(model)
    if not Path(model).exists() and model in BASES:
        return BASES[model].shape.family if BASES[model].eye is None else "llava"
    try:
        return read_json(Path(model) / "config.json").get("model_type")
    except (OSError, AssayError):
        return None  # loading the model will report the same problem, with advice
