"""Models that a stranger made to hang a program or to fill its memory: each is refused in words, soon, in little."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attack_child import pages
from attacks import DEEP, LITTLE, NESTED, Arena, Harm, edited, endless, hole, pipe, written
from small_runs import make_model


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with Arena() as made:
        yield made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, an adapter on it, and a model of another family."""
    from foreign_models import folder_of

    from assay.policy import load_policy, save_policy
    from assay.policy.adapter_folder import put_on
    from assay.policy.lora import Lora
    from assay.rng import Key

    root = tmp_path_factory.mktemp("made")
    make_model(root / "model")
    adapter = put_on(load_policy(root / "model"), Lora(2, 4.0), place=str(root / "model"), key=Key(0))
    save_policy(adapter, root / "adapter")
    folder_of("gpt2", root / "other")
    return root


def header(length: int, text: bytes = b"") -> bytes:
    return length.to_bytes(8, "little") + text


def indexed(content: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(content)

    return harm


def swollen(folder: Path) -> None:
    """Weights of four terabytes that are all hole, and a config.json that fits them."""
    edited("config.json", vocab_size=2**36)(folder)
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    tensors = json.loads(raw[8 : 8 + length])
    end = max(entry["data_offsets"][1] for name, entry in tensors.items() if name != "__metadata__")
    size = 2**36 * 16 * 4
    tensors["model.embed_tokens.weight"] = {"dtype": "F32", "shape": [2**36, 16], "data_offsets": [end, end + size]}
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(header(len(text), text) + raw[8 + length :])
    os.truncate(path, 8 + len(text) + end + size)


def pattern(folder: Path) -> None:
    """A tokenizer that cuts texts where many nested repeats might end."""
    found = json.loads((folder / "tokenizer.json").read_text())
    found["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "([0-9 ]+[0-9 ]+)+y"}, "behavior": "Isolated", "invert": False},
            found["pre_tokenizer"],
        ],
    }
    (folder / "tokenizer.json").write_text(json.dumps(found))


TENSORS = "{" + ",".join(f'"t{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(400_000)) + "}"
FIT = "do not fit its config.json"
MODELS: dict[str, tuple[str, Harm, str]] = {  # which model, what is done to it, what is said
    "a billion layers": ("model", edited("config.json", num_hidden_layers=10**9), FIT),
    "2^40 layers": ("model", edited("config.json", num_hidden_layers=2**40), FIT),
    "a width of 2^40": ("model", edited("config.json", hidden_size=2**40), FIT),
    "2^40 tokens": ("model", edited("config.json", vocab_size=2**40), FIT),
    "a gated unit of 2^40": ("model", edited("config.json", intermediate_size=2**40), FIT),
    "2^40 heads": ("model", edited("config.json", num_attention_heads=2**40), FIT),
    "heads of 2^40": ("model", edited("config.json", head_dim=2**40), FIT),
    "a number of 5000 digits": (
        "model",
        lambda f: written("config.json", (f / "config.json").read_text().replace(": 16", ": 1" + "0" * 5000))(f),
        "cannot be read as JSON",
    ),
    "config.json nested": ("model", written("config.json", f'{{"a":{NESTED}}}'), "nested deeper than"),
    "config.json nested a little": ("model", edited("config.json", id2label=json.loads(DEEP)), "nested deeper than"),
    "config.json as a pipe": ("model", pipe("config.json"), "is a pipe"),
    "config.json without end": ("model", endless("config.json"), "is a device"),
    "config.json of a terabyte": ("model", hole("config.json", 1 << 40), "bytes; such a file has at most"),
    "generation_config.json as a pipe": ("model", pipe("generation_config.json"), "is a pipe"),
    "end tokens that are lists": ("model", written("generation_config.json", '{"eos_token_id":[[1]]}'), "a token id"),
    "tokenizer.json nested": ("model", written("tokenizer.json", f'{{"a":{NESTED}}}'), "cannot be read"),
    "tokenizer.json of 64 gigabytes": ("model", hole("tokenizer.json", 1 << 36), "at most 67,108,864"),
    "tokenizer_config.json as a pipe": ("model", pipe("tokenizer_config.json"), "is a pipe"),
    "tokenizer_config.json nested": ("model", written("tokenizer_config.json", f'{{"a":{NESTED}}}'), "nested deeper"),
    "special tokens that are numbers": (
        "model",
        edited("tokenizer_config.json", eos_token=5),
        "a special token must be",
    ),
    "added tokens in a list": ("model", edited("tokenizer_config.json", added_tokens_decoder=[1]), "must be an object"),
    "a template that is a number": ("model", edited("tokenizer_config.json", chat_template=5), "a chat template is"),
    "a template in no encoding": ("model", written("chat_template.jinja", b"\xff\xfe"), "is not UTF-8"),
    "settings of a conversation nested": ("model", written("assay_chat.json", f'{{"a":{NESTED}}}'), "nested deeper"),
    "settings of another program": ("model", written("assay_chat.json", '{"systom":1}'), "settings of a conversation"),
    "tools in a file elsewhere": (
        "model",
        written("assay_chat.json", '{"tools":"/etc/passwd"}'),
        "tools must be a JSON",
    ),
    "a header of 99 megabytes": (
        "model",
        written("model.safetensors", header(99_000_000, b"{}" + b" " * 98)),
        "99,000,",
    ),
    "a header of 2^63 bytes": ("model", written("model.safetensors", header(2**63, b"{}")), "its header would have"),
    "400,000 tensors": (
        "model",
        written("model.safetensors", header(len(TENSORS), TENSORS.encode())),
        "header would have",
    ),
    "weights of four terabytes of nothing": ("model", swollen, "model.safetensors"),
    "a pattern that tries for ever": ("model", pattern, "fails on a text"),
    "an index nested": ("model", indexed(f'{{"weight_map":{NESTED}}}'), "nested deeper than"),
    "an index of lists": ("model", indexed('{"weight_map":{"a":[1],"b":{}}}'), "is not an index"),
    "an adapter of rank 2^40": ("adapter", edited("adapter_config.json", r=2**40), "no tensor of"),
    "an adapter as a pipe": ("adapter", pipe("adapter_model.safetensors"), "has no adapter_model.safetensors"),
    "another family with a billion layers": ("other", edited("config.json", n_layer=10**9), FIT),
    "another family with 2^34 tokens": ("other", edited("config.json", vocab_size=2**34), FIT),
    "another family with a unit of 2^40": ("other", edited("config.json", n_inner=2**40), FIT),
    "another family of words": ("other", edited("config.json", n_embd="wide"), "transformers could not load"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS)
def test_a_model_that_is_an_attack_is_refused(case: str, made: Path, tmp_path: Path, arena: Arena) -> None:
    which, harm, words = MODELS[case]
    shutil.copytree(made / which, tmp_path / "model")
    harm(tmp_path / "model")
    arena.refused("sample", tmp_path / "model", "3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6", "--max-new", 2, words=words)


@pytest.mark.slow
def test_a_context_of_2_to_40_costs_no_memory(made: Path, tmp_path: Path, arena: Arena) -> None:
    """The weights say nothing of it, so that it may be true: only what rows need is held."""
    shutil.copytree(made / "model", tmp_path / "model")
    edited("config.json", max_position_embeddings=2**40)(tmp_path / "model")
    found = arena("sample", tmp_path / "model", "3 4 5", "--max-new", 2)
    assert found.code == 0 and found.grew_mb < LITTLE, found


TEMPLATES = {
    "loops": ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "took longer than"),
    "a long text": ("{{ 'a' * 10**10 }}", "wanted more than"),
    "doubling": ("{% set x = 'a' * 1000 %}" + "{% set x = x ~ x %}" * 40 + "{{ x }}", "wanted more than"),
    "squares": ("{% set x = 10 ** 1000 %}" + "{% set x = x * x %}" * 40 + "{{ x }}", "took longer than"),
    "a join": ("{{ (['a' * 1000] * 100000) | join('b' * 100000) }}", "and was stopped"),  # by either limit
    "a format": ("{{ '%1000000000d' % 1 }}", "wanted more than"),
    "an indent": ("{{ messages | tojson(indent=1000000000) }}", "wanted more than"),
    "much text": ("{% for a in range(90000) %}{{ 'abcdefghij' * 1000 }}{% endfor %}", "wanted more than"),
    "more text than a prompt has": ("{{ 'a' * 5000000 }}", "writes 5,000,000 characters"),
    "a call of itself": ("{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}", "RecursionError"),
    "brackets": ("{{ " + "(" * 200_000 + "1" + ")" * 200_000 + " }}", "RecursionError"),
    "a division by zero": ("{{ 1 / 0 }}", "failed: ZeroDivisionError: division by zero"),
    "a range": ("{{ range(10**9) | list }}", "failed: OverflowError"),
    "a key": ("{{ {}['a']['b'] }}", "refused these messages"),
    "a word and a number": ("{{ 'x' | int + 'y' }}", "refused these messages"),
    "what is private": ("{{ ''.__class__.__mro__ }}", "is unsafe"),
    "no template": ("{% for %}", "Expected an expression"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TEMPLATES)
def test_a_template_that_is_an_attack_is_refused_by_name(case: str, made: Path, tmp_path: Path, arena: Arena) -> None:
    template, words = TEMPLATES[case]
    shutil.copytree(made / "model", tmp_path / "model")
    edited("tokenizer_config.json", chat_template=template)(tmp_path / "model")
    found = arena.refused("sample", tmp_path / "model", "3 4 5", "--max-new", 2, words=words, code=64)
    assert f"the chat template of {tmp_path / 'model'} " in found.told


def test_a_child_sees_its_own_size() -> None:
    """Without this number no attack could be seen to take memory."""
    assert 0 < pages("VmRSS") <= pages("VmHWM") and pages("VmSize") > pages("VmRSS")


ODD_VALUES = ["x", [1], [[1]], {}, {"a": 1}, True, None, -1, 0, 2**70, float("inf"), float("nan"), 1e300, ""]


def fields() -> list[str]:
    from assay.policy.hf_config import _METADATA, _NEUTRAL, _USED  # every name that may stand in a config.json

    return sorted({*_USED, *_METADATA, *_NEUTRAL, "attention_bias", "sliding_window"})


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_whatever_stands_in_a_config_is_understood_or_refused(family: str, made: Path) -> None:
    """Wherever it stands, in the rope's own fields too; nothing but a ConfigError comes out."""
    from assay.errors import ConfigError
    from assay.policy import config_from_hf, config_to_hf
    from assay.policy.config import PolicyConfig, parameters

    qwen2, qwen3 = family == "qwen2", family == "qwen3"
    shape = PolicyConfig(family, 32, 16, 1, 2, 2, 8, 32, 64, attention_bias=qwen2, qk_norm=qwen3)  # type: ignore[arg-type]
    plain = config_to_hf(shape)
    ropes = [
        {"rope_type": kind, "factor": 2.0, "original_max_position_embeddings": 32, name: value}
        for kind in ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
        for name in ("rope_type", "factor", "original_max_position_embeddings", "long_factor", "truncate", "beta_fast")
        for value in ODD_VALUES
    ]
    changes = [{name: value} for name in fields() for value in ODD_VALUES]
    changes += [{"rope_parameters": None, "rope_scaling": rope} for rope in ropes]
    for change in changes:
        try:
            found = config_from_hf({**plain, **change})
        except ConfigError:
            continue
        assert parameters(found) > 0
