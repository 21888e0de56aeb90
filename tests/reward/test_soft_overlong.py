"""The punishment of answers that come near the limit."""

from __future__ import annotations

import pytest
from paid import earned, in_turns

from assay.reward import SoftOverlong


def test_the_limit_counts_replies_and_so_does_the_punishment_of_coming_near_it() -> None:
    """7 of 8 tokens, 2 into a buffer of 3."""
    assert earned(SoftOverlong(buffer=3), [in_turns(2, 5, 0)]) == pytest.approx([-2 / 3])
