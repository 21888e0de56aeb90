"""The audit of a gym task: its own answers are accepted, wrong answers are not, and its splits are disjoint.

`python -m assay.tasks.gym.audit [NAME ...]` prints it. Wrong answers are of two kinds. Some
are wrong for every task: an empty answer, the question, the reference inside other text,
twice, or with a foreign character. Others are wrong only if the answer is unique: the
reference with one character changed for another of its kind, and the answer of another item.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.host import terminal
from assay.rng import Key
from assay.tasks.gym.rules import RULES
from assay.tasks.gym.task import gym_names, gym_task
from assay.tasks.task import SPLITS, Spec, Task, natural_text


@dataclass(frozen=True)
class Audit:
    """The counts of one task's audit."""

    name: str
    items: int
    distinct: int
    own: int  # items whose own answer is accepted
    tried: Mapping[str, int]  # wrong answers that were tried, by kind
    rejected: Mapping[str, int]  # wrong answers that were rejected, by kind
    splits: Mapping[str, int]  # distinct items of each split
    shared: int  # questions that are in more than one split
    seconds: float  # processor time to make and check the items, without loading the package
    accepted: tuple[tuple[str, str, str], ...] = ()  # (kind, reference, wrong answer) of wrong answers that passed

    @property
    def clean(self) -> bool:
        return self.own == self.items and self.tried == self.rejected and self.shared == 0

    def __str__(self) -> str:
        wrong = sum(self.tried.values())
        splits = "/".join(str(self.splits.get(split, 0)) for split in SPLITS)
        return (
            f"{self.name:30} {'ok' if self.clean else 'BAD':4} own {self.own}/{self.items}"
            f"  wrong rejected {sum(self.rejected.values())}/{wrong}  distinct {self.distinct} (splits {splits})"
            f"  {self.items / self.seconds:.0f} items/s"
        )


def wrong_answers(spec: Spec, other: str | None, *, unique: bool, place: int) -> Iterator[tuple[str, str]]:
    """Pairs (kind, answer) of answers that are surely wrong. `place` decides which character is changed."""
    reference = spec["answer"].strip()
    yield "empty", ""
    yield "question", spec["question"]
    yield "words", "I do not know"
    yield "inside text", f"The answer is {reference}"
    yield "trailing text", f"{reference} or not"
    yield "twice", f"{reference}\n{reference}"
    places = [i for i, char in enumerate(reference) if not char.isspace()]
    at = places[place % len(places)]
    yield "foreign character", f"{reference[:at]}¿{reference[at + 1 :]}"
    if unique:
        digits_and_letters = [i for i in places if reference[i].isascii() and reference[i].isalnum()] or places
        at = digits_and_letters[place % len(digits_and_letters)]
        yield "one character", reference[:at] + _next(reference[at]) + reference[at + 1 :]
        if other is not None:
            yield "other item", other


def _next(char: str) -> str:
    """Another character of the same kind."""
    for alphabet in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        if char in alphabet:
            return alphabet[(alphabet.index(char) + 1) % len(alphabet)]
    return "¿"


def audit(name: str, items: int = 200) -> Audit:
    """Draws `items` instances, each from a key of its own, and checks their own answers and wrong answers."""
    task = gym_task(name)
    task.generator.instance(Key(0, "audit", name, "warm-up").generator(), 1)
    started = time.process_time()
    specs = [task.generator.instance(Key(0, "audit", name, item).generator(), 1) for item in range(items)]
    tried: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    accepted: list[tuple[str, str, str]] = []
    for index, spec in enumerate(specs):
        others = (other["answer"] for other in specs[index + 1 :] + specs[:index])
        other = next((answer for answer in others if answer.strip() != spec["answer"].strip()), None)
        for kind, answer in wrong_answers(spec, other, unique=RULES[name].unique, place=index):
            tried[kind] += 1
            if task.checker.check(spec, answer).status == "fail":
                rejected[kind] += 1
            else:
                accepted.append((kind, spec["answer"], answer))
    own = sum(_own_answer_counts(task, spec) for spec in specs)
    seconds = time.process_time() - started
    by_question: defaultdict[str, set[str]] = defaultdict(set)  # content as the reader sees it -> its splits
    for spec in specs:
        by_question[spec["question"]].add(task.split_of(spec))
    contents = {task.generator.canonical(spec): task.split_of(spec) for spec in specs}
    return Audit(
        name=name,
        items=items,
        distinct=len(contents),
        own=own,
        tried=tried,
        rejected=rejected,
        splits=Counter(contents.values()),
        shared=sum(len(splits) > 1 for splits in by_question.values()),
        seconds=seconds,
        accepted=tuple(accepted),
    )


def _own_answer_counts(task: Task, spec: Spec) -> bool:
    """Whether the item's own answer is accepted as a whole response, in which the marked answer is found first."""
    problem = task.pose(spec, level=1, wording="natural")
    return task.verify(problem, natural_text(task.wordings.solve(spec))).status == "ok"


if __name__ == "__main__":
    for each in sys.argv[1:] or gym_names():
        report = audit(each)
        terminal.show(f"{report}")
        for kind, reference, answer in report.accepted[:3]:
            terminal.show(f"    {kind}: {answer!r:.100} accepted for {reference!r:.100}")
