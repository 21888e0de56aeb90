"""A conversation: what the policy reads at each turn, what is shown while it writes, and what stays of it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers

from assay.engine.interface import Generation, Heard
from assay.errors import ConfigError, DataError
from assay.lab.dialogue import NEXT_TURN, Dialogue, Listener, settled
from assay.policy.conversation import Chat
from assay.policy.tokenizer import Tokenizer, tokenizer_from_files
from assay.rng import Key
from assay.types import Request, Segment

CHATML = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + CHATML
)
DEAF = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"


def tokenizer_of(template: str | None = CHATML, *, byte_level: bool = True) -> Tokenizer:
    """A token for each byte, as GPT-2 spells them or as sentencepiece falls back to them, and the end of a turn."""
    if byte_level:
        words = ["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
        backend = Backend(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
    else:
        words = ["<|end|>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁b", "é"]
        backend = Backend(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[], byte_fallback=True))
        steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        backend.decoder = decoders.Sequence(steps)
    backend.add_special_tokens(["<|end|>"])
    made = tokenizer_from_files({"tokenizer.json": backend.to_str().encode()})
    return dataclasses.replace(made, template=template, end_ids=frozenset([0]), special_ids=frozenset([0]))


class Scripted:
    """An engine that writes given answers, and keeps what it read and was asked."""

    def __init__(self, tokenizer: Tokenizer, answers: Sequence[str], context: int = 1000) -> None:
        self.tokenizer, self.answers, self.context = tokenizer, iter(answers), context
        self.read: list[str] = []
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request], key: Key, *, heard: Heard) -> list[Generation]:
        (request,) = requests
        self.requests.append(request)
        self.read.append(self.tokenizer.backend.decode(request.context.tolist(), skip_special_tokens=False))
        ids = self.tokenizer.encode(next(self.answers))
        count, finish = min(len(ids), request.max_new), "length" if len(ids) > request.max_new else "stop"
        for n in range(1, count + 1):
            if heard(0, ids[:n]):
                count = n
                break
        nothing = np.zeros(count, np.float32)
        return [Generation(Segment(ids[:count], nothing.astype(np.int8), nothing, nothing), finish)]


def dialogue_of(
    *answers: str, template: str | None = CHATML, system: str = "", context: int = 1000, max_new: int = 100
) -> tuple[Dialogue, Scripted]:
    tokenizer = tokenizer_of(template).speaking(Chat(system=system))
    engine = Scripted(tokenizer, answers, context)
    how: dict[str, Any] = {"max_new": max_new, "temperature": 1.0, "top_p": 1.0, "seed": 0}
    return Dialogue(tokenizer, engine, **how), engine  # pyright: ignore[reportArgumentType]


def nothing(piece: str) -> bool:
    return False


def test_every_turn_reads_the_whole_conversation() -> None:
    dialogue, engine = dialogue_of("Paris.<|end|>", "Madrid.<|end|>", system="Be brief.")
    first, second = dialogue.ask("France?", nothing), dialogue.ask("Spain?", nothing)
    assert (first.answer, second.answer, first.cut, second.cut) == ("Paris.", "Madrid.", False, False)
    assert engine.read[0] == "<|system|>Be brief.<|end|><|user|>France?<|end|><|assistant|>"
    assert engine.read[1] == engine.read[0] + "Paris.<|end|><|user|>Spain?<|end|><|assistant|>"
    assert [request.sample for request in engine.requests] == [0, 1], "each turn draws other numbers"


def test_a_new_conversation_keeps_the_system_message_alone() -> None:
    dialogue, engine = dialogue_of("a", "b", "c", system="Be brief.")
    dialogue.ask("one", nothing)
    dialogue.clear()
    dialogue.ask("two", nothing)
    assert engine.read[1] == "<|system|>Be brief.<|end|><|user|>two<|end|><|assistant|>"
    dialogue.instruct("Be kind.")
    dialogue.ask("three", nothing)
    assert engine.read[2].startswith("<|system|>Be kind.<|end|><|user|>two<|end|><|assistant|>b<|end|>")


def test_without_a_template_a_conversation_has_the_plain_form_and_ends_where_the_person_speaks() -> None:
    dialogue, engine = dialogue_of(" Paris.\n\nUser: And now?\n\nAssistant:", " Madrid.", template=None, system="Hm.")
    pieces: list[str] = []
    assert dialogue.ask("France?", lambda piece: bool(pieces.append(piece))).answer == "Paris."
    assert "".join(pieces) == "Paris."
    dialogue.ask("Spain?", nothing)
    assert engine.read[1] == "System: Hm.\n\nUser: France?\n\nAssistant: Paris.\n\nUser: Spain?\n\nAssistant:"
    assert engine.requests[0].stop == (NEXT_TURN,)


def test_a_template_that_refuses_or_drops_the_system_message_says_so() -> None:
    for template, error, says in ((NO_SYSTEM, DataError, "first message"), (DEAF, ConfigError, "first question")):
        with pytest.raises(error, match=says):
            tokenizer_of(template).speaking(Chat(system="Be brief.")).require_system()
        dialogue, engine = dialogue_of("a", "b", template=template)
        with pytest.raises(error, match=says):
            dialogue.instruct("Be brief.")
        dialogue.ask("one", nothing)
        assert engine.read == ["<|user|>one<|end|><|assistant|>"], "and the conversation goes on as it was"
    tokenizer_of(CHATML).speaking(Chat(system="Be brief.")).require_system()
    tokenizer_of(DEAF).require_system()


def test_what_was_written_before_a_cut_stays() -> None:
    said: list[str] = []

    def until_five(piece: str) -> bool:
        said.append(piece)
        return len("".join(said)) >= 3

    dialogue, engine = dialogue_of("one two three", "four")
    turn = dialogue.ask("count", until_five)
    assert (turn.answer, turn.cut, turn.limited, turn.tokens) == ("one", True, False, 3)
    dialogue.ask("go on", nothing)
    assert "<|assistant|>one<|end|><|user|>go on" in engine.read[1]


def test_an_answer_as_long_as_it_may_be_is_cut_and_never_within_a_character() -> None:
    dialogue, engine = dialogue_of("ab🙂", "c", max_new=4)
    turn = dialogue.ask("count", nothing)
    assert (turn.answer, turn.cut, turn.limited, turn.tokens) == ("ab", True, True, 4)
    dialogue.ask("go on", nothing)
    assert "<|assistant|>ab<|end|>" in engine.read[1]


def test_an_exchange_without_an_answer_leaves_no_trace() -> None:
    dialogue, engine = dialogue_of("<|end|>", "b")
    assert dialogue.ask("one", nothing).answer == ""
    dialogue.ask("two", nothing)
    assert engine.read[1] == "<|user|>two<|end|><|assistant|>"


@pytest.mark.slow
def test_the_oldest_exchanges_are_left_out_and_the_system_message_stays() -> None:
    dialogue, engine = dialogue_of(*["x" * 20] * 12, system="Stay.", context=300, max_new=60)
    turns = [dialogue.ask(f"question {i:02}", nothing) for i in range(12)]
    room = 300 - 60
    assert sum(turn.left_out for turn in turns) == 1, "it is told once"
    first = next(i for i, turn in enumerate(turns) if turn.left_out)
    for i, (read, request) in enumerate(zip(engine.read, engine.requests, strict=True)):
        assert read.startswith("<|system|>Stay.<|end|><|user|>question") and f"question {i:02}" in read
        assert len(request.context) <= room and ("question 00" in read) == (i < first)
        kept = [number for number in range(12) if f"question {number:02}" in read]
        assert kept == list(range(kept[0], i + 1)), "what is left out is the oldest, in whole exchanges"
        assert read.count("<|user|>") == read.count("<|assistant|>")
    extended = [b.startswith(a[: -len("<|assistant|>")]) for a, b in itertools.pairwise(engine.read)]
    assert sum(not one for one in extended) <= 4, "most turns go on from what was read before"
    dialogue.clear()
    assert not dialogue.overflowed


def test_a_message_that_does_not_fit_is_refused_and_the_conversation_goes_on() -> None:
    dialogue, engine = dialogue_of("a", "b", context=150, max_new=50)
    dialogue.ask("one", nothing)
    with pytest.raises(DataError, match=r"has 5\d\d tokens.* holds 150, of which 50 .* may have 100"):
        dialogue.ask("x" * 500, nothing)
    dialogue.ask("two", nothing)
    assert "one" in engine.read[1] and "xx" not in engine.read[1]


# --- what is shown while it is written --------------------------------------------------------------------------


def pieces_of(tokenizer: Tokenizer, ids: Sequence[int], steps: Iterator[int]) -> tuple[list[str], str]:
    """What is said of an answer that is heard after so many tokens each time, and its text."""
    pieces: list[str] = []
    listener = Listener(tokenizer, lambda piece: bool(pieces.append(piece)))
    written = np.array(ids, np.int32)
    heard = 0
    while (heard := heard + next(steps)) <= len(ids):
        listener(0, written[:heard])
    return pieces, listener.finished(written, whole=True)


TEXTS = st.text(st.sampled_from("ab é汉🙂👩‍🚀\n ") | st.characters(exclude_categories=("Cs",)), max_size=20)


@given(text=TEXTS, data=st.data())
def test_no_piece_holds_a_part_of_a_character(text: str, data: st.DataObject) -> None:
    tokenizer = tokenizer_of()
    steps = iter(lambda: data.draw(st.integers(1, 5)), 0)
    pieces, answer = pieces_of(tokenizer, tokenizer.encode(text).tolist(), steps)
    assert answer == text and "".join(pieces) == text.rstrip()
    assert "\ufffd" in text or not any("\ufffd" in piece for piece in pieces)


@given(ids=st.lists(st.integers(1, 256), max_size=24), data=st.data())
def test_pieces_of_any_bytes_are_the_text(ids: list[int], data: st.DataObject) -> None:
    steps = iter(lambda: data.draw(st.integers(1, 5)), 0)
    pieces, answer = pieces_of(tokenizer_of(), ids, steps)
    assert "".join(pieces) == answer.rstrip()


@given(letters=st.lists(st.sampled_from(["▁", "a", "▁b", "é", "汉", "🙂"]), max_size=12))
def test_pieces_of_sentencepiece_are_the_text(letters: list[str]) -> None:
    tokenizer = tokenizer_of(byte_level=False)
    known = tokenizer.backend.get_vocab()
    ids = [
        number
        for letter in letters
        for number in ([known[letter]] if letter in known else [known[f"<0x{byte:02X}>"] for byte in letter.encode()])
    ]
    pieces, answer = pieces_of(tokenizer, ids, itertools.repeat(1))
    assert "".join(pieces) == answer.rstrip()


@given(text=st.text("\nUser: ab", max_size=24))
def test_what_is_settled_stays_and_holds_no_beginning_of_a_stop_string(text: str) -> None:
    stops = (NEXT_TURN,)
    shown = [settled(text[:n], stops) for n in range(len(text) + 1)]
    for early, late in itertools.pairwise(shown):
        assert late.startswith(early)
    assert text.partition(NEXT_TURN)[0].startswith(shown[-1]) and NEXT_TURN not in shown[-1]
