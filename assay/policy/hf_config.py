"""Hugging Face `config.json` <-> PolicyConfig.

Each field is either used, or known to be harmless, or checked to hold a value under which it changes nothing. Any other
field is refused, because it may change the function that the weights were trained for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from assay.errors import ConfigError, StorageError
from assay.host import files as small_files
from assay.policy.config import OPTIONAL, REQUIRED, Family, PolicyConfig, Rope, RopeKind, parameters

ARCHITECTURES: dict[str, str] = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}

_SIZES = {
    "vocab_size": "vocab",
    "hidden_size": "hidden",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "ffn",
    "max_position_embeddings": "context",
}

_METADATA = frozenset(
    [
        "architectures",
        "transformers_version",
        "torch_dtype",
        "dtype",
        "use_cache",
        "_name_or_path",
        "_model_name_or_path",
        "name_or_path",
        "_commit_hash",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "sep_token_id",
        "unk_token_id",
        "decoder_start_token_id",
        "tokenizer_class",
        "prefix",
        "id2label",
        "label2id",
        "num_labels",
        "problem_type",
        "finetuning_task",
        "task_specific_params",
        "output_attentions",
        "output_hidden_states",
        "output_scores",
        "return_dict",
        "return_dict_in_generate",
        "torchscript",
        "tf_legacy_loss",
        "use_bfloat16",
        "attn_implementation",
        "_attn_implementation",
        "_attn_implementation_autoset",
        "do_sample",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
        "min_length",
        "max_length",
        "early_stopping",
        "num_beams",
        "num_beam_groups",
        "num_return_sequences",
        "diversity_penalty",
        "repetition_penalty",
        "length_penalty",
        "no_repeat_ngram_size",
        "encoder_no_repeat_ngram_size",
        "bad_words_ids",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "remove_invalid_values",
        "exponential_decay_length_penalty",
        "suppress_tokens",
        "begin_suppress_tokens",
        "transformers.js_config",
        "unsloth_version",
        "unsloth_fixed",
        "model_name",
    ]
)

# field -> the values under which it changes nothing. A field that is absent or null changes nothing either.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu", "swish"),
    "pretraining_tp": (1,),
    "partial_rotary_factor": (1,),
    # Dropout is not supported: the weights would load, but training would lack the dropout that the file asks for.
    "attention_dropout": (0,),
    "hidden_dropout": (0,),
    "resid_pdrop": (0,),
    "embd_pdrop": (0,),
    "use_sliding_window": (False,),
    "use_mrope": (False,),
    "rope_interleaved": (False,),
    "is_llama_config": (True,),
    "is_decoder": (False, True),
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (),
    "tie_encoder_decoder": (False,),
    "chunk_size_feed_forward": (0,),
    "pruned_heads": ({},),
    "quantization_config": (),
    "auto_map": ({},),
    "per_layer_config": ({},),
    "tie_last_hidden_states": (),
}

_FAMILY_NEUTRAL: dict[str, dict[str, tuple[Any, ...]]] = {
    "llama": {"sliding_window": (), "use_qk_norm": (False,), "qk_norm": (False,)},
    "qwen2": {"attention_bias": (True,), "qkv_bias": (True,), "mlp_bias": (False,)},
    "qwen3": {"mlp_bias": (False,)},
}

_USED = frozenset(
    [
        "model_type",
        "num_key_value_heads",
        "head_dim",
        "rms_norm_eps",
        "initializer_range",
        "tie_word_embeddings",
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "original_max_position_embeddings",
        "layer_types",
    ]
) | frozenset(_SIZES)

_ROPE_FIELDS = {"rope_theta": "theta", "original_max_position_embeddings": "original_context"}
_ROPE_NAMES = {ours: theirs for theirs, ours in _ROPE_FIELDS.items()}


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model's folder."""
    try:
        value = small_files.read_json(path)
    except FileNotFoundError as error:
        raise StorageError(f"{path.parent} has no {path.name}.") from error
    if not isinstance(value, dict):
        raise StorageError(f"{path} must hold a JSON object, not {type(value).__name__}.")
    return value


def size(raw: Mapping[str, Any]) -> int:
    """How many parameters the model of this `config.json` has."""
    return parameters(config_from_hf(raw))


def config_from_hf(raw: Mapping[str, Any]) -> PolicyConfig:
    """The shape that a `config.json` describes. Raises ConfigError for a field
    that would change what the model computes.
    """
    family = _family(raw)
    used = _USED | ({"attention_bias", "mlp_bias"} if family == "llama" else set())
    used |= {"attention_bias"} if family == "qwen3" else set()
    ignored = _METADATA | ({"sliding_window", "max_window_layers"} if family != "llama" else set())
    _refuse_the_unknown(raw, {**_NEUTRAL, **_FAMILY_NEUTRAL[family]}, used | ignored)
    _check_architecture(raw, family)

    sizes = {ours: _size(raw, theirs, None) for theirs, ours in _SIZES.items()}
    _check_layer_types(raw.get("layer_types"), sizes["layers"])
    # Only old Llama files leave num_key_value_heads out; in the other families, its default is not the number of heads.
    kv_heads = sizes["heads"] if family == "llama" or "num_key_value_heads" in raw else None
    head_dim = 128 if family == "qwen3" else sizes["hidden"] // max(sizes["heads"], 1)
    bias = _flag(raw, "attention_bias")
    return PolicyConfig(
        family=family,
        **sizes,
        kv_heads=_size(raw, "num_key_value_heads", kv_heads),
        head_dim=_size(raw, "head_dim", head_dim),
        rope=_rope(raw, sizes["context"]),
        norm_eps=_number(raw, "rms_norm_eps", 1e-6),
        tied=_flag(raw, "tie_word_embeddings"),
        attention_bias=True if family == "qwen2" else bias,
        output_bias=False if family == "qwen2" else bias,
        mlp_bias=_flag(raw, "mlp_bias"),
        qk_norm=family == "qwen3",
        init_std=_number(raw, "initializer_range", 0.02),
    )


def config_to_hf(config: PolicyConfig, *, dtype: str = "float32", extra: Mapping[str, Any] | None = None) -> dict:
    """The `config.json` of a policy. Rope is written in two ways, for transformers 4 and for transformers 5.

    `extra` adds metadata such as token ids. It cannot override a field that describes the model.
    """
    rope = _rope_to_hf(config.rope)
    scaling = {name: value for name, value in rope.items() if name != "rope_theta"}
    fields: dict[str, Any] = {
        "architectures": [ARCHITECTURES[config.family]],
        "model_type": config.family,
        **{theirs: getattr(config, ours) for theirs, ours in _SIZES.items()},
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps,
        "initializer_range": config.init_std,
        "tie_word_embeddings": config.tied,
        "attention_dropout": 0.0,
        "rope_theta": config.rope.theta,
        "rope_scaling": None if config.rope.kind == "default" else scaling,
        "rope_parameters": rope,
        "torch_dtype": dtype,
        "use_cache": True,
    }
    if config.family == "llama":
        fields |= {"attention_bias": config.attention_bias, "mlp_bias": config.mlp_bias}
    else:
        fields |= {"use_sliding_window": False}
    if config.family == "qwen3":
        fields |= {"attention_bias": config.attention_bias}
    clash = sorted(set(extra or {}) & set(fields) | (set(extra or {}) - _METADATA))
    if clash:
        raise ConfigError(f"extra may only hold metadata that the configuration does not set, not {', '.join(clash)}.")
    return {**fields, **(extra or {})}


def _family(raw: Mapping[str, Any]) -> Family:
    for family in get_args(Family):
        if raw.get("model_type") == family:
            return family
    raise ConfigError(
        f"config field model_type = {_short(raw.get('model_type'))} is not supported; "
        f"supported: {', '.join(ARCHITECTURES)}."
    )


def _refuse_the_unknown(raw: Mapping[str, Any], neutral: Mapping[str, tuple[Any, ...]], known: Collection[str]) -> None:
    for name, value in raw.items():
        if name in known:
            continue
        if name not in neutral:
            raise ConfigError(
                f"config field {name} = {_short(value)} is not understood. It may change what the model computes; "
                "remove it from config.json only if you know that it does not."
            )
        if value is not None and not any(value == allowed for allowed in neutral[name]):
            allowed = " or ".join([*(json.dumps(choice) for choice in neutral[name]), "absent"])
            raise ConfigError(f"config field {name} = {_short(value)} is not supported; supported: {allowed}.")


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _check_architecture(raw: Mapping[str, Any], family: str) -> None:
    names = raw.get("architectures") or []
    if not isinstance(names, list) or any(name != ARCHITECTURES[family] for name in names):
        raise ConfigError(
            f"config field architectures = {_short(names)} is not supported; supported: {ARCHITECTURES[family]}."
        )


def _value(raw: Mapping[str, Any], name: str, default: Any) -> Any:
    value = raw.get(name)
    return default if value is None else value


def _size(raw: Mapping[str, Any], name: str, default: int | None) -> int:
    value = _value(raw, name, default)
    if value is None:
        raise ConfigError(f"config.json has no {name}.")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"config field {name} = {_short(value)} must be a whole number.")
    return value


def _number(raw: Mapping[str, Any], name: str, default: float) -> float:
    value = _value(raw, name, default)
    if not _is_number(value):
        raise ConfigError(f"config field {name} = {_short(value)} must be a number.")
    return float(value)


def _is_number(value: Any) -> bool:
    """Whether the value is a number that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _flag(raw: Mapping[str, Any], name: str) -> bool:
    value = _value(raw, name, False)
    if not isinstance(value, bool):
        raise ConfigError(f"config field {name} = {_short(value)} must be true or false.")
    return value


def _check_layer_types(kinds: Any, layers: int) -> None:
    if kinds is None:
        return
    if not isinstance(kinds, list):
        raise ConfigError(f"config field layer_types = {_short(kinds)} must be a list, a name for each layer.")
    other = sorted({str(kind) for kind in kinds} - {"full_attention", "attention"})
    if other:
        raise ConfigError(f"config field layer_types holds {', '.join(other)}; supported: full_attention.")
    if len(kinds) != layers:
        raise ConfigError(f"config field layer_types has {len(kinds)} entries for num_hidden_layers = {layers}.")


def _rope(raw: Mapping[str, Any], context: int) -> Rope:
    """Rope from its old spelling (rope_theta, rope_scaling) or its new one
    (rope_parameters); both must agree if given.
    """
    given = {name: raw[name] for name in ("rope_scaling", "rope_parameters") if raw.get(name)}
    for name, value in given.items():
        if not isinstance(value, Mapping):
            raise ConfigError(f"config field {name} = {_short(value)} must be an object.")
    outside = {name: raw[name] for name in _ROPE_FIELDS if raw.get(name) is not None}
    for value in given.values():
        if value.get("rope_theta") is not None:
            outside.setdefault("rope_theta", value["rope_theta"])
    readings = [_rope_from_dict(value, outside, context) for value in given.values() or [{}]]
    if any(reading != readings[0] for reading in readings):
        raise ConfigError(
            f"config fields {' and '.join(f'{name} = {_short(value)}' for name, value in given.items())} contradict "
            "each other; keep one."
        )
    return readings[0]


def _rope_from_dict(given: Mapping[str, Any], outside: Mapping[str, Any], context: int) -> Rope:
    fields = {name: value for name, value in given.items() if value is not None}
    kinds = [fields.pop(name) for name in ("rope_type", "type") if name in fields] or ["default"]
    kind = _rope_kind(kinds)
    if fields.pop("partial_rotary_factor", 1) != 1:
        raise ConfigError(
            f"config field partial_rotary_factor = {given['partial_rotary_factor']} is not supported; supported: 1."
        )
    for name, value in outside.items():
        if fields.setdefault(name, value) != value:
            raise ConfigError(f"config field {name} = {value} contradicts {fields[name]} in the rope parameters.")
    if "original_context" in REQUIRED[kind]:
        original = fields.setdefault("original_max_position_embeddings", context)
        if _is_number(original) and original > 0:  # any other value is refused below
            fields.setdefault("factor", context / original)
    allowed = [_ROPE_NAMES.get(name, name) for name in ("theta", *REQUIRED[kind], *OPTIONAL[kind])]
    for name, value in fields.items():
        if name not in allowed or not _fits(name, value):
            raise ConfigError(
                f"config field {name} = {_short(value)} is not understood for rope_type '{kind}'; "
                f"supported: numbers for {', '.join(allowed)}."
            )
    return Rope(kind=kind, **{_ROPE_FIELDS.get(name, name): _plain(value) for name, value in fields.items()})


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the type that this field of a rope needs."""
    if name == "truncate":
        return isinstance(value, bool)
    if name in ("long_factor", "short_factor"):
        return isinstance(value, list) and all(_is_number(number) and number > 0 for number in value)
    return _is_number(value) and (name != "original_max_position_embeddings" or value == int(value))


def _rope_kind(kinds: Sequence[Any]) -> RopeKind:
    for kind in get_args(RopeKind):
        if all(other == kind for other in kinds):
            return kind
    raise ConfigError(
        f"config field rope_type = {' and '.join(_short(kind) for kind in kinds)} is not supported; "
        f"supported: {', '.join(get_args(RopeKind))}."
    )


def _plain(value: Any) -> Any:
    return tuple(float(number) for number in value) if isinstance(value, list) else value


def _rope_to_hf(rope: Rope) -> dict[str, Any]:
    fields: dict[str, Any] = {"rope_type": rope.kind, "rope_theta": rope.theta}
    for name in (*REQUIRED[rope.kind], *OPTIONAL[rope.kind]):
        value = getattr(rope, name)
        if value is not None:
            fields[_ROPE_NAMES.get(name, name)] = list(value) if isinstance(value, tuple) else value
    return fields
