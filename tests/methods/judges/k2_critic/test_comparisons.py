"""What comparisons are worth by hand: to the compared, and to the critic."""

from __future__ import annotations

import judged
import pytest
from judged import answer, comparison, judgement, worth

from assay.methods.judges.k2_critic.grounded import Grounded
from assay.methods.judges.k2_critic.preferred import PreferredBy


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def test_wins_by_hand() -> None:
    """a beats b in both orders; b and c each win at the first place; a and d have one text, which ties."""
    a, b, c = (answer(text, sample=i) for i, text in enumerate(["b", "a", "ab"]))
    d = answer("b", sample=3)
    said = [comparison(a, b, "1"), comparison(b, a, "2"), comparison(b, c, "1"), comparison(c, b, "1")]
    assert worth(PreferredBy(), [a, b, c, d], *said) == [0.75, 0.25, 0.5, 0.5]
    torn = [comparison(a, b, "1"), comparison(b, a, "?")]
    assert worth(PreferredBy(), [a, b], *torn) == ["unread"] * 2, "half of a comparison says nothing"
    even = [comparison(a, b, "1"), comparison(b, a, "0")]
    assert worth(PreferredBy(), [a, b], *even) == [0.5, 0.5], "a judge that finds both as good was read"
    assert worth(PreferredBy(), [a, b]) == [None, None]


def test_a_judgement_is_paid_for_its_verdict_whatever_its_form() -> None:
    one = answer("a,a#b")
    said = [judgement(one, text, sample=i) for i, text in enumerate(["+-#1", "--#0", "+#1", "1", "+-"])]
    assert worth(Grounded(wrong=-1.0), [*said, one]) == [1.0, -1.0, 1.0, 1.0, -1.0, None]


def test_a_critic_is_grounded_where_one_answer_is_better() -> None:
    a, b, c = (answer(text, sample=i) for i, text in enumerate(["b", "a", "aa"]))
    said = [comparison(a, b, "1"), comparison(b, a, "1"), comparison(b, c, "1")]
    assert worth(Grounded(), said) == [1.0, 0.0, 0.5], "both of the last pair are wrong"
