"""Old answers are trained without a warning: those that are too far off are dropped."""

from warned import told, with_lag


def test_old_answers_want_no_other_correction() -> None:
    assert told(with_lag("areal", samplers="2")) == ""
    assert "does not correct" not in told(with_lag("areal")) and "wins no time" in told(with_lag("areal"))
