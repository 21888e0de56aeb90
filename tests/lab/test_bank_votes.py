"""What a verifier chooses among the answers of a bank, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from banked import made

from assay.lab import bank_votes
from assay.types import Verdict


def test_four_rules_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one problem: 24 (right) with chance 0.9; 23 three times with 0.5, 0.4, 0.6; and 25 with 0.95. The majority is
    23; so is the largest sum, 1.5. The best is 25. Pessimistic: 25 has 0.95 - a ln 5 / 2, 23 has 0.5 - a ln 5 / 4.
    """
    wrong = [Verdict.fail("wrong", answer=answer) for answer in ("23", "23", "23", "25")]
    bank = made({"a": [Verdict.ok("24"), *wrong], "b": [Verdict.ok("1")] * 5})
    chances = np.array([0.9, 0.5, 0.4, 0.6, 0.95, *[0.5] * 5])
    monkeypatch.setattr(bank_votes, "chances_right", lambda *_: chances)

    class Anyone:
        name, engine = "anyone", None

        class policy:
            codec = None

    reader: Any = Anyone()
    found = bank_votes.vote(bank, reader, [5], alpha=0.1)
    assert {name: values["5"] for name, values in found["chosen"].items()} == dict.fromkeys(found["chosen"], 0.5)
    assert found["auroc"] == 3 / 4
    chances[0] = 0.99
    found = bank_votes.vote(bank, reader, [5], alpha=0.1)["chosen"]
    assert (found["best"]["5"], found["pessimistic"]["5"], found["weighted"]["5"]) == (1.0, 1.0, 0.5)
    assert bank_votes.vote(bank, reader, [5], alpha=9.0)["chosen"]["pessimistic"]["5"] == 0.5
