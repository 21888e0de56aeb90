"""What a step reports of the replies of environments."""

from __future__ import annotations

import dataclasses

import pytest
from tiny import episode, segment

from assay.record.measure import step_stats
from assay.types import Origin, Row, Verdict

KINDS = ("world", "bug", "world")


def test_replies_are_counted_by_answer_and_once_where_answers_share_them() -> None:
    good, bad = (segment([2], origin=Origin.ENV, failed=failed) for failed in (False, True))
    mine = segment([1])
    first = episode([mine, good, mine, bad, mine], reward=1.0)
    fork = episode([mine, good, mine], sample=1, reward=0.0)
    fork = dataclasses.replace(fork, request=dataclasses.replace(fork.request, prefix=fork.segments[:2]))
    plain = episode([mine], sample=2, reward=0.0)
    rows = [first, fork, plain]
    stats = step_stats(rows, [Row(e) for e in rows])
    assert stats["replies/asked"] == 2 and stats["replies/mean"] == pytest.approx(3 / 3)
    assert stats["replies/failed"] == pytest.approx(1 / 3)
    assert stats["replies/right"] == 2 and stats["replies/failed_right"] == 0.5
    assert not any(name.startswith(("replies/", "world/")) for name in step_stats([plain], [Row(plain)]))


def test_answers_that_a_world_lost_are_counted_apart_from_those_of_verifiers() -> None:
    played = [episode([1], sample=i, reward=None, verdict=Verdict.invalid(kind)) for i, kind in enumerate(KINDS)]
    played = [dataclasses.replace(e, request=dataclasses.replace(e.request, seat="policy"), rewards=()) for e in played]
    stats = step_stats(played, [Row.of(e) for e in played])
    assert stats["world/faults"] == 2 and stats["reward/verifier_failed"] == 3
