"""config.json <-> PolicyConfig: spellings, round trips, and refusal of what is not understood."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig

from assay.errors import ConfigError
from assay.policy import PolicyConfig, Rope, config_from_hf, config_to_hf
from assay.policy.config import RopeKind

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009],
    "head_dim": 64,
    "hidden_act": "silu",
    "hidden_size": 2048,
    "initializer_range": 0.02,
    "intermediate_size": 8192,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 32,
    "num_hidden_layers": 16,
    "num_key_value_heads": 8,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 32.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.45.0.dev0",
    "use_cache": True,
    "vocab_size": 128256,
}
QWEN2: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "hidden_act": "silu",
    "hidden_size": 896,
    "initializer_range": 0.02,
    "intermediate_size": 4864,
    "max_position_embeddings": 32768,
    "max_window_layers": 21,
    "model_type": "qwen2",
    "num_attention_heads": 14,
    "num_hidden_layers": 24,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.43.1",
    "use_cache": True,
    "use_mrope": False,
    "use_sliding_window": False,
    "vocab_size": 151936,
}
QWEN3: dict[str, Any] = QWEN2 | {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "head_dim": 128,
    "model_type": "qwen3",
    "rope_scaling": None,
    "sliding_window": None,
}


def test_llama_as_transformers_4_writes_it() -> None:
    rope = Rope("llama3", 500000.0, 32.0, 8192, low_freq_factor=1.0, high_freq_factor=4.0)
    assert config_from_hf(LLAMA) == PolicyConfig(
        "llama", 128256, 2048, 16, 32, 8, 64, 8192, 131072, rope, norm_eps=1e-5, tied=True
    )


def test_qwen2_has_biases_that_its_file_does_not_mention() -> None:
    assert config_from_hf(QWEN2) == PolicyConfig(
        "qwen2", 151936, 896, 24, 14, 2, 64, 4864, 32768, Rope(theta=1e6), tied=True, attention_bias=True
    )


def test_qwen3_has_query_key_norms_and_its_own_head_size() -> None:
    assert config_from_hf(QWEN3) == PolicyConfig(
        "qwen3", 151936, 896, 24, 14, 2, 128, 4864, 32768, Rope(theta=1e6), tied=True, qk_norm=True
    )


def test_an_old_llama_file_without_key_value_heads_has_as_many_as_heads() -> None:
    old = {name: value for name, value in LLAMA.items() if name not in ("num_key_value_heads", "head_dim")}
    config = config_from_hf(old)
    assert (config.kv_heads, config.head_dim) == (32, 64)


@pytest.mark.parametrize(
    "spelling",
    [
        {"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}},
        {"rope_theta": 5e5, "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
        {
            "rope_scaling": {"type": "linear", "factor": 2.0},
            "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5, "partial_rotary_factor": 1.0},
        },
    ],
)
def test_every_spelling_of_one_rope_is_one_rope(spelling: dict[str, Any]) -> None:
    base = {name: value for name, value in LLAMA.items() if not name.startswith("rope")}
    assert config_from_hf(base | spelling).rope == Rope("linear", 5e5, 2.0)


def test_original_context_and_factor_have_the_defaults_of_transformers() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0}
    assert config_from_hf(QWEN2 | {"rope_scaling": yarn}).rope.original_context == 32768
    yarn = {"rope_type": "yarn", "original_max_position_embeddings": 8192}
    assert config_from_hf(QWEN2 | {"rope_scaling": yarn}).rope.factor == 4.0
    outside = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}, "original_max_position_embeddings": 4096}
    assert config_from_hf(QWEN2 | outside).rope.original_context == 4096


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"model_type": "mistral"}, 'model_type = "mistral" is not supported; supported: llama, qwen2, qwen3'),
    ({"architectures": ["LlamaForSequenceClassification"]}, "architectures = .* supported: LlamaForCausalLM"),
    ({"attention_sinks": 4}, "attention_sinks = 4 is not understood"),
    ({"hidden_act": "gelu"}, 'hidden_act = "gelu" is not supported; supported: "silu"'),
    ({"pretraining_tp": 2}, "pretraining_tp = 2 is not supported; supported: 1 or absent"),
    ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5 is not supported"),
    ({"attention_dropout": 0.1}, "attention_dropout = 0.1 is not supported; supported: 0"),
    ({"sliding_window": 4096}, "sliding_window = 4096 is not supported; supported: absent"),
    ({"quantization_config": {"bits": 4}}, "quantization_config = .* is not supported; supported: absent"),
    ({"auto_map": {"AutoModel": "x.py"}}, "auto_map = .* is not supported"),
    ({"rope_interleaved": True}, "rope_interleaved = true is not supported; supported: false"),
    ({"rope_scaling": {"rope_type": "su", "factor": 2.0}}, 'rope_type = "su" is not supported; supported: default'),
    ({"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2.0}}, "rope_type = .* is not supported"),
    ({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "mrope_section": [1]}}, r"mrope_section = \[1\] is not"),
    ({"rope_scaling": {"rope_type": "linear", "factor": "2"}}, 'factor = "2" is not understood'),
    ({"rope_scaling": "linear"}, 'rope_scaling = "linear" must be an object'),
    ({"rope_scaling": {"type": "linear", "factor": 2.0, "partial_rotary_factor": 0.5}}, "partial_rotary_factor = 0.5"),
    ({"rope_scaling": {"type": "linear", "factor": 2.0, "rope_theta": 3.0}}, "rope_theta = 500000.0 contradicts 3.0"),
    ({"rope_scaling": {"type": "linear", "factor": 2.0}, "original_max_position_embeddings": 4}, "is not understood"),
    ({"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "rope_scaling = .* and rope_parameters = .* contrad"),
    ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "full_attention = .* is not understood"),
    ({"layer_types": ["sliding_attention"] * 16}, "layer_types holds sliding_attention; supported: full_attention"),
    ({"layer_types": ["full_attention"] * 3}, "layer_types has 3 entries for num_hidden_layers = 16"),
    ({"vocab_size": None}, "config.json has no vocab_size"),
    ({"hidden_size": 2048.0}, "hidden_size = 2048.0 must be a whole number"),
    ({"num_key_value_heads": 5}, r"heads \(32\) must be a multiple of kv_heads \(5\)"),
    ({"head_dim": 63}, "head_dim must be even"),
    ({"num_hidden_layers": 0}, "layers must be at least 1, not 0"),
    ({"hidden_size": 2050}, r"hidden \(2050\) to be a multiple of heads \(32\)"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSALS, ids=lambda value: str(value)[:40])
def test_what_is_not_understood_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_from_hf(LLAMA | changes)


@pytest.mark.parametrize("family", [QWEN2, QWEN3], ids=["qwen2", "qwen3"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_sliding_window": True}, "use_sliding_window = true is not supported; supported: false or absent"),
        ({"mlp_bias": True}, "mlp_bias = true is not supported; supported: false"),
        ({"use_mrope": True}, "use_mrope = true is not supported"),
        ({"num_key_value_heads": None, "hidden_act": "relu"}, "hidden_act"),
    ],
)
def test_qwen_refusals(family: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_from_hf(family | changes)


def test_qwen2_cannot_be_without_its_biases_and_must_count_its_key_value_heads() -> None:
    with pytest.raises(ConfigError, match="attention_bias = false is not supported; supported: true or absent"):
        config_from_hf(QWEN2 | {"attention_bias": False})
    with pytest.raises(ConfigError, match=r"config\.json has no num_key_value_heads"):
        config_from_hf({name: value for name, value in QWEN2.items() if name != "num_key_value_heads"})


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("qwen3", {}, "qk_norm must be True"),
        ("qwen2", {}, "attention_bias must be True"),
        ("llama", {"attention_bias": True}, "output_bias must be True"),
        ("llama", {"qk_norm": True}, "qk_norm must be False"),
        ("gpt2", {}, "family 'gpt2' is not one of"),
    ],
)
def test_a_shape_that_no_file_can_express_is_refused(family: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PolicyConfig(family, 31, 32, 2, 4, 2, 8, 40, 64, **changes)


def ropes(head_dim: int) -> st.SearchStrategy[Rope]:
    number = st.floats(1.0, 64.0)
    factors = st.tuples(*[number] * (head_dim // 2))
    common = {"theta": st.floats(10.0, 1e6), "factor": number}
    original = {"original_context": st.integers(16, 4096)}
    optional = {name: st.none() | number for name in ("beta_fast", "beta_slow", "mscale", "attention_factor")}
    fields: dict[str, dict[str, Any]] = {
        "default": {"theta": common["theta"]},
        "linear": common,
        "dynamic": common,
        "yarn": common | original | optional | {"truncate": st.none() | st.booleans()},
        "llama3": common | original | {"low_freq_factor": st.floats(0.5, 2.0), "high_freq_factor": st.floats(3.0, 8.0)},
        "longrope": common | original | {"long_factor": factors, "short_factor": factors},
    }
    assert set(fields) == set(get_args(RopeKind))
    return st.sampled_from(sorted(fields)).flatmap(lambda kind: st.builds(Rope, kind=st.just(kind), **fields[kind]))


@st.composite
def configs(draw: st.DrawFn) -> PolicyConfig:
    family: Any = draw(st.sampled_from(["llama", "qwen2", "qwen3"]))
    heads, group, head_dim = draw(st.integers(1, 4)), draw(st.integers(1, 3)), 2 * draw(st.integers(2, 5))
    bias = draw(st.booleans())
    biases = {
        "llama": {"attention_bias": bias, "output_bias": bias, "mlp_bias": draw(st.booleans())},
        "qwen2": {"attention_bias": True},
        "qwen3": {"attention_bias": bias, "output_bias": bias, "qk_norm": True},
    }
    return PolicyConfig(
        family=family,
        vocab=draw(st.integers(2, 99)),
        hidden=heads * group * draw(st.integers(1, 9)),
        layers=draw(st.integers(1, 3)),
        heads=heads * group,
        kv_heads=heads,
        head_dim=head_dim,
        ffn=draw(st.integers(1, 50)),
        context=draw(st.integers(1, 9999)),
        rope=draw(ropes(head_dim)),
        norm_eps=draw(st.sampled_from([1e-5, 1e-6])),
        tied=draw(st.booleans()),
        init_std=draw(st.floats(0.001, 1.0)),
        **biases[family],
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(config=configs())
def test_writing_and_reading_gives_the_same_shape(config: PolicyConfig) -> None:
    assert config_from_hf(config_to_hf(config)) == config


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(config=configs())
def test_transformers_reads_what_is_written_and_its_own_writing_is_the_same_shape(config: PolicyConfig) -> None:
    written = config_to_hf(config)
    theirs = AutoConfig.for_model(**written).to_dict()
    assert config_from_hf(theirs) == config


def test_metadata_cannot_override_the_function() -> None:
    config = config_from_hf(LLAMA)
    assert config_to_hf(config, extra={"eos_token_id": [7]})["eos_token_id"] == [7]
    with pytest.raises(ConfigError, match="not hidden_size"):
        config_to_hf(config, extra={"hidden_size": 3})
    with pytest.raises(ConfigError, match="not invented"):
        config_to_hf(config, extra={"invented": 3})
