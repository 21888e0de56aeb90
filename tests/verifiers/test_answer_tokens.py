"""Which tokens the final answer has, in letters and in tokens of several characters."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.answer_tokens import answer_tokens, token_with


class Pieces:
    """A codec whose tokens are given texts; the last one ends an answer."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces
        self.end_ids = frozenset({len(pieces)})

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces[i] for i in ids if i < len(self.pieces))


def test_the_answer_by_hand() -> None:
    codec = Pieces("1+", "2", "#3", "4", "\\boxed", "{5", "6}", "#")
    assert answer_tokens([0, 1, 2, 3, 8], "compact", codec) == (2, 4)  # "1+2#34": the token "#3" begins it
    assert answer_tokens([0, 1, 8], "compact", codec) == (0, 2)
    assert answer_tokens([0, 7, 8], "compact", codec) is None and answer_tokens([8], "compact", codec) is None
    assert answer_tokens([0, 4, 5, 6, 1, 8], "natural", codec) == (2, 4)
    assert answer_tokens([0, 1], "natural", codec) is None


@given(st.lists(st.sampled_from(["a", "bc", "", "def"]), min_size=1, max_size=6))
def test_a_character_is_in_the_token_that_is_named(pieces: list[str]) -> None:
    codec = Pieces(*pieces)
    ids = list(range(len(pieces)))
    holders = [i for i, piece in enumerate(pieces) for _ in piece]
    assert [token_with(ids, place, codec) for place in range(len(holders))] == holders
