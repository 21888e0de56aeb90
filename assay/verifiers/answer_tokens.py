"""The place of a text in the tokens of a response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from assay.verifiers.answers import Wording, answer_place


class Decoding(Protocol):
    """A tokenizer, which turns tokens into text."""

    @property
    def end_ids(self) -> frozenset[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...


def token_with(ids: Sequence[int], place: int, codec: Decoding) -> int:
    """The index of the token that holds the character at this place of the text; of the last token if none does."""
    low, high = 0, len(ids) - 1  # the shortest beginning whose text is longer than `place` ends with the token
    while low < high:
        middle = (low + high) // 2
        if len(codec.decode(ids[: middle + 1])) > place:
            high = middle
        else:
            low = middle + 1
    return max(low, 0)


def answer_tokens(ids: Sequence[int], wording: Wording, codec: Decoding) -> tuple[int, int] | None:
    """The tokens of the final answer, as (first, one behind the last); None if there is no answer or it is empty. The
    end of the text and the mark that closes the answer are no part of it.

        answer_tokens(codec.encode("1+2#3"), "compact", codec)  # (4, 5)
    """
    written = next((i for i, token in enumerate(ids) if token in codec.end_ids), len(ids))
    place = answer_place(codec.decode(ids[:written]), wording)
    if place is None or place[0] >= place[1]:
        return None
    begin, end = place
    return token_with(ids, begin, codec), token_with(ids, end - 1, codec) + 1
