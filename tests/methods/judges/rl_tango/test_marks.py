"""What marks are worth by hand: to the answer whose steps are marked, and to the verifier."""

from __future__ import annotations

import judged
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import Signs, answer, judgement, worth

from assay.methods.judges.rl_tango.marks import MarkedBy, WellMarked
from assay.part import bind


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def test_marks_of_steps_by_hand() -> None:
    """y_k / K at the last token of each step, the mean over judgements with as many marks as there are steps."""
    one, none = answer("a,a#b", sample=0), answer("b", sample=1)
    said = [judgement(one, text, sample=i) for i, text in enumerate(["+-#1", "++#0", "+#1", "+-+#1"])]
    found, empty = bind(MarkedBy(), codec=Signs())([one, none], everyone=[one, none, *said])
    assert found.scope == "span" and found.values.tolist() == [0.5, 0.0] and found.at.tolist() == [0, 2]
    assert empty.value == 0.0 and len(empty.values) == 0


@given(st.lists(st.sampled_from(["++#1", "+-#1", "-+#0", "--#0", "+#1", "?"]), max_size=5))
def test_steps_earn_no_more_than_one_in_all(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        judged.register(patch)
        one = answer("a,a#b")
        (found,) = bind(MarkedBy(), codec=Signs())(
            [one], everyone=[one, *[judgement(one, t, sample=i) for i, t in enumerate(texts)]]
        )
        if not any(t[:2] in ("++", "+-", "-+", "--") for t in texts):
            assert found is None if not texts else found.unread
        else:
            assert -1 <= found.value <= 1 and np.isfinite(found.values).all()


def test_a_judgement_is_paid_for_its_form_whatever_its_verdict() -> None:
    one = answer("a,a#b")
    said = [judgement(one, text, sample=i) for i, text in enumerate(["+-#1", "--#0", "+#1", "1", "+-"])]
    assert worth(WellMarked(worth=0.5), said) == [0.5, 0.5, 0.0, 0.0, 0.0]
    assert worth(WellMarked(), [one]) == [None]


def test_an_answer_without_steps_needs_no_judgement() -> None:
    bare = answer("b")
    (found,) = bind(MarkedBy(), codec=Signs())([bare], everyone=[bare, judgement(bare, "?")])
    assert found is not None and found.value == 0.0 and not found.unread
