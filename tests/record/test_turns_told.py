"""The turns of an answer by hand: who wrote which part of the text, errors, rewards, contexts, and the play."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from tiny import END, Letters, episode, segment

from assay.record.turns import (
    as_records,
    in_a_world,
    lost_to_the_world,
    play_of,
    told_of_plays,
    told_of_turns,
    turns,
    with_texts,
)
from assay.types import Episode, Origin, Segment, Verdict

DECODE = Letters().decode  # 1, 2, 3, 4 are a, b, c, d; 0 ends an answer


def seated(answer: Episode, seat: str = "policy", **changes: object) -> Episode:
    return dataclasses.replace(answer, request=dataclasses.replace(answer.request, seat=seat, **changes))


def answer(segments: Sequence[Segment], text: str, **changes: object) -> Episode:
    return seated(dataclasses.replace(episode(list(segments)), text=text, **changes))  # type: ignore[arg-type]


def heard(*ids: int, failed: bool = False) -> Segment:
    return segment(ids, origin=Origin.ENV, failed=failed)


def test_a_dialogue_is_told_turn_by_turn() -> None:
    first = segment([1, 2], earned=np.array([0.0, 0.5], np.float32))
    given = segment([4], origin=Origin.INJECTED)
    one = answer([given, first, heard(3, 3, failed=True), segment([1]), heard(3), segment([2, END])], "dabccacb")
    told = with_texts(as_records(one, DECODE) or [], one.text)
    assert [(turn["author"], turn["text"], turn["tokens"]) for turn in told] == [
        ("given", "d", 1),
        ("policy", "ab", 2),
        ("world", "cc", 2),
        ("policy", "a", 1),
        ("world", "c", 1),
        ("policy", "b", 2),
    ]
    assert [turn["failed"] for turn in told] == [False, False, True, False, False, False]
    assert [turn["earned"] for turn in told] == [None, 0.5, None, None, None, None]
    assert sum(turn["tokens"] for turn in told) == len(one)


def test_pieces_of_one_turn_are_one_and_replies_are_each_their_own() -> None:
    parts = [segment([1], version=3), segment([2], version=4), heard(3), heard(4)]
    told = turns(answer(parts, "abcd"), DECODE)
    assert [(turn.author, turn.start, turn.stop) for turn in told] == [
        ("policy", 0, 2),
        ("world", 2, 3),
        ("world", 3, 4),
    ]


def test_rewards_of_pieces_add_up_and_what_was_not_said_is_none() -> None:
    paid = [segment([1], earned=np.array([0.25], np.float32)), segment([2], earned=np.array([0.5], np.float32))]
    assert [turn.earned for turn in turns(answer(paid, "ab"), DECODE)] == [0.75]
    unsaid = segment([1], earned=np.array([np.nan], np.float32))
    assert [turn.earned for turn in turns(answer([unsaid], "a"), DECODE)] == [None]


def test_what_replaced_the_context_stands_at_the_turn_that_was_written_under_it() -> None:
    anew = Segment(np.zeros(0, np.int32), np.zeros(0, np.int8), context=np.array([4, 4], np.int32))
    told = turns(answer([segment([1]), anew, segment([2]), heard(3), segment([1])], "abca"), DECODE)
    assert [turn.reads for turn in told] == [None, "dd", None, None]
    assert [turn.author for turn in told] == ["policy", "policy", "world", "policy"], "a new context is a new turn"
    assert turns(answer([segment([1]), anew], "a"), DECODE)[-1].reads is None, "nothing was written under it"


def test_the_text_that_ends_an_answer_is_in_no_turn() -> None:
    told = turns(answer([segment([1, 2]), heard(3), segment([4, 4])], "abcd"), DECODE)
    assert [(turn.start, turn.stop) for turn in told] == [(0, 2), (2, 3), (3, 4)]


def test_a_tokenizer_that_decodes_beginnings_otherwise_still_gives_the_parts_of_the_text() -> None:
    """As those of Llama do, which drop the space before the first word."""
    words = {1: " one", 2: " two", 3: " three"}

    def decode(ids: Sequence[int]) -> str:
        return "".join(words[token] for token in ids).removeprefix(" ")

    one = answer([segment([1]), heard(2), segment([3, 1])], "one two three one")
    assert [one.text[turn.start : turn.stop] for turn in turns(one, decode)] == ["one", " two", " three one"]


def test_only_answers_that_somebody_replies_to_have_turns() -> None:
    plain = episode([1, 2])
    assert as_records(plain, DECODE) is None and not in_a_world(plain)
    assert in_a_world(episode([segment([1]), heard(3)])), "of a run that wrote no seats"
    walk = seated(episode([segment([1], seen=np.zeros((1, 2), np.float32))]))
    assert as_records(walk, DECODE) is None and walk.paid, "steps in a world of numbers are columns of their own"


def test_the_seats_of_one_play_share_its_name() -> None:
    first = seated(episode([1], group="4:7", sample=2)).request
    helper = dataclasses.replace(first, seat="helper", group="4:7/helper", role="helper")
    assert play_of(first) == play_of(helper) == "4:7#2"
    assert play_of(dataclasses.replace(helper, sample=3)) == "4:7#3"
    assert play_of(dataclasses.replace(first, round=1)) == "4:7#2.1"
    assert play_of(episode([1]).request) is None


def test_what_is_told_of_plays() -> None:
    one = answer([segment([1]), heard(3, failed=True), segment([2])], "acb")
    two = answer([segment([1, END])], "a")
    lost = answer([segment([1]), heard(3)], "ac", verdict=Verdict.invalid("world", "it broke"), finish="error")
    told = told_of_plays([one, two, lost, episode([1])])
    assert told == {"answers": 3, "faults": 1, "turns": 4 / 3, "replies": 2 / 3, "failed": 0.5}
    assert told_of_plays([episode([1])]) == {}
    assert [lost_to_the_world(e) for e in (one, lost)] == [False, True]
    records = [as_records(e, DECODE) or [] for e in (one, two, lost)]
    assert told_of_turns(records, 1) == told, "a bank says what an exam says"


def test_of_walks_only_their_number_and_faults_are_told() -> None:
    walk = seated(episode([segment([1], seen=np.zeros((1, 2), np.float32))]))
    assert told_of_plays([walk]) == {"answers": 1, "faults": 0}


def test_without_replies_no_share_of_them_is_told() -> None:
    assert told_of_plays([answer([segment([1])], "a")]) == {
        "answers": 1,
        "faults": 0,
        "turns": pytest.approx(1),
        "replies": 0,
    }
