"""Folders in the Hugging Face layout: bit-exact round trips, what transformers makes of them, and refusals."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer
from typed import as_our_config, as_ours

from assay.errors import AssayError, ConfigError, DataError, EndpointError, StorageError
from assay.policy import Policy, PolicyConfig, Rope, character_tokenizer, fresh_policy, load_policy, save_policy
from assay.rng import Key

SHAPES: dict[str, dict[str, Any]] = {
    "llama": {"family": "llama", "attention_bias": True, "output_bias": True, "mlp_bias": True, "tied": False},
    "qwen2": {"family": "qwen2", "attention_bias": True, "rope": Rope("yarn", factor=4.0, original_context=16)},
    "qwen3": {"family": "qwen3", "qk_norm": True, "head_dim": 10, "rope": Rope("dynamic", factor=2.0)},
}
TOKENIZER = character_tokenizer("0123456789+-=")


def policy(name: str = "qwen3", seed: int = 0) -> Policy:
    sizes = {"vocab": 20, "hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 8, "ffn": 40, "context": 64}
    fresh = fresh_policy(PolicyConfig(**{**sizes, **SHAPES[name]}), TOKENIZER, key=Key(seed, "test"))
    with torch.no_grad():  # no tensor may keep a value that a fresh module has by itself
        generator = torch.Generator().manual_seed(seed)
        for parameter in fresh.network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return fresh


def same_bits(one: Policy, other: Policy) -> None:
    first, second = one.network.state_dict(), other.network.state_dict()
    assert list(first) == list(second)
    for name, tensor in first.items():
        assert tensor.dtype == second[name].dtype
        assert torch.equal(tensor, second[name]), name


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("shard", [10**9, 6000, 1], ids=["one-file", "shards", "shard-per-tensor"])
def test_round_trip_is_bit_for_bit(name: str, shard: int, tmp_path: Path) -> None:
    original = policy(name)
    save_policy(original, tmp_path, max_shard_bytes=shard)
    loaded = load_policy(tmp_path)
    same_bits(original, loaded)
    assert loaded.config == original.config
    assert loaded.end_ids == original.end_ids == frozenset({2})
    files = sorted(tmp_path.glob("*.safetensors"))
    tensors = len(dict(original.network.named_parameters()))
    assert len(files) == {10**9: 1, 1: tensors}.get(shard, len(files))
    if shard == 6000:
        assert 1 < len(files) < tensors
        assert all(len(load_file(f)) == 1 or sum(t.nbytes for t in load_file(f).values()) <= shard for f in files)


@pytest.mark.parametrize("name", SHAPES)
def test_transformers_loads_what_is_saved(name: str, tmp_path: Path) -> None:
    original = policy(name)
    save_policy(original, tmp_path, max_shard_bytes=6000)
    loaded: Any = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    model, report = loaded
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    for key, tensor in original.network.state_dict().items():
        assert torch.equal(model.state_dict()[key], tensor), key
    assert (model.lm_head.weight is model.model.embed_tokens.weight) == as_our_config(original.config).tied
    assert model.generation_config.eos_token_id == 2
    assert model.config.pad_token_id == 0
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    assert theirs("12+3=", add_special_tokens=False)["input_ids"] == TOKENIZER.encode("12+3=").tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_what_transformers_saves_is_loaded(name: str, tmp_path: Path) -> None:
    original = policy(name)
    save_policy(original, tmp_path / "ours")
    AutoModelForCausalLM.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    loaded = load_policy(tmp_path / "theirs")
    same_bits(original, loaded)
    assert loaded.config == original.config
    assert loaded.codec.render("1+2").tolist() == TOKENIZER.render("1+2").tolist()


@pytest.mark.slow
def test_saving_again_copies_tokenizer_and_generation_files_untouched(tmp_path: Path) -> None:
    save_policy(policy(), tmp_path / "a")
    generation = {"eos_token_id": [5, 2], "temperature": 0.6, "transformers_version": "4.51.0"}
    (tmp_path / "a" / "generation_config.json").write_text(json.dumps(generation))
    text = (tmp_path / "a" / "tokenizer.json").read_text()
    (tmp_path / "a" / "tokenizer.json").write_text(json.dumps(json.loads(text), indent=7) + "\n\n")
    loaded = load_policy(tmp_path / "a")
    assert loaded.end_ids == frozenset({2, 5})
    shutil.copytree(tmp_path / "a", tmp_path / "kept")
    shutil.rmtree(tmp_path / "a")
    save_policy(loaded, tmp_path / "b")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "kept" / name).read_bytes()
    assert json.loads((tmp_path / "b" / "generation_config.json").read_text()) == generation
    assert load_policy(tmp_path / "b").end_ids == frozenset({2, 5})


def test_end_tokens_come_from_all_three_files(tmp_path: Path) -> None:
    save_policy(policy(), tmp_path)
    edit(tmp_path / "config.json", eos_token_id=[3, 7])
    edit(tmp_path / "generation_config.json", eos_token_id=9)
    assert load_policy(tmp_path).end_ids == frozenset({2, 3, 7, 9})


def test_trained_weights_are_saved_in_place_of_the_policys_own(tmp_path: Path) -> None:
    original, trained = policy("llama", 0), policy("llama", 1)
    save_policy(original, tmp_path, weights=dict(trained.network.named_parameters()))
    same_bits(load_policy(tmp_path), trained)
    save_policy(policy("qwen2", 0), tmp_path, weights=policy("qwen2", 1).network.state_dict())
    same_bits(load_policy(tmp_path), policy("qwen2", 1))


def test_a_smaller_save_leaves_no_shard_of_the_larger_one(tmp_path: Path) -> None:
    save_policy(policy(seed=1), tmp_path, max_shard_bytes=1)
    save_policy(policy(seed=2), tmp_path)
    assert [file.name for file in tmp_path.glob("model*")] == ["model.safetensors"]
    same_bits(load_policy(tmp_path), policy(seed=2))
    save_policy(policy(seed=1), tmp_path, max_shard_bytes=1)
    assert not (tmp_path / "model.safetensors").exists()
    same_bits(load_policy(tmp_path), policy(seed=1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_stored_types_become_fp32_masters_unless_told_otherwise(dtype: torch.dtype, tmp_path: Path) -> None:
    original = policy()
    save_policy(original, tmp_path, dtype=dtype)
    assert json.loads((tmp_path / "config.json").read_text())["torch_dtype"] == str(dtype).removeprefix("torch.")
    masters, stored = load_policy(tmp_path), load_policy(tmp_path, dtype=dtype)
    for name, tensor in original.network.named_parameters():
        assert torch.equal(masters.network.get_parameter(name), tensor.to(dtype).float())
        assert torch.equal(stored.network.get_parameter(name), tensor.to(dtype))


def test_fresh_weights_are_a_function_of_the_key() -> None:
    config = as_our_config(policy().config)
    one, two, other = (fresh_policy(config, TOKENIZER, key=Key(seed, "base")) for seed in (1, 1, 2))
    same_bits(one, two)
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    assert all(not torch.equal(a, b) for a, b in pairs if a.ndim == 2)
    model = as_ours(one.network)
    spread = model.model.embed_tokens.weight.std().item()
    assert spread == pytest.approx(config.init_std, rel=0.15)
    assert model.lm_head.weight is model.model.embed_tokens.weight


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def retensor(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def reindex(folder: Path, place: str) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"model.norm.weight": place}}))


def rename(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.layers.9.oops"] = tensors.pop("model.norm.weight")


def poison(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.layers.1.mlp.up_proj.weight"][3, 4] = float("nan")


def pickle_instead(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def flip_header(folder: Path) -> None:
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[9] ^= 0x40
    (folder / "model.safetensors").write_bytes(data)


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


WRONG: list[tuple[Callable[[Path], Any], type[AssayError], str]] = [
    (lambda f: (f / "config.json").unlink(), StorageError, r"has no config\.json"),
    (lambda f: (f / "config.json").write_text("{"), StorageError, r"config\.json cannot be read as JSON"),
    (lambda f: (f / "config.json").write_text("[]"), StorageError, r"config\.json must hold a JSON object, not list"),
    (lambda f: (f / "tokenizer.json").unlink(), StorageError, r"has no tokenizer\.json.*convert one"),
    (lambda f: (f / "tokenizer.json").write_text("{}"), StorageError, r"tokenizer\.json cannot be read"),
    (lambda f: (f / "tokenizer_config.json").write_text("{"), StorageError, r"tokenizer_config\.json is not JSON"),
    (
        lambda f: (f / "model.safetensors").unlink(),
        StorageError,
        r"neither model\.safetensors nor model\.safetensors\.i",
    ),
    (pickle_instead, StorageError, r"pytorch_model\.bin but no model\.safetensors. Pickled weights can run code"),
    (flip_header, StorageError, r"model\.safetensors is damaged"),
    (cut, StorageError, r"model\.safetensors is damaged"),
    (lambda f: reindex(f, "../model.safetensors"), StorageError, r"'\.\./model\.safetensors', which is outside"),
    (lambda f: reindex(f, "/etc/model.safetensors"), StorageError, "outside its folder"),
    (lambda f: reindex(f, "C:\\model.safetensors"), StorageError, "outside its folder"),
    (lambda f: reindex(f, "..\\model.safetensors"), StorageError, "outside its folder"),
    (lambda f: reindex(f, "pytorch_model.bin"), StorageError, r"only \.safetensors files are read"),
    (lambda f: reindex(f, "model-00001-of-00002.safetensors"), StorageError, "lacks model-00001-of-00002.safetensors"),
    (lambda f: (f / "model.safetensors.index.json").write_text("{}"), StorageError, "is not an index"),
    (
        lambda f: retensor(f, rename),
        DataError,
        r"missing tensors: model\.norm\.weight; unexpected .*: model\.layers\.9",
    ),
    (lambda f: retensor(f, poison), DataError, r"not finite as torch\.float32: model\.layers\.1\.mlp\.up_proj\.weight"),
    (
        lambda f: retensor(f, lambda t: t.update({"model.norm.weight": torch.ones(31)})),
        DataError,
        r"wrong shapes: model\.norm\.weight is \[31\], expected \[32\]",
    ),
    (
        lambda f: retensor(f, lambda t: t.update({"model.norm.weight": torch.ones(32, dtype=torch.int32)})),
        DataError,
        r"no floats: model\.norm\.weight is I32",
    ),
    (
        lambda f: retensor(f, lambda t: t.update({"lm_head.weight": torch.ones(20, 32)})),
        DataError,
        r"tie_word_embeddings, but lm_head\.weight is not model\.embed_tokens\.weight",
    ),
    (lambda f: edit(f / "config.json", tie_word_embeddings=False), DataError, r"missing tensors: lm_head\.weight"),
    (lambda f: edit(f / "config.json", novelty=1), ConfigError, "novelty = 1 is not understood"),
    (lambda f: edit(f / "config.json", vocab_size=10), ConfigError, "the tokenizer has 17 tokens, the model embeds 10"),
    (lambda f: edit(f / "generation_config.json", eos_token_id=99), DataError, "token id 99 is not in the vocabulary"),
]


@pytest.mark.parametrize(("damage", "error", "message"), WRONG, ids=[message[:30] for _, _, message in WRONG])
def test_a_folder_that_cannot_be_trusted_is_refused(
    damage: Callable[[Path], Any], error: type[AssayError], message: str, tmp_path: Path
) -> None:
    save_policy(policy(), tmp_path)
    load_policy(tmp_path)
    damage(tmp_path)
    with pytest.raises(error, match=message):
        load_policy(tmp_path)


def test_a_tensor_in_two_shards_is_refused(tmp_path: Path) -> None:
    save_policy(policy(), tmp_path, max_shard_bytes=6000)
    first, second = sorted(tmp_path.glob("model-*.safetensors"))[:2]
    save_file(load_file(first) | load_file(second), second)
    with pytest.raises(StorageError, match=f"is in {first.name} and in {second.name}"):
        load_policy(tmp_path)


def test_weights_that_are_not_finite_load_when_forced(tmp_path: Path) -> None:
    save_policy(policy(), tmp_path)
    retensor(tmp_path, poison)
    loaded = load_policy(tmp_path, allow_nonfinite=True)
    assert loaded.network.get_parameter("model.layers.1.mlp.up_proj.weight")[3, 4].isnan()


def test_copies_and_derived_tensors_of_old_files_are_accepted(tmp_path: Path) -> None:
    save_policy(policy(), tmp_path)
    head = as_ours(policy().network).lm_head.weight.detach().clone()
    inverse = torch.ones(5)
    retensor(
        tmp_path,
        lambda t: t.update({"lm_head.weight": head, "model.layers.0.self_attn.rotary_emb.inv_freq": inverse}),
    )
    same_bits(load_policy(tmp_path), policy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("model.norm.weight"), r"model\.norm\.weight is missing"),
        (lambda w: w.update(extra=torch.ones(1)), "extra is unexpected"),
        (lambda w: w.update({"model.norm.weight": torch.ones(3)}), r"model\.norm\.weight is \[3\], expected \[32\]"),
    ],
)
def test_weights_of_another_model_are_not_saved(change: Callable[[dict], Any], message: str, tmp_path: Path) -> None:
    weights = policy().network.state_dict()
    change(weights)
    with pytest.raises(DataError, match=message):
        save_policy(policy(), tmp_path / "x", weights=weights)
    assert not (tmp_path / "x").exists()


def test_places_where_nothing_can_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no folder"):
        load_policy(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="there is no folder"):
        load_policy("nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="could not be written to"):
        save_policy(policy(), tmp_path / "file")
    with pytest.raises(DataError, match="max_shard_bytes must be at least 1, not 0"):
        save_policy(policy(), tmp_path, max_shard_bytes=0)


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused() -> None:
    small = dataclasses.replace(as_our_config(policy().config), vocab=16)
    with pytest.raises(ConfigError, match="the tokenizer has 17 tokens, the model embeds 16"):
        fresh_policy(small, TOKENIZER, key=Key(0))


def test_a_hub_id_is_downloaded_and_its_failure_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    save_policy(policy(), tmp_path)
    asked: list[tuple[str, list[str]]] = []

    def give(name: str, *, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", give)
    same_bits(load_policy("owner/name"), policy())
    ((name, patterns),) = asked
    assert name == "owner/name"
    assert "config.json" in patterns
    assert not any(pattern.endswith((".bin", "*")) for pattern in patterns)

    def fail(name: str, *, allow_patterns: list[str]) -> str:
        raise LocalEntryNotFoundError("no network here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(EndpointError, match=r"no folder owner/name.*no network here"):
        load_policy("owner/name")


@pytest.mark.slow
def test_the_package_imports_without_torch() -> None:
    code = "import sys, assay.policy; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
