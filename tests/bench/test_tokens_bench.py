"""The comparison of tokenizers: its texts are always the same, and what it keeps is about them and about our ids."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.host.cache import cache_folder
from assay.policy import load_tokenizer
from assay.policy.gguf_tokenizer import COMPOSING
from assay.run import pretrained
from bench import tokens
from bench.token_texts import COUNT, MADE, Text, talks, texts

ROWS = st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=2, max_size=4)


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    """What was found with smollm2."""
    return json.loads(tokens.RESULT.read_text())


def test_texts_are_those_that_were_compared(kept: dict[str, Any]) -> None:
    made = texts()
    assert tokens.digest_of_texts(made) == kept["digest_of_texts"]
    assert len({one.text for one in made}) == len(made) == COUNT == kept["texts"]
    assert {one.kind for one in made} == set(MADE) == set(kept["by_kind"])
    assert texts(100) == made[:100] and texts(100, seed=1)[1:] != made[1:100]


def test_every_second_conversation_has_a_system_turn() -> None:
    roles = [[turn["role"] for turn in talk] for talk in talks()]
    assert [row[0] == "system" for row in roles] == [i % 2 == 1 for i in range(50)]
    assert all(row[-1] == "user" for row in roles) and max(map(len, roles)) > 4


def test_what_is_kept_counts_what_it_lists(kept: dict[str, Any]) -> None:
    for name in kept["equal"]:
        differ = [row for row in kept["differ"] if row[name] != "as ours"]
        assert kept["equal"][name] == COUNT - len(differ)
        assert kept["equal"][name] == sum(kind.get(name, 0) for kind in kept["by_kind"].values())
        assert all(row[name] != row["ours"] for row in differ)


def test_texts_that_differ_have_digits_in_them(kept: dict[str, Any]) -> None:
    """What Unicode calls a number: the reader of transformers does not cut them one by one."""
    made = texts()
    for row in kept["differ"]:
        assert any(character.isnumeric() for character in made[row["text"]].text), row


@pytest.mark.parametrize("name", tokens.VOCABULARIES)
def test_only_texts_that_unicode_composes_differ_from_llama_cpp(name: str, kept: dict[str, Any]) -> None:
    """Which does not compose them first, as the published tokenizer of Qwen2 does."""
    here, made = json.loads((tokens.RESULTS / f"tokens-{name}.json").read_text()), texts()
    assert here["digest_of_texts"] == kept["digest_of_texts"]
    assert here["published"]["equal"] == here["published"]["texts"] > 40
    composed = [i for i, one in enumerate(made) if unicodedata.normalize("NFC", one.text) != one.text]
    assert [row["text"] for row in here["differ"]] == (composed if name in COMPOSING else [])
    assert here["equal"].get("llama.cpp, composed first", COUNT) == COUNT


@given(rows=ROWS)
def test_what_lies_apart_is_between_what_all_share(rows: list[list[int]]) -> None:
    named = {str(i): row for i, row in enumerate(rows)}
    found: dict[str, Any] = tokens.apart(named)
    at, pieces = found["at"], [found[name] for name in named]
    ends = {tuple(row[at + len(piece) :]) for row, piece in zip(rows, pieces, strict=True)}
    starts = {tuple(row[:at]) for row in rows}
    assert len(starts) == len(ends) == 1
    assert all(row == [*row[:at], *piece, *row[at + len(piece) :]] for row, piece in zip(rows, pieces, strict=True))
    if all(row == rows[0] for row in rows):
        assert not any(pieces)


def test_a_text_on_which_one_differs_is_listed_with_the_ids_of_all() -> None:
    made = [Text("a", "x"), Text("a", "y"), Text("b", "z")]
    found = tokens.compare(made, [[1], [2, 3, 4], [5]], {"one": [[1], [2, 9, 4], [5]], "two": [[1], [2, 3, 4], [5, 6]]})
    assert found["equal"] == {"one": 2, "two": 2}
    assert found["by_kind"] == {"a": {"texts": 2, "one": 1, "two": 2}, "b": {"texts": 1, "one": 1}}
    assert found["differ"] == [
        {"text": 1, "kind": "a", "at": 1, "ours": [3], "one": [9], "two": "as ours"},
        {"text": 2, "kind": "b", "at": 1, "ours": [], "one": "as ours", "two": [6]},
    ]
    assert json.loads(tokens.written(found)) == found and json.loads(tokens.written({"differ": []})) == {"differ": []}


@pytest.mark.slow
def test_our_ids_are_those_that_were_compared(kept: dict[str, Any]) -> None:
    """Where a cache has the model; `assay get smollm2` puts it there."""
    folder = cache_folder() / "models" / pretrained.folder_of(pretrained.SMOLLM2.gguf).name
    if not folder.exists():
        pytest.skip(f"needs the pretrained model in {folder}: assay get smollm2")
    codec = load_tokenizer(folder)
    assert tokens.digest_of([codec.encode(one.text).tolist() for one in texts()]) == kept["digest_of_our_ids"]
    assert tokens.digest_of([codec.render(talk).tolist() for talk in talks()]) == kept["talks"]["ids"]
