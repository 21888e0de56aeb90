"""The state of a problem of which harder variants are written: pass counts, and the texts that passed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.tasks import task
from assay.tasks.harder import may_be_asked, variant_of
from assay.types import Episode, Problem, by_group

ROLE = "evolver"


@dataclass(frozen=True)
class Bar:
    """The test of pass counts that a variant must pass, in right answers of `checks`."""

    checks: int
    sure: int  # of a problem that gets variants, at least so many
    least: int  # of a variant, at least so many: fewer say that its answer has changed, or that it is too hard
    margin: int  # a variant must have fewer than the problem's own count less so many

    def accepts(self, right: float, own: float) -> bool:
        """least <= c' < c - margin."""
        return self.least <= right < own - self.margin


@dataclass(frozen=True)
class Evolution:
    """How far the variants of one problem are."""

    seed: Problem
    right: float | None  # c, of `checks` answers to the seed; None: no answer has a verdict
    current: Problem  # the next variant starts from it
    best: Problem | None = None  # of the accepted variants the one with the fewest right answers
    best_right: float = 0.0
    attempts: int = 0
    waiting: Episode | None = None  # a text that may be asked, and was not asked yet


def right_of(answers: Iterable[Episode], checks: int) -> float | None:
    """c = checks times the share of right answers among those with a verdict; None if none has one."""
    judged = [e.right for e in answers if e.verified]
    return checks * sum(judged) / len(judged) if judged else None


def evolution_of(
    answers: Sequence[Episode], texts: Sequence[Episode], replies: dict[str, list[Episode]], bar: Bar
) -> Evolution:
    """The state of a problem after these answers to it and these texts, in the order in which they were written.
    `replies` has the answers to each text, by the id of its request.

    A text that is accepted is the current one from then on; it is also the best, unless one as good or better was
    accepted before. As in the release, each is compared with the count of the seed, not with that of the text before.
    """
    seed = answers[0].request.problem
    evolution = Evolution(seed, right_of(answers[: bar.checks], bar.checks), current=seed)
    for written in sorted(texts, key=lambda one: one.request.sample):
        evolution = dataclasses.replace(evolution, attempts=evolution.attempts + 1)
        text = written.text.strip()
        if written.finish != "stop" or not may_be_asked(task(seed.task), evolution.current, text):
            continue
        if written.request.id not in replies:
            evolution = dataclasses.replace(evolution, waiting=written)
            continue
        right = right_of(replies[written.request.id], bar.checks)
        if right is not None and evolution.right is not None and bar.accepts(right, evolution.right):
            variant = variant_of(seed, text)
            evolution = dataclasses.replace(evolution, current=variant)
            if evolution.best is None or right < evolution.best_right:
                evolution = dataclasses.replace(evolution, best=variant, best_right=right)
    return evolution


def evolutions(episodes: Sequence[Episode], bar: Bar) -> dict[str, Evolution]:
    """Group -> the state of its problem, for each group of the policy's answers that are not answers to a variant."""
    answers: list[Episode] = []
    texts: dict[str, list[Episode]] = {}
    replies: dict[str, list[Episode]] = {}
    for episode in episodes:
        request = episode.request
        if request.role == ROLE:
            texts.setdefault(request.group.removesuffix(f"/{ROLE}"), []).append(episode)
        elif f"/{ROLE}/" in request.group:
            replies.setdefault(request.parent, []).append(episode)
        elif request.role == "policy":
            answers.append(episode)
    groups = by_group(answers)
    return {name: evolution_of(own.members, texts.get(name, ()), replies, bar) for name, own in groups.items()}
