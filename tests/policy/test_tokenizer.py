"""Our tokenizer against transformers' AutoTokenizer on the same folder, and the character tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, Qwen2Tokenizer

from assay.errors import DataError, StorageError
from assay.policy import Tokenizer, character_tokenizer, load_tokenizer

CHATML = (
    "{%- if messages[0].role == 'system' %}{{ '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}"
    "{%- set rest = messages[1:] %}{%- else %}{%- set rest = messages %}{%- endif %}\n"
    "{%- for message in rest %}\n"
    "    {%- if message.role == 'tool' %}{{ raise_exception('no role ' + message.role) }}{%- endif %}\n"
    "    {%- if loop.index > 50 %}{%- break %}{%- endif %}\n"
    "    {{- '<|im_start|>' + message.role + '\\n' }}\n"
    "    {%- if message.role == 'assistant' %}{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}\n"
    "    {%- else %}{{ message.content }}<|im_end|>{%- endif %}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ODD = (
    "{{ bos_token }}{% if tools is none and documents is none %}plain {% endif %}\n"
    "    {% for m in messages %}\n    {{ m | tojson }} {{ m.content | trim }}\n    {% endfor %}\n"
    "{{ {'é<&>': [1, 2]} | tojson(indent=2) }}{{ strftime_now('%Y') }}{{ eos_token }}"
)
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 2+2?\n<b>né</b>"},
    {"role": "assistant", "content": " four 🙂 "},
    {"role": "user", "content": "and 汉字 <|im_end|> too"},
]
CORPUS = ["What is 2+2? The answer is four.", "be brief and né 🙂", "system user assistant\nplain content role"] * 3


def byte_level(folder: Path) -> None:
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    backend.enable_truncation(5)
    backend.enable_padding(length=7)
    write(folder, backend, eos_token="<|im_end|>", pad_token="<|endoftext|>", bos_token="<|endoftext|>")


def sentence_piece(folder: Path) -> None:
    pieces = {piece: i for i, piece in enumerate(["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))])}
    for piece in ["▁", *"Whatis2+?Thensrfouble.", "▁a", "▁an", "▁and", "▁i", "▁is"]:
        pieces.setdefault(piece, len(pieces))
    merges = [("▁", "a"), ("▁a", "n"), ("▁an", "d"), ("▁", "i"), ("▁i", "s")]
    pieces.setdefault("d", len(pieces))
    backend = tokenizers.Tokenizer(
        models.BPE(vocab=pieces, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    write(folder, backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def write(folder: Path, backend: tokenizers.Tokenizer, **settings: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    settings |= {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def set_template(folder: Path, template: Any) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "chat_template": template}))


BUILDERS = {"byte-level": byte_level, "sentence-piece": sentence_piece}
TEXTS = ["", " ", "What is 2+2?", "  and\n\nthe é 汉字 🙂 end ", "is and <|im_end|> </s> <s>"]


@pytest.fixture(scope="module", params=BUILDERS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp(request.param)
    BUILDERS[request.param](place)
    return place


def theirs(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def test_encode_and_decode_equal_transformers(folder: Path) -> None:
    ours, reference = load_tokenizer(folder), theirs(folder)
    for text in TEXTS:
        ids = ours.encode(text)
        assert ids.dtype == "int32"
        assert ids.tolist() == reference(text, add_special_tokens=False)["input_ids"]
        assert ours.decode(ids) == reference.decode(ids, skip_special_tokens=True)
        for cut in range(len(ids)):
            assert ours.decode(ids[:cut]) == reference.decode(ids[:cut], skip_special_tokens=True)
    assert ours.vocab == len(reference)
    assert ours.end_ids == {reference.eos_token_id}
    assert ours.pad_id == reference.pad_token_id


@pytest.mark.parametrize("template", [CHATML, ODD], ids=["chatml", "odd"])
@pytest.mark.parametrize("place", ["config", "jinja-file", "named", "json-file"])
def test_rendering_equals_apply_chat_template(template: str, place: str, tmp_path: Path) -> None:
    byte_level(tmp_path)
    if place == "config":
        set_template(tmp_path, template)
    elif place == "named":
        set_template(tmp_path, [{"name": "tool_use", "template": "no"}, {"name": "default", "template": template}])
    elif place == "jinja-file":
        set_template(tmp_path, "the file wins")
        (tmp_path / "chat_template.jinja").write_text(template)
    else:
        (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": template}))
        set_template(tmp_path, template)
    ours, reference = load_tokenizer(tmp_path), theirs(tmp_path)
    for talk in (TALK, TALK[1:2], TALK[1:3], [{**TALK[1], "name": None}]):
        expected = reference.apply_chat_template(talk, add_generation_prompt=True, return_dict=False)
        assert len(expected) > 10
        assert ours.render(talk).tolist() == expected
    assert ours.render("2+2?").tolist() == ours.render([{"role": "user", "content": "2+2?"}]).tolist()


def test_a_family_tokenizer_of_transformers_is_read_the_same(tmp_path: Path) -> None:
    byte_level(tmp_path / "made")
    model = json.loads((tmp_path / "made" / "tokenizer.json").read_text())["model"]
    merges: Any = [tuple(pair) for pair in model["merges"]]
    reference = Qwen2Tokenizer(vocab=model["vocab"], merges=merges)
    reference.add_special_tokens({"eos_token": "<|im_end|>"})
    reference.chat_template = CHATML
    reference.save_pretrained(tmp_path / "saved")
    ours, reference = load_tokenizer(tmp_path / "saved"), theirs(tmp_path / "saved")
    for text in TEXTS:
        assert ours.encode(text).tolist() == reference(text, add_special_tokens=False)["input_ids"]
    expected = reference.apply_chat_template(TALK, add_generation_prompt=True, return_dict=False)
    assert ours.render(TALK).tolist() == expected


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_bytes_of_tokens_end_to_end_are_the_text(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name, build in BUILDERS.items():
        place = tmp_path_factory.getbasetemp() / f"bytes-{name}"
        if not place.exists():
            build(place)
        ours = load_tokenizer(place)
        spelled = b"".join(ours.token_bytes(int(token)) for token in ours.encode(text))
        expected = text if name == "byte-level" or not text else text.replace("▁", " ")
        assert spelled.removeprefix(b" ") == expected.encode().removeprefix(b" ")


def test_an_unfinished_character_is_marked_and_its_bytes_are_kept(tmp_path: Path) -> None:
    byte_level(tmp_path)
    ours = load_tokenizer(tmp_path)
    first, *_ = ids = ours.encode("汉")
    assert len(ids) == 3
    assert ours.decode([first]) == "�"
    assert ours.token_bytes(first) == "汉".encode()[:1]


def test_special_tokens_are_left_out_of_text_and_named_in_bytes(tmp_path: Path) -> None:
    byte_level(tmp_path)
    ours = load_tokenizer(tmp_path)
    (end,) = ours.end_ids
    assert ours.decode([*ours.encode("is"), end]) == "is"
    assert ours.token_bytes(end) == b"<|im_end|>"
    assert end in ours.special_ids


ALPHABET = "0123456789+-*/=() abcxyz#\n"


def test_character_ids_are_specials_then_the_alphabet() -> None:
    ours = character_tokenizer(ALPHABET)
    assert ours.vocab == 4 + len(ALPHABET)
    assert ours.encode("01\n").tolist() == [4, 5, 4 + ALPHABET.index("\n")]
    assert ours.render("01").tolist() == [1, 4, 5, 3]
    assert (ours.pad_id, ours.end_ids) == (0, frozenset({2}))
    assert ours.decode([1, 4, 3, 5, 2, 0]) == "01"
    assert ours.token_bytes(5) == b"1"
    talk = [{"role": "user", "content": "0"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "2"}]
    assert ours.render(talk).tolist() == [1, 4, 3, 5, 2, 6, 3]


@given(text=st.text(ALPHABET, max_size=40))
def test_characters_round_trip(text: str) -> None:
    ours = character_tokenizer(ALPHABET)
    assert ours.decode(ours.encode(text)) == text
    assert len(ours.encode(text)) == len(text)


def save(tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in tokenizer.files.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("alphabet", [ALPHABET, "<>bosepad ", "aé汉🙂'\"\\{}%"])
def test_transformers_reads_the_character_tokenizer_as_we_do(alphabet: str, tmp_path: Path) -> None:
    ours = character_tokenizer(alphabet)
    save(ours, tmp_path)
    reference = theirs(tmp_path)
    for text in ("", alphabet, alphabet[::-1] * 2, *alphabet):
        assert ours.encode(text).tolist() == reference(text)["input_ids"]
        assert ours.encode(text).tolist() == load_tokenizer(tmp_path).encode(text).tolist()
        assert reference.decode(ours.encode(text)) == text
        talk = [{"role": "user", "content": text}]
        assert ours.render(text).tolist() == reference.apply_chat_template(talk, return_dict=False)
    assert reference.eos_token_id == 2
    assert reference.pad_token_id == 0


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_transformers_reads_it_beside_a_model_of_any_family(family: str, tmp_path: Path) -> None:
    """For qwen2 it takes its own class for the tokenizer, whatever the folder says."""
    ours = character_tokenizer(ALPHABET)
    save(ours, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family, "vocab_size": ours.vocab}))
    reference = theirs(tmp_path)
    assert len(reference) == ours.vocab and reference.all_special_ids
    for text in ("", ALPHABET, "  a\n\n b1 2", " (1 + 2)*30 = x\n"):
        assert reference(text)["input_ids"] == ours.encode(text).tolist()
        assert reference.decode(ours.encode(text)) == text
        talk = [{"role": "user", "content": text}]
        assert reference.apply_chat_template(talk, return_dict=False) == ours.render(text).tolist()
    assert (reference.eos_token_id, reference.pad_token_id) == (2, 0)


def test_no_text_can_forge_a_special_token() -> None:
    ours = character_tokenizer("<>bosepad")
    assert not set(ours.encode("<bos><sep><eos><pad>")) & ours.special_ids
    assert ours.render("<sep>").tolist()[1:-1] == ours.encode("<sep>").tolist()


@pytest.mark.parametrize("read", [lambda t: t.encode("1z"), lambda t: t.render("1z"), lambda t: t.encode("12<eos>")])
def test_a_character_outside_the_alphabet_is_named(read: Any, tmp_path: Path) -> None:
    save(character_tokenizer("0123456789"), tmp_path)
    for tokenizer in (character_tokenizer("0123456789"), load_tokenizer(tmp_path)):
        with pytest.raises(DataError, match=r"character '[z<]' at [12] of .* alphabet '0123456789'"):
            read(tokenizer)


@pytest.mark.parametrize(("alphabet", "message"), [("", "each once"), ("aba", "each once"), ("<>⟨⟩⟦⟧«»", "bracket")])
def test_impossible_alphabets_are_refused(alphabet: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        character_tokenizer(alphabet)


def test_refusals(tmp_path: Path) -> None:
    byte_level(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert ours.render("is").tolist() == ours.encode("is").tolist()
    with pytest.raises(DataError, match=f"token id {ours.vocab} is not in the vocabulary of {ours.vocab}"):
        ours.decode([0, ours.vocab])
    with pytest.raises(DataError, match="token id -1"):
        ours.ending([-1])
    set_template(tmp_path, CHATML)
    ours = load_tokenizer(tmp_path)
    with pytest.raises(DataError, match="refused these messages: no role tool"):
        ours.render([{"role": "tool", "content": "x"}])
    with pytest.raises(DataError, match="empty conversation"):
        ours.render([])
    with pytest.raises(DataError, match="role and content"):
        ours.render([{"content": "x"}])
    for hostile in ("{{ messages.append(1) }}", "{{ ''.__class__.__mro__ }}", "{% for %}"):
        set_template(tmp_path, hostile)
        with pytest.raises(DataError, match="chat template"):
            load_tokenizer(tmp_path).render(TALK)
    set_template(tmp_path, [{"name": "tool_use", "template": "x"}])
    with pytest.raises(DataError, match="chat templates tool_use but no 'default'"):
        load_tokenizer(tmp_path)
    write(tmp_path, ours.backend, eos_token="<nowhere>")
    with pytest.raises(DataError, match=r"eos_token = '<nowhere>', which tokenizer\.json does not have"):
        load_tokenizer(tmp_path)
    write(tmp_path, ours.backend, added_tokens_decoder={"7": {"content": "<|im_end|>"}})
    with pytest.raises(DataError, match="gives '<|im_end|>' the id 7, tokenizer.json 2".replace("|", r"\|")):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(StorageError, match=r"no tokenizer\.json"):
        load_tokenizer(tmp_path)
