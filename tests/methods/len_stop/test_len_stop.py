"""The stop-properly penalty."""

from __future__ import annotations

import pytest
from paid import earned
from tiny import episode

from assay.errors import ConfigError
from assay.methods.len_stop.reward import StopProperly


def test_stopping_properly() -> None:
    answers = [
        episode([1], reward=1.0, right=right, finish=finish)  # type: ignore[arg-type]
        for right in (True, False)
        for finish in ("stop", "length")
    ]
    assert earned(StopProperly(right=2.0, wrong=-1.0, cut=0.25), answers) == [2.0, 0.5, -1.0, -0.25]
    assert earned(StopProperly(right=2.0, wrong=-1.0, cut=-0.5), answers) == [2.0, -0.5, -1.0, -0.5]
    with pytest.raises(ConfigError, match=r"1\.5"):
        earned(StopProperly(cut=1.5), answers)
