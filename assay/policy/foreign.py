"""Models of other families: a network of the library `transformers`, with the interface of our `Transformer`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from assay.errors import ConfigError, DataError, StorageError
from assay.policy.network import Network
from assay.policy.pictures import Eye, Pictures
from assay.policy.safetensors_folder import listed, numbers_in

FEW_LAYERS = 1000  # a network of so many layers can be laid out in a second
_CONTEXT = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers")
SEEING = ("llava",)  # the families of models that see pictures
_HEADS = ("num_key_value_heads", "num_attention_heads", "n_head")


@dataclass(frozen=True)
class ForeignConfig:
    """The few numbers that an engine must know of a network by `transformers`."""

    family: str
    vocab: int
    context: int
    layers: int
    kv_heads: int
    head_dim: int


class Foreign(Network):
    """A causal language model of `transformers`, with the `config.json` that it was read from."""

    kind = "foreign"
    pictures: Pictures | None = None  # those of the tokenizer, for a model that sees

    def __init__(self, inner: Any, raw: Mapping[str, Any]) -> None:
        super().__init__()
        self.inner, self.raw = inner, dict(raw)
        self.config = _described(inner, raw)

    @property
    def output(self) -> nn.Module:
        """The layer that gives the logits."""
        return self.inner.get_output_embeddings()

    def see(self, pixels: Tensor) -> Tensor:
        """The embeddings that the network reads in the place of pictures: [N, P, D] of the pixels [N, 3, H, W]."""
        return torch.stack(list(self.inner.model.get_image_features(pixels, return_dict=True).pooler_output))

    def tensors(self) -> dict[str, Tensor]:
        """All tensors that a checkpoint holds, by their names in files; a tied weight has its first name alone."""
        result: dict[str, Tensor] = {}
        seen: set[int] = set()
        for name, tensor in self.inner.state_dict(keep_vars=True).items():
            if id(tensor) not in seen:
                seen.add(id(tensor))
                result[name] = tensor
        return result

    def file_name(self, name: str) -> str:
        """The name that a parameter has in checkpoint files."""
        return name.removeprefix("inner.")

    def described(self, dtype: str, ids: Mapping[str, Any]) -> dict[str, Any]:
        """`config.json` as it was read, with its own special tokens, for weights of this type."""
        kind = {name: dtype for name in ("dtype", "torch_dtype") if name in self.raw} or {"torch_dtype": dtype}
        return {**self.raw, **kind}


def size(raw: Mapping[str, Any]) -> int | None:
    """How many parameters a model has is known only when `transformers` has made it."""


def check_foreign(raw: Mapping[str, Any]) -> None:
    """Raises ConfigError for a model that the engine on transformers cannot run, before anything is loaded."""
    family = raw["model_type"]
    if code := next(_code_in(raw), None):
        raise ConfigError(
            f"config.json brings code of its own ({code}) for model_type '{family}'; code of a checkpoint is not run."
        )
    if raw.get("quantization_config"):
        raise ConfigError(
            "config.json has a quantization_config: quantised weights do not train. Take the checkpoint without it."
        )
    if raw.get("is_encoder_decoder"):
        raise ConfigError(f"model_type '{family}' is an encoder with a decoder; only causal language models are run.")
    auto = _transformers()
    if family not in auto.models.auto.configuration_auto.CONFIG_MAPPING:
        raise ConfigError(
            f"transformers {auto.__version__} knows no model_type '{family}'. Ours are llama, qwen2 and qwen3; for "
            "others install a transformers that has it."
        )
    if family not in (*SEEING, *auto.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        raise ConfigError(
            f"model_type '{family}' is no causal language model in transformers {auto.__version__}; of the models that "
            f"see pictures, those of the family {' or '.join(SEEING)} are run."
        )


def pictures_of(raw: Mapping[str, Any], settings: Mapping[str, Any]) -> Pictures | None:
    """The store of the pictures of a model that sees; None for a model that reads text alone. `settings` are those of
    its image processor.
    """
    if raw.get("model_type") not in SEEING:
        return None
    vision, eye = raw.get("vision_config") or {}, Eye.of(settings)
    side, patch = vision.get("image_size", 224), vision.get("patch_size", 32)
    if (eye.height, eye.width) != (side, side):
        raise ConfigError(
            f"the image processor makes pictures of {eye.height} x {eye.width} pixels, and config.json reads {side} x "
            f"{side}: they do not belong together."
        )
    whole = raw.get("vision_feature_select_strategy", "default") == "full"
    token = raw.get("image_token_index", raw.get("image_token_id", 32000))
    return Pictures(token=token, count=(side // patch) ** 2 + whole, eye=eye)


def _network_class(auto: Any, family: str) -> Any:
    """The class of `transformers` that builds networks of this family."""
    return auto.AutoModelForImageTextToText if family in SEEING else auto.AutoModelForCausalLM


def network_of(raw: Mapping[str, Any]) -> Any:
    """A network of this shape, with weights that are still to be set."""
    auto = _transformers()
    settings = {name: value for name, value in raw.items() if name != "model_type"}
    with quiet(auto):
        return _network_class(auto, raw["model_type"]).from_config(
            auto.AutoConfig.for_model(raw["model_type"], **settings)
        )


def _code_in(raw: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The fields, nested ones too, by which `transformers` would run code of the folder or of a Hub repository."""
    for name, value in raw.items():
        if name == "auto_map" and value:
            yield f"{path}{name}"
        elif name.endswith("_implementation") and any("/" in text for text in _texts(value)):
            yield f"{path}{name} = {str(value)[:80]!r}"
        elif isinstance(value, Mapping):
            yield from _code_in(value, f"{path}{name}.")


def _texts(value: Any) -> list[str]:
    """The texts in a field of an attention implementation: one name, or one for each part of the model."""
    return [text for text in (value.values() if isinstance(value, Mapping) else [value]) if isinstance(text, str)]


def load_foreign(
    folder: Path,
    raw: Mapping[str, Any],
    *,
    dtype: torch.dtype,
    device: torch.device | str,
    allow_nonfinite: bool,
) -> Foreign:
    """The network with the weights of a folder. A tensor that the folder lacks is an error, never left at random."""
    require_stored(folder, raw)
    auto = _transformers()
    try:
        with quiet(auto):
            inner, report = _network_class(auto, raw["model_type"]).from_pretrained(
                folder,
                dtype=dtype,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported below, with the tensors' names
            )
    except Exception as error:  # the library raises errors of any type for a model that it cannot read
        raise StorageError(f"transformers could not load {folder}: {type(error).__name__}: {error!s:.300}") from error
    problems = {
        "missing tensors": sorted(report["missing_keys"]),
        "unexpected tensors": sorted(report["unexpected_keys"]),
        "wrong shapes": sorted(
            f"{name} is {list(came)}, expected {list(want)}" for name, came, want in report["mismatched_keys"]
        ),
    }
    complaints = [f"{kind}: {listed(names)}" for kind, names in problems.items() if names]
    if complaints:
        raise DataError(f"the weights in {folder} do not fit its config.json; {'; '.join(complaints)}.")
    broken = [name for name, tensor in inner.named_parameters() if not torch.isfinite(tensor).all()]
    if broken and not allow_nonfinite:
        raise DataError(f"weights that are not finite as {dtype}: {', '.join(broken[:8])} ({len(broken)} tensors).")
    return Foreign(inner.to(device).eval(), raw)


def require_stored(folder: Path, raw: Mapping[str, Any]) -> None:
    """Refuses a folder without weights that can be read safely, and a config.json that describes far more parameters
    than the folder stores, before any are allocated.

    Without this check, `transformers` would allocate and draw the missing ones. Parameters are counted on a network on
    torch's meta device, which takes no memory. Layers take memory even there, so their number is checked first, against
    the number of stored tensors.
    """
    auto = _transformers()
    if not any(folder.glob("model*.safetensors")):
        pickled = sorted(p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pth"))
        raise StorageError(
            f"{folder} holds {pickled[0]} but no safetensors; pickled weights can run code and are not read."
            if pickled
            else f"{folder} holds neither model.safetensors nor model.safetensors.index.json."
        )
    tensors, numbers = numbers_in(folder)
    for name, value in _whole_numbers(raw):
        if any(word in name for word in ("layer", "block", "depth")) and value > max(tensors, FEW_LAYERS):
            raise DataError(
                f"the weights in {folder} do not fit its config.json: {name} is {value:,}, and {tensors:,} tensors are "
                "stored."
            )
    try:
        with quiet(auto), torch.device("meta"):
            config = auto.AutoConfig.from_pretrained(folder, local_files_only=True)
            laid = _network_class(auto, raw["model_type"]).from_config(config)
    except Exception:  # the library raises errors of many types; loading raises the same one again, and reports it
        return
    described = sum(parameter.numel() for parameter in laid.parameters())
    if described > 2 * numbers:
        raise DataError(
            f"the weights in {folder} do not fit its config.json: it describes {described:,} numbers, but {numbers:,} "
            "are stored."
        )


def _whole_numbers(raw: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, int]]:
    for name, value in raw.items():
        if isinstance(value, Mapping):
            yield from _whole_numbers(value, f"{path}{name}.")
        elif isinstance(value, int):
            yield f"{path}{name}", value


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ConfigError(
            "models other than llama, qwen2 and qwen3 run through transformers: pip install 'assay-rl[hf]'."
        ) from error
    return transformers


class quiet:
    """Inside, `transformers` shows no progress bars and no warnings. The loading report is checked instead."""

    def __init__(self, library: Any) -> None:
        self.logging = library.utils.logging
        self.warnings = warnings.catch_warnings()

    def __enter__(self) -> None:
        self.level, self.bar = self.logging.get_verbosity(), self.logging.is_progress_bar_enabled()
        self.logging.set_verbosity_error()
        self.logging.disable_progress_bar()
        self.warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *failure: Any) -> None:
        self.warnings.__exit__(*failure)
        self.logging.set_verbosity(self.level)
        if self.bar:
            self.logging.enable_progress_bar()


def _described(inner: Any, raw: Mapping[str, Any]) -> ForeignConfig:
    text = inner.config.get_text_config()
    values = text.to_dict()
    context = _first(values, _CONTEXT)
    if context is None:
        raise ConfigError(
            f"the config.json of model_type '{raw.get('model_type')}' does not say how many positions the model can "
            f"hold; add {_CONTEXT[0]}."
        )
    output = inner.get_output_embeddings()
    if output is None:
        raise ConfigError(f"model_type '{raw.get('model_type')}' has no output layer over a vocabulary.")
    hidden = int(values.get("hidden_size") or values.get("n_embd") or output.weight.shape[1])
    heads = int(_first(values, _HEADS[1:]) or 1)
    return ForeignConfig(
        family=str(raw.get("model_type")),
        vocab=int(output.weight.shape[0]),
        context=int(context),
        layers=int(_first(values, _LAYERS) or 1),
        kv_heads=int(_first(values, _HEADS) or 1),
        head_dim=int(values.get("head_dim") or hidden // heads),
    )


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)
