"""`assay search`: what is chosen by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tiny import END, episode, segment

from assay.lab.searched import arm, best, most_frequent, written
from assay.types import Episode, Verdict


def said(answer: str | None, sample: int, *, right: bool = False, finish: str = "stop", group: str = "g") -> Episode:
    made = episode([1, END], sample=sample, group=group, finish=finish)
    verdict = Verdict("ok" if right else "fail", "" if right else "wrong", answer=answer)
    return dataclasses.replace(made, verdict=verdict)


def test_the_best_and_the_most_frequent_by_hand() -> None:
    members = [said("a", 0), said("b", 1, right=True), said("b", 2, right=True), said("c", 3, finish="length")]

    def score(answers: Sequence[Episode]) -> list[float]:
        return [{0: 0.5, 1: 0.1, 2: 0.4, 3: 9.0}[answer.request.sample] for answer in answers]

    assert best(members, score) == [members[0]], "what was cut is no answer"
    assert most_frequent(members) == [members[1]]
    assert best(members[3:], score) == [] == most_frequent([said(None, 0)])


def test_the_share_and_the_tokens_by_hand() -> None:
    """Of three problems one is right, one wrong, and of one the chosen answer was never judged."""
    rows = [said("a", 0, right=True, group="x"), said("a", 0, group="y"), said("a", 0, group="z")]
    rows[2] = dataclasses.replace(rows[2], verdict=Verdict.invalid("worker_lost"))
    found = arm("one", rows, lambda members: members[:1])
    assert found["right"]["mean"] == 0.5 and found["invalid"] == 1 and found["tokens"] == 2.0
    assert arm("none", rows[:2], lambda members: [])["right"]["mean"] == 0.0
    assert arm("lost", rows[2:], lambda members: members)["right"] is None


def test_every_token_is_counted_once() -> None:
    first = segment([1, 2], node="a")
    step = episode([first])
    after = episode([first, segment([3], node="b")])
    after = dataclasses.replace(after, request=dataclasses.replace(after.request, prefix=(first,)))
    assert written([step, after]) == 3
