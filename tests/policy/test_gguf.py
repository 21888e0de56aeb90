"""GGUF files: numbers to the bit, the order of rows, the tokenizer, and files that are torn or made to do harm."""

from __future__ import annotations

import dataclasses
import json
import os
import struct
from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
import pytest
import safetensors.numpy
from gguf_files import FORMS, SPECIALS, File, Tensor, model, text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_runs import ROOT, program

from assay.errors import AssayError, ConfigError, DataError, StorageError
from assay.lab.sample import sample
from assay.policy import gguf, load_policy, load_tokenizer, save_policy
from assay.policy.gguf import convert, shape_of, weights
from assay.policy.gguf_file import HEADER, read_gguf
from assay.policy.gguf_tokenizer import GgufTokenizer
from assay.policy.provenance import FILE, Provenance, provenance_of
from assay.policy.tokenizer import Tokenizer, tokenizer_from_files

halves = st.integers(0, 2 * 0x7C00 - 1).map(  # every finite number of 16 bits, none of which has to be drawn again
    lambda n: struct.unpack("<e", struct.pack("<H", n if n < 0x7C00 else n - 0x7C00 + 0x8000))[0]
)
UNICODE = st.text(st.characters(exclude_categories=["Cs"]))


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def single(number: float) -> float:
    """The nearest number of fp32."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def alone(one: Tensor, folder: Path) -> np.ndarray:
    path = File({}, {"w": one}).write(folder / "one.gguf")
    return read_gguf(path).numbers("w")


# Numbers, by the formula of each type in double precision, in which all products and sums here are exact


@given(d=halves, m=halves, packed=st.binary(min_size=16, max_size=16))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_of_four_bits(d: float, m: float, packed: bytes, tmp_path: Path) -> None:
    wholes = [byte & 15 for byte in packed] + [byte >> 4 for byte in packed]
    shifted = alone(Tensor((1, 32), "Q4_0", struct.pack("<e", d) + packed), tmp_path)
    assert shifted.tolist() == [[single(d * (whole - 8)) for whole in wholes]]
    raised = alone(Tensor((1, 32), "Q4_1", struct.pack("<ee", d, m) + packed), tmp_path)
    assert raised.tolist() == [[single(d * whole + m) for whole in wholes]]


@given(d=halves, wholes=st.lists(st.integers(-128, 127), min_size=32, max_size=32))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_of_eight_bits(d: float, wholes: list[int], tmp_path: Path) -> None:
    found = alone(Tensor((32,), "Q8_0", struct.pack("<e32b", d, *wholes)), tmp_path)
    assert found.tolist() == [single(d * whole) for whole in wholes]


@given(numbers=st.lists(halves, min_size=6, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_that_are_not_quantised(numbers: list[float], tmp_path: Path) -> None:
    for kind, form in (("F32", "<6f"), ("F16", "<6e")):
        found = alone(Tensor((2, 3), kind, struct.pack(form, *numbers)), tmp_path)
        assert found.tolist() == [numbers[:3], numbers[3:]] and found.dtype == np.float32


def test_blocks_follow_each_other_along_the_rows(tmp_path: Path) -> None:
    blocks = [struct.pack("<e32b", 1.0, *([place] * 32)) for place in range(6)]
    found = alone(Tensor((3, 64), "Q8_0", b"".join(blocks)), tmp_path)
    assert found.shape == (3, 64) and found[:, ::32].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_many_blocks_are_computed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = gguf_files.tensor((11, 96), "Q4_1", 3)
    whole = alone(one, tmp_path)
    monkeypatch.setattr("assay.policy.gguf_file.CHUNK", 4)
    assert np.array_equal(alone(one, tmp_path), whole)


@pytest.mark.parametrize("scale", [float("inf"), float("nan")])
def test_numbers_that_are_not_finite_are_refused(scale: float, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="tensor w holds numbers that are not finite"):
        alone(Tensor((32,), "Q4_0", struct.pack("<e", scale) + bytes(16)), tmp_path)


# Metadata


@pytest.mark.slow
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_type_of_the_metadata_is_read(data: st.DataObject, tmp_path: Path) -> None:
    values: dict[str, Any] = {"bool": st.booleans(), "f32": halves, "f64": st.floats(allow_nan=False)}
    values |= {f"u{size}": st.integers(0, 2**size - 1) for size in (8, 16, 32, 64)}
    values |= {f"i{size}": st.integers(-(2 ** (size - 1)), 2 ** (size - 1) - 1) for size in (8, 16, 32, 64)}
    fields = {form: (form, data.draw(values[form])) for form in FORMS}
    fields |= {f"list {form}": (f"list:{form}", data.draw(st.lists(values[form], max_size=3))) for form in FORMS}
    fields |= {"text": ("text", data.draw(UNICODE)), "texts": ("list:text", data.draw(st.lists(UNICODE, max_size=3)))}
    for version in (2, 3):
        found = read_gguf(File(fields, {}, version=version).write(tmp_path / "fields.gguf")).metadata
        for name, (form, value) in fields.items():
            came = found[name].tolist() if isinstance(found[name], np.ndarray) else found[name]
            expected = float(np.format_float_positional(np.float32(value))) if form == "f32" else value
            assert came == expected, name


def test_a_single_number_is_the_shortest_decimal_that_means_it(tmp_path: Path) -> None:
    file = read_gguf(model().write(tmp_path / "m.gguf"))
    assert shape_of(file).norm_eps == 1e-5 and shape_of(file).rope.theta == 1e5


def test_another_alignment(tmp_path: Path) -> None:
    plain, wide = model(), dataclasses.replace(model().having(general__alignment=("u32", 256)), alignment=256)
    one, other = read_gguf(plain.write(tmp_path / "a.gguf")), read_gguf(wide.write(tmp_path / "b.gguf"))
    assert all(stored.start % 256 == 0 for stored in other.tensors.values())
    assert all(np.array_equal(one.numbers(name), other.numbers(name)) for name in one.tensors)


# The order of rows


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_rows_of_queries_and_keys_stand_as_the_folder_wants_them(family: str, tmp_path: Path) -> None:
    """Row 2 i + j of a head in a file of llama is row i + j dim / 2 of a folder's; other matrices stay as they are."""
    file = read_gguf(model(family, kind="F32").write(tmp_path / "m.gguf"))
    config = shape_of(file)
    found = dict(weights(file, config))
    for name, heads in (("q", 4), ("k", 2)):
        theirs, ours = file.numbers(f"blk.0.attn_{name}.weight"), found[f"model.layers.0.self_attn.{name}_proj.weight"]
        for head in range(heads):
            for i in range(4):
                for j in range(2):
                    place = 8 * head + (2 * i + j if family == "llama" else i + 4 * j)
                    assert np.array_equal(ours[8 * head + i + 4 * j], theirs[place]), (name, head, i, j)
    assert np.array_equal(found["model.layers.0.self_attn.v_proj.weight"], file.numbers("blk.0.attn_v.weight"))
    assert np.array_equal(found["model.layers.0.self_attn.o_proj.weight"], file.numbers("blk.0.attn_output.weight"))


# Folders


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0", "Q4_0", "Q4_1"])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_a_folder_loads_and_answers(family: str, kind: str, tmp_path: Path) -> None:
    path = model(family, kind=kind, pre="qwen2" if family == "qwen2" else "smollm").write(tmp_path / "m.gguf")
    convert(path, tmp_path / "m")
    policy = load_policy(tmp_path / "m")
    assert policy.config == shape_of(read_gguf(path)) and policy.end_ids == {2}
    stored = policy.network.state_dict()
    for name, numbers in weights(read_gguf(path), shape_of(read_gguf(path))):
        assert np.array_equal(stored[name].numpy(), numbers), name
    found = sample(str(tmp_path / "m"), "the 12", count=2, max_new=4, temperature=1.0, top_p=1.0, seed=0)
    assert len(found["answers"]) == 2


def test_an_output_layer_of_its_own(tmp_path: Path) -> None:
    convert(model(tied=False).write(tmp_path / "m.gguf"), tmp_path / "m")
    policy, file = load_policy(tmp_path / "m"), read_gguf(tmp_path / "m.gguf")
    assert np.array_equal(policy.network.state_dict()["lm_head.weight"].numpy(), file.numbers("output.weight"))
    assert load_policy_of(model(), tmp_path / "tied").config.tied


def load_policy_of(file: File, folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    convert(file.write(folder / "m.gguf"), folder / "model")
    return load_policy(folder / "model")


def test_the_weights_are_a_safetensors_file_for_others(tmp_path: Path) -> None:
    convert(model().write(tmp_path / "m.gguf"), tmp_path / "m")
    found = safetensors.numpy.load_file(tmp_path / "m" / "model.safetensors")
    file = read_gguf(tmp_path / "m.gguf")
    expected = dict(weights(file, shape_of(file)))
    assert set(found) == set(expected) and all(np.array_equal(found[name], expected[name]) for name in found)


def test_a_folder_says_where_its_weights_come_from_and_so_does_every_copy(tmp_path: Path) -> None:
    path = model().write(tmp_path / "m.gguf")
    told = convert(path, tmp_path / "m")
    assert (told.name, told.licence, told.citation) == ("Tiny", "apache-2.0", "a page about it")
    assert told.restored == "restored from Q4_1" and told.source == "m.gguf" and len(told.sha256) == 64
    assert told.sentence == "Tiny, restored from Q4_1 (apache-2.0)"
    assert provenance_of(tmp_path / "m") == told
    save_policy(load_policy(tmp_path / "m"), tmp_path / "copy")
    assert provenance_of(tmp_path / "copy") == told
    assert convert(path, tmp_path / "n", about=Provenance(name="Known", citation="A page")).sentence.startswith(
        "Known,"
    )
    assert provenance_of(tmp_path) is None
    (tmp_path / FILE).write_text('{"licence": 3}')
    with pytest.raises(StorageError, match="texts for citation, licence"):
        provenance_of(tmp_path)


@pytest.mark.parametrize("kind", ["F16", "Q4_0"])
def test_the_type_that_weights_were_restored_from_is_the_most_frequent_quantised_one(kind: str, tmp_path: Path) -> None:
    assert convert(model(kind=kind).write(tmp_path / "m.gguf"), tmp_path / "m").restored == f"restored from {kind}"


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model().write(tmp_path / "m.gguf")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(gguf, "_write_weights", full)
        with pytest.raises(StorageError, match="could not be written"):
            convert(path, tmp_path / "m")
    assert names_in(tmp_path) == ["m.gguf"]
    with monkeypatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
        with pytest.raises(StorageError, match="MB are needed on the disk"):
            convert(path, tmp_path / "m")
    convert(path, tmp_path / "m")
    with pytest.raises(StorageError, match="exists already"):
        convert(path, tmp_path / "m")


# The tokenizer


def tokenizer_of(pre: str) -> Tokenizer:
    fields = {name: value for name, (_, value) in model(pre=pre).fields.items()}
    fields["tokenizer.ggml.token_type"] = np.array(fields["tokenizer.ggml.token_type"])
    return tokenizer_from_files(GgufTokenizer(fields, "m.gguf").files(context=64))


CODECS = {pre: tokenizer_of(pre) for pre in ("smollm", "gpt-2", "qwen2")}


@pytest.mark.parametrize("pre", ["smollm", "gpt-2"])
@given(text=UNICODE)
def test_texts_come_back(pre: str, text: str) -> None:
    codec = CODECS[pre]
    assert codec.backend.decode(codec.encode(text).tolist(), skip_special_tokens=False) == text


def test_digits_are_cut_where_the_name_says_so() -> None:
    merged = CODECS["gpt-2"].encode("12").tolist()
    assert [CODECS["gpt-2"].backend.id_to_token(token) for token in merged] == ["12"]
    for pre in ("smollm", "qwen2"):
        found = CODECS[pre].encode("12").tolist()
        assert [CODECS[pre].backend.id_to_token(token) for token in found] == ["1", "2"]


def test_qwen2_composes_characters() -> None:
    assert CODECS["qwen2"].encode("e\u0301").tolist() == CODECS["qwen2"].encode("\u00e9").tolist()
    assert CODECS["smollm"].encode("e\u0301").tolist() != CODECS["smollm"].encode("\u00e9").tolist()


@pytest.mark.parametrize("word", ["\ud800", "a\udfff", "\ude00\ud83d"])
def test_half_of_a_surrogate_pair_is_refused(word: str) -> None:
    with pytest.raises(DataError, match="half of a surrogate pair"):
        CODECS["smollm"].encode(word)
    with pytest.raises(DataError, match="half of a surrogate pair"):
        CODECS["smollm"].render(word)


def test_special_tokens_and_the_template(tmp_path: Path) -> None:
    codec = CODECS["smollm"]
    assert codec.special_ids == {0, 1, 2} and codec.end_ids == {2}
    said = [{"role": "user", "content": "the"}]
    expected = "<|im_start|>user\nthe<|im_end|>\n<|im_start|>assistant\n"
    assert codec.render(said).tolist() == codec.encode(expected).tolist()
    assert codec.encode(SPECIALS[0]).tolist() == [0]


def test_ends_of_turns_named_templates_and_a_token_that_begins(tmp_path: Path) -> None:
    file = model().having(
        **{"tokenizer.ggml.eot_token_id": ("u32", 0), "tokenizer.ggml.add_bos_token": ("bool", True)},
        **{"tokenizer.chat_templates": ("list:text", ["tool_use"])},
        **{"tokenizer.chat_template.tool_use": ("text", "{{ tools }}")},
    )
    policy = load_policy_of(file, tmp_path)
    assert policy.end_ids == {0, 2} and policy.codec.tool_template == "{{ tools }}"
    assert policy.codec.backend.encode("a").ids[0] == 1


def test_rows_without_a_token_are_left_out(tmp_path: Path) -> None:
    fields = dict(model().fields)
    kinds = [*fields["tokenizer.ggml.token_type"][1][:-2], 5, 5]
    merges = list(gguf_files.MERGES[:-2])
    file = model().having(
        **{"tokenizer.ggml.token_type": ("list:i32", kinds), "tokenizer.ggml.merges": ("list:text", merges)}
    )
    policy = load_policy_of(file, tmp_path)
    assert policy.codec.vocab == policy.config.vocab - 2


# What is refused by name

REFUSED = {
    "architecture": ({"general.architecture": ("text", "mamba")}, ConfigError, "'mamba'; llama and qwen2 are read"),
    "no architecture": ({"general.architecture": ("u8", 1)}, ConfigError, "architecture 1"),
    "pre-tokenizer": ({"tokenizer.ggml.pre": ("text", "llama-bpe")}, ConfigError, "'llama-bpe'; .*smollm, qwen2"),
    "the default": ({"tokenizer.ggml.pre": ("text", "default")}, ConfigError, "pre-tokenizer 'default'"),
    "kind of tokenizer": ({"tokenizer.ggml.model": ("text", "llama")}, ConfigError, "kind 'llama'; 'gpt2'"),
    "rope": ({"llama.rope.scaling.type": ("text", "yarn")}, ConfigError, r"rope.scaling.type = 'yarn'.*\"none\""),
    "unknown field": ({"llama.attention.sliding_window": ("u32", 9)}, ConfigError, "sliding_window = 9 is not"),
    "experts": ({"llama.expert_count": ("u32", 8)}, ConfigError, "expert_count = 8 is not supported; supported: 0"),
    "heads of layers": ({"llama.attention.head_count_kv": ("list:u32", [2])}, DataError, "should be a whole number"),
    "heads that differ": ({"llama.attention.value_length": ("u32", 16)}, ConfigError, "must be equal"),
    "no heads": ({"llama.attention.head_count": ("u32", 0)}, DataError, "head_count should be a whole number from 1"),
    "too many layers": ({"llama.block_count": ("u32", 2**31 - 1)}, DataError, "2,147,483,647 layers, and holds 11"),
    "one more layer": ({"llama.block_count": ("u32", 2)}, DataError, "blk.1.attn_norm.weight is missing.* 1 more"),
    "endless context": ({"llama.context_length": ("u64", 2**60)}, DataError, "context_length should be a whole"),
    "another width": ({"llama.feed_forward_length": ("u32", 32)}, DataError, r"\[64, 32\], expected \[32, 32\]"),
    "epsilon": ({"llama.attention.layer_norm_rms_epsilon": ("text", "x")}, DataError, "should be a number"),
    "ids": ({"tokenizer.ggml.eos_token_id": ("u32", 9999)}, DataError, "id of one of .* not 9999"),
    "types": ({"tokenizer.ggml.token_type": ("list:i32", [1])}, DataError, "tokens and the types of 1"),
    "types as text": ({"tokenizer.ggml.token_type": ("text", "1")}, DataError, "list of whole numbers"),
    "merges": ({"tokenizer.ggml.merges": ("list:text", ["t hh"])}, DataError, "merge 't hh' should be two tokens"),
    "endings": ({"tokenizer.ggml.add_eos_token": ("bool", True)}, ConfigError, "add_eos_token = true"),
    "template": ({"tokenizer.chat_template": ("u8", 1)}, DataError, "should be a str, and is 1"),
    "tokens": ({"tokenizer.ggml.tokens": ("text", "abc")}, DataError, "tokens should be a list, and is 'abc'"),
    "alignment": ({"general.alignment": ("u32", 12)}, DataError, "alignment is a multiple of 8"),
    "shares of heads": ({"llama.attention.head_count_kv": ("u32", 3)}, ConfigError, r"m\.gguf describes .* kv_heads"),
    "an odd head": ({"llama.attention.key_length": ("u32", 7)}, ConfigError, r"m\.gguf .* head_dim must be even"),
    "endless turns": ({"llama.rope.freq_base": ("f32", float("inf"))}, ConfigError, r"m\.gguf .* a finite number"),
    "a negative epsilon": (
        {"llama.attention.layer_norm_rms_epsilon": ("f32", -1.0)},
        ConfigError,
        r"m\.gguf .* norm_eps must be at least 0, not -1.0",
    ),
    "heads without room": ({"llama.attention.head_count": ("u32", 64)}, DataError, "64 heads share embeddings of 32"),
    "a negative place": ({"general.alignment": ("i32", -32)}, DataError, "not -32"),
    "a negative id": ({"tokenizer.ggml.bos_token_id": ("i32", -1)}, DataError, "id of one of .* not -1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_read_is_refused_by_name(case: str, tmp_path: Path) -> None:
    fields, kind, said = REFUSED[case]
    with pytest.raises(kind, match=said):
        convert(model().having(**fields).write(tmp_path / "m.gguf"), tmp_path / "m")
    assert names_in(tmp_path) == ["m.gguf"]


@pytest.mark.parametrize(("number", "name"), [(30, "BF16"), (12, "Q4_K"), (14, "Q6_K"), (99, "99")])
def test_other_types_of_tensors_are_refused_by_name(number: int, name: str, tmp_path: Path) -> None:
    other = dataclasses.replace(model().tensors["blk.0.attn_q.weight"], kind=str(number))
    file = dataclasses.replace(model(), tensors={**model().tensors, "blk.0.attn_q.weight": other})
    with pytest.raises(ConfigError, match=f"is of type {name}; F32, F16, Q4_0, Q4_1, Q8_0 are read"):
        convert(file.write(tmp_path / "m.gguf"), tmp_path / "m")


def test_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    extra = {"rope_freqs.weight": Tensor((4,), "F32", bytes(16))}
    for more, said in (
        (extra, "scales its rotary positions"),
        ({"x": extra["rope_freqs.weight"]}, "'x' is unexpected"),
    ):
        file = dataclasses.replace(model(), tensors={**model().tensors, **more})
        with pytest.raises(AssayError, match=said):
            convert(file.write(tmp_path / "m.gguf"), tmp_path / "m")
    with pytest.raises(DataError, match=r"output_norm.weight is missing"):
        convert(model().without("output_norm.weight").write(tmp_path / "m.gguf"), tmp_path / "m")
    doubled = model()
    tokens = [*doubled.fields["tokenizer.ggml.tokens"][1][:-1], "t"]
    with pytest.raises(DataError, match="token 't' is there twice"):
        file = doubled.having(**{"tokenizer.ggml.tokens": ("list:text", tokens)})
        convert(file.write(tmp_path / "m.gguf"), tmp_path / "m")


# Torn files, and files that were made to do harm

HUGE = 1 << 60
HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
HOSTILE = {
    "nothing": (b"", "begins with b''"),
    "three bytes": (b"GGU", "begins with b'GGU'"),
    "another mark": (b"GGML" + bytes(40), "begins with b'GGML'"),
    "version 1": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "GGUF version 1;"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "written in big-endian order"),
    "countless fields": (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), "would have 1,152,921,504,606,846,976 fields"),
    "countless tensors": (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0), "would have .* tensors, and at most"),
    "more fields than bytes": (b"GGUF" + struct.pack("<IQQ", 3, 0, 60000), "would take 8 bytes, and 0 follow"),
    "an endless name": (HEAD + struct.pack("<Q", HUGE), "the name of a field would have"),
    "an endless text": (HEAD + text("a") + struct.pack("<IQ", 8, HUGE), "field 'a' would have"),
    "an endless list": (HEAD + text("a") + struct.pack("<IIQ", 9, 0, HUGE), "would take 1,152,921"),
    "endless texts": (HEAD + text("a") + struct.pack("<IIQ", 9, 8, HUGE), "texts, more than fit"),
    "lists of lists": (HEAD + text("a") + struct.pack("<IIQ", 9, 9, 1) * 9, "a list of lists"),
    "an unknown type": (HEAD + text("a") + struct.pack("<I", 77), "type 77, which GGUF does not have"),
    "a list of an unknown type": (HEAD + text("a") + struct.pack("<IIQ", 9, 77, 1), "list of type 77"),
    "half a truth": (HEAD + text("a") + struct.pack("<IB", 7, 2), "neither true nor false"),
    "no UTF-8": (HEAD + text(b"\xff"), "not UTF-8"),
    "a field twice": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (text("a") + struct.pack("<IB", 7, 1)) * 2,
        "field 'a' is there twice",
    ),
}


def listed(*tensors: tuple[str, tuple[int, ...], int, int], body: int = 256) -> bytes:
    """A file with this list of tensors (name, axes, type, place)."""
    data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0)
    for name, axes, kind, place in tensors:
        data += text(name) + struct.pack(f"<I{len(axes)}QIQ", len(axes), *axes, kind, place)
    return data + bytes(-len(data) % 32 + body)


HOSTILE |= {
    "a tensor twice": (listed(("a", (8,), 0, 0), ("a", (8,), 0, 32)), "tensor 'a' is there twice"),
    "no axes": (listed(("a", (), 0, 0)), "0 axes"),
    "many axes": (listed(("a", (1,) * 5, 0, 0)), "5 axes"),
    "an empty tensor": (listed(("a", (0,), 0, 0)), r"shape \[0\]"),
    "half a block": (listed(("a", (40,), 2, 0)), r"tensor 'a' of type Q4_0 has the shape \[40\]"),
    "numbers without end": (listed(("a", (2**63, 2**63), 0, 0)), "ends at byte"),
    "beyond the end": (listed(("a", (8,), 0, 1 << 40)), "ends at byte"),
    "one byte too long": (listed(("a", (65,), 0, 0)), "ends at byte"),
    "crooked": (listed(("a", (8,), 0, 8)), "no multiple of 32"),
    "beyond all numbers": (listed(("a", (8,), 0, 2**64 - 32)), "ends at byte 18,446,744,073,709,551,"),
    "overlapping": (listed(("a", (16,), 0, 0), ("b", (8,), 0, 32)), "'a' and 'b' overlap"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_at_once(case: str, tmp_path: Path) -> None:
    data, said = HOSTILE[case]
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises((ConfigError, DataError), match=said):
        read_gguf(tmp_path / "m.gguf")


def test_what_a_stranger_says_of_a_model_is_one_line_of_a_few_words(tmp_path: Path) -> None:
    said = {"general.name": ("text", "A\n\x1b[31m\u202e" + "a" * 100_000), "general.license": ("text", "b\nc" * 50_000)}
    told = convert(model().having(**said).write(tmp_path / "m.gguf"), tmp_path / "m")
    assert told.name.startswith("A \\x1b[31m\\u202eaaa") and "\n" not in told.licence
    assert len(told.name) < 220 and len(told.licence) == 200


BOMBS = f"""
import resource, struct, sys
from pathlib import Path
from gguf_files import File, model, text
from assay.errors import AssayError
from assay.policy.gguf import convert

resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
here, most = Path(sys.argv[1]), {HEADER} // 8 - 100
head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("tokenizer.ggml.tokens")
for data in (head + struct.pack("<IIQ", 9, 8, most) + bytes(8 * most), b"GGUF" + struct.pack("<IQQ", 3, 65536, 0)
             + b"".join(text(str(i)) + struct.pack("<IQIQ", 1, 8, 0, 32 * i) for i in range(65536)) + bytes(1 << 22)):
    (here / "m.gguf").write_bytes(data)
    try:
        convert(here / "m.gguf", here / "m")
    except AssayError as error:
        print(error)
"""


@pytest.mark.turns(3)
@pytest.mark.slow
def test_the_largest_header_is_read_in_little_memory(tmp_path: Path) -> None:
    """As many texts, and as many tensors, as a header may hold; of numpy alone in two gigabytes."""
    done = program(["-c", BOMBS, str(tmp_path)], PYTHONPATH=f"{ROOT}:{ROOT / 'tests'}", OPENBLAS_NUM_THREADS="1")
    assert done.returncode == 0 and done.stdout.count("is of the architecture None") == 2, done.stdout + done.stderr


def test_a_header_has_an_end(tmp_path: Path) -> None:
    """A sparse file of which the header would fill the memory."""
    path = tmp_path / "m.gguf"
    path.write_bytes(HEAD + text("a") + struct.pack("<IIQ", 9, 0, 2 * HEADER))
    os.truncate(path, 3 * HEADER)
    with pytest.raises(DataError, match="its header would have more than"):
        read_gguf(path)


@pytest.mark.parametrize("place", ["pipe.gguf", "folder.gguf", "none.gguf"])
def test_what_is_no_file_is_refused(place: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "folder.gguf").mkdir()
    with pytest.raises(StorageError, match=place):
        read_gguf(tmp_path / place)


SMALL = model(words=["a"], kind="F16", kv_heads=1)


@pytest.mark.slow
def test_a_file_that_was_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data, path = SMALL.data(), tmp_path / "m.gguf"
    tokens = len(data) - sum(len(one.data) for one in SMALL.tensors.values())  # about where the numbers begin
    path.write_bytes(data)
    for size in sorted({*range(tokens + 64), *range(tokens + 64, len(data), 97), len(data) - 1}, reverse=True):
        os.truncate(path, size)
        with pytest.raises((ConfigError, DataError)):
            convert(path, tmp_path / "m")
    path.write_bytes(data)
    convert(path, tmp_path / "m")


def taken(data: bytes, folder: Path) -> bool:
    """Whether a file is read, converted and loaded; only errors of ours may say that it is not."""
    path, made = folder / "m.gguf", folder / "m"
    path.write_bytes(data)
    try:
        convert(path, made)
        load_policy(made)
    except AssayError as error:
        assert type(error) in (ConfigError, DataError, StorageError)
        return False
    finally:
        if made.exists():
            for one in made.iterdir():
                one.unlink()
            made.rmdir()
    return True


@given(data=st.binary(max_size=200), begin=st.sampled_from([b"", b"GGUF\x03\0\0\0", HEAD]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_of_any_kind(data: bytes, begin: bytes, tmp_path: Path) -> None:
    assert not taken(begin + data, tmp_path)


@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(1, 255), width=st.sampled_from([1, 4, 8]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_flipped_bytes(place: float, value: int, width: int, tmp_path: Path) -> None:
    data = bytearray(SMALL.data())
    head = len(data) - sum(len(one.data) for one in SMALL.tensors.values())
    at = int(place * head)
    for i in range(at, min(at + width, len(data))):
        data[i] ^= value
    taken(bytes(data), tmp_path)


def test_an_unbroken_file_is_taken(tmp_path: Path) -> None:
    assert taken(SMALL.data(), tmp_path)


def test_a_folder_names_its_own_tokenizer(tmp_path: Path) -> None:
    convert(model().write(tmp_path / "m.gguf"), tmp_path / "m")
    assert load_tokenizer(tmp_path / "m").encode("the 12").tolist() == CODECS["smollm"].encode("the 12").tolist()
    assert json.loads((tmp_path / "m" / "config.json").read_text())["eos_token_id"] == 2
