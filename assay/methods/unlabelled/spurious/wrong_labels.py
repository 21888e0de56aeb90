"""Groups that elect a wrong answer."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row, by_group
from assay.verifiers.elections import answer_of, majority


def wrong_labels(rows: Sequence[Row]) -> list[Row]:
    """Leaves out every group whose most frequent answer is right, or that gives no answer."""
    out: set[int] = set()
    for group in by_group(rows).values():
        answers = [answer_of(row.episode) for row in group.members]
        label = majority(answers)
        voters = [row for row, answer in zip(group.members, answers, strict=True) if answer == label]
        if label is None or any(row.right for row in voters):
            out.update(group.places)
    return leave_out(rows, out)


class WrongLabels(Curator):
    """Only groups train whose most frequent answer is wrong: a control that needs the verifier (2506.10947).

    curate=(WrongLabels(),)
    --mechanism.curate wrong-labels
    """

    does = wrong_labels
    needs_verdict = True
