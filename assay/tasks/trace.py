"""Small programs with conditions and a loop, traced line by line. Planning pays: only some lines bear on the question.

A program has four variables, modulo 7. The question asks for two of them at the end, so that a blind guess is right
in one case of 49. A step is one executed line with the value behind each operand, and what it gives: `3a5+22=c0` of
the line `3C=A+2`, and `4a5>33=?1` of the line `4?A>3`, which executes the next line only if its condition holds. `6^4`
goes back to line 4, once. A number stands twice, so that operands are always equally far from the result, and a small
letter always has its value behind it: a small model then learns where to look.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.rng import Key
from assay.tasks.abilities import OwnBase
from assay.tasks.steps import TAKE_BACK, Ending, StepVerdict
from assay.tasks.strategies import Strategies
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.tasks.two_values import check_two, ending_of_two
from assay.types import Verdict

PRIME = 7
VARIABLES = "abcd"

_SHORTEST = 4  # lines of a program that has a loop
_LINES = range(3, 10)  # their numbers are one digit
_RULE = re.compile(r"([a-d])=([a-d])([-+*])([a-d]|[0-9])")
_CONDITION = re.compile(r"\?([a-d])>([0-9])")
_BACK = re.compile(r"\^([0-9])")
_STEP = re.compile(r"([1-9])\??(?:([a-d])=)?(.+)=([a-d]?)\??([0-9])")
_WORDING = re.compile(r"line|mod|[ :]")
_MOST_CHARACTERS = 80  # of a step


@dataclass(frozen=True)
class Event:
    """One execution of a line.

    Event(3, "c", ("a", "+", "2"), 5, 2, 0, frozenset({1}))  # of the line 3c=a+2, where a is 5 since event 1
    """

    line: int
    writes: str  # the variable; "" for a condition
    rule: tuple[str, str, str]  # a variable, an operator, and a variable or a number
    left: int  # the values of both
    right: int
    value: int  # of the variable; of a condition 1 if it holds, else 0
    needs: frozenset[int]  # the places of the events on which this one depends

    @property
    def text(self) -> str:
        a, operator, b = self.rule
        return f"{self.line}{a}{self.left}{operator}{b}{self.right}={self.writes or '?'}{self.value}"

    @property
    def words(self) -> str:
        """The same in natural wording."""
        a, operator, b = self.rule
        name = f"{self.writes} = " if self.writes else ""
        return f"line {self.line}: {name}{a} {operator} {b} = {self.left} {operator} {self.right} = {self.value}"

    @property
    def sides(self) -> frozenset[str]:
        """The texts that may stand before the value: variables, their values or both, and for + and * in any order."""
        a, operator, b = self.rule
        other = {b, str(self.right), f"{b}{self.right}"}
        pairs = [(x, y) for x in (a, str(self.left), f"{a}{self.left}") for y in other]
        swapped = [(y, x) for x, y in pairs] if operator in "+*" else []
        return frozenset(f"{x}{operator}{y}" for x, y in (*pairs, *swapped))


@dataclass(frozen=True)
class Execution:
    """The run of a program: its events, the final values, and the events on which each final value depends."""

    events: tuple[Event, ...]
    values: Mapping[str, int]
    sources: Mapping[str, frozenset[int]]

    def needed(self, asked: str) -> list[int]:
        """The places of all events on which the final values of these variables depend."""
        open_to = {place for name in asked for place in self.sources[name]}
        found: set[int] = set()
        while open_to:
            place = open_to.pop()
            found.add(place)
            open_to |= self.events[place].needs - found
        return sorted(found)


def execute(spec: Spec) -> Execution:
    """Runs a program. A line depends on the condition before it. A variable also depends on each condition that did
    not hold and so skipped a line that changes it.
    """
    lines = spec["lines"]
    values = {name: int(digit) for name, digit in zip(VARIABLES, spec["start"], strict=True)}
    sources: dict[str, frozenset[int]] = dict.fromkeys(VARIABLES, frozenset())
    events: list[Event] = []
    position, repeats = 0, True
    guard: frozenset[int] = frozenset()  # the condition of the present line
    while position < len(lines):
        line, position = lines[position], position + 1
        if back := _BACK.fullmatch(line):
            position, repeats = (int(back[1]) - 1 if repeats else position), False
        elif condition := _CONDITION.fullmatch(line):
            name, bound = condition[1], int(condition[2])
            holds = values[name] > bound
            events.append(
                Event(position, "", (name, ">", condition[2]), values[name], bound, int(holds), sources[name] | guard)
            )
            guard = frozenset({len(events) - 1})
            if not holds:
                skipped = _parsed(lines[position])[0]
                sources[skipped] |= guard
                position, guard = position + 1, frozenset()
        else:
            name, rule = _parsed(line)
            left, operator, right = rule
            a, b = values[left], values[right] if right in values else int(right)
            values[name] = (a + b if operator == "+" else a - b if operator == "-" else a * b) % PRIME
            needs = sources[left] | sources.get(right, frozenset()) | guard
            events.append(Event(position, name, rule, a, b, values[name], needs))
            sources[name], guard = frozenset({len(events) - 1}), frozenset()
    return Execution(tuple(events), values, sources)


def _parsed(line: str) -> tuple[str, tuple[str, str, str]]:
    name, rule = line.split("=")
    return name, (rule[0], rule[1], rule[2])


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A random program that executes as many lines as the level says, and a question. Half of the executed lines or
    more bear on its answer, but not all.
    """
    pairs = list(itertools.permutations(VARIABLES, 2))
    while True:
        length = int(generator.integers(max(_LINES.start, level // 2), min(level + 2, _LINES.stop)))
        lines: list[str] = []
        while len(lines) < length:
            if generator.random() < 0.2 and len(lines) < length - 1:
                lines.append(f"?{VARIABLES[int(generator.integers(4))]}>{generator.integers(1, 6)}")
            lines.append(_line(generator))
        if length >= _SHORTEST and generator.random() < 0.5:
            lines.append(f"^{_loop_start(generator, lines)}")
        if len(lines) > 9:
            continue
        start = "".join(map(str, generator.integers(PRIME, size=4).tolist()))
        execution = execute({"start": start, "lines": lines})
        if len(execution.events) != level:
            continue
        for pair in generator.permutation(len(pairs)).tolist():
            asked = "".join(pairs[pair])
            changed = all(any(execution.events[at].writes == name for at in execution.sources[name]) for name in asked)
            if changed and level / 2 <= len(execution.needed(asked)) <= 3 * level / 4:
                return {"start": start, "lines": lines, "asked": asked}


def _line(generator: np.random.Generator) -> str:
    """An assignment. Products are with a number of 2 to 6, so that each value of a product is as frequent as any."""
    name, left, right = (VARIABLES[int(generator.integers(4))] for _ in range(3))
    operator = "+-*"[int(generator.integers(3))]
    if operator == "*" or left == right or generator.random() < 0.4:
        right = str(generator.integers(2, PRIME))
    return f"{name}={left}{operator}{right}"


def _loop_start(generator: np.random.Generator, lines: Sequence[str]) -> int:
    """The number of a line to which a loop may go back: not one that a condition governs."""
    free = [at + 1 for at in range(len(lines)) if at == 0 or not lines[at - 1].startswith("?")]
    return free[int(generator.integers(len(free)))]


def _canonical(spec: Spec) -> str:
    return f"{spec['start']} {';'.join(spec['lines'])}?{''.join(sorted(spec['asked']))}"


def _compact(spec: Spec) -> str:
    start = "".join(f"{name}{digit}" for name, digit in zip(VARIABLES, spec["start"], strict=True))
    lines = " ".join(f"{at}{line.upper()}" for at, line in enumerate(spec["lines"], 1))
    return f"t {start} {lines}?{spec['asked']}"


def _in_words(line: str) -> str:
    if back := _BACK.fullmatch(line):
        return f"go back to line {back[1]}, but only the first time"
    if condition := _CONDITION.fullmatch(line):
        return f"do the next line only if {condition[1]} > {condition[2]}"
    name, (left, operator, right) = _parsed(line)
    return f"{name} = {left} {operator} {right}"


def _natural(spec: Spec) -> str:
    start = ", ".join(f"{name} = {digit}" for name, digit in zip(VARIABLES, spec["start"], strict=True))
    lines = "\n".join(f"{at}: {_in_words(line)}" for at, line in enumerate(spec["lines"], 1))
    first, second = spec["asked"]
    return (
        f"A program starts with {start}. It counts modulo {PRIME}: only the remainder from 0 to {PRIME - 1} is kept."
        f"\n\n{lines}\n\nWhat are {first} and {second} in the end? Trace the lines that matter in the order in which "
        "they are done, one on each line, in the form `line 3: c = a + 2 = 5 + 2 = 0`, and for a condition "
        "`line 4: a > 3 = 5 > 3 = 1`, with 1 if it holds and 0 if not; a line with ~ alone takes back the line before "
        f"it. Give the two numbers, first {first}, in \\boxed{{...}}, for example \\boxed{{3, 5}}."
    )


def _written(spec: Spec, strategy: str) -> Solution:
    found = execute(spec)
    answer = "".join(str(found.values[name]) for name in spec["asked"])
    if strategy == "direct":
        return Solution(answer)
    chosen = [found.events[at] for at in found.needed(spec["asked"])] if strategy == "sliced" else list(found.events)
    steps, lines = [event.text for event in chosen], [event.words for event in chosen]
    if strategy == "corrected":
        generator = Key("mistake", "trace", _canonical(spec)).generator()
        at = int(generator.integers(len(chosen)))
        span = PRIME if chosen[at].writes else 2
        wrong = str((chosen[at].value + int(generator.integers(1, span))) % span)
        steps[at:at], lines[at:at] = [steps[at][:-1] + wrong, TAKE_BACK], [lines[at][:-1] + wrong, TAKE_BACK]
    return Solution(answer, ",".join(steps), "\n".join(lines))


WAYS = Strategies("trace", {"direct": 0.5, "forward": 0.3, "sliced": 0.1, "corrected": 0.1}, _canonical, _written)
"""Worked solutions and their shares: the answer alone; all executed lines; the executed lines on which the answer
depends; and as `forward`, with a wrong step that is taken back. Half of them do not reason, so that a policy can gain
by reasoning more often, and not only by fewer slips.
"""


def _check(spec: Spec, text: str) -> Verdict:
    return check_two(spec["asked"], execute(spec).values, text, modulus=PRIME)


def _read(spec: Spec, steps: Sequence[str], answer: str | None) -> tuple[list[StepVerdict], Ending]:
    """A step is true if it tells an execution of its line that is later than all executions told before, and if earlier
    steps traced all that this execution depends on. In a loop two executions of a line may be alike: then either may be
    meant, and the verdicts are those of the reading with the most valid steps.
    """
    execution = execute(spec)
    needed = set(execution.needed(spec["asked"]))
    readings: list[tuple[int, ...]] = [()]  # which events the true steps tell
    stated: dict[str, str] = {}  # the values that steps give to variables, except steps that are taken back
    undo: dict[str, str] | None = None  # `stated` before the last step, if that step is wrong
    verdicts: list[StepVerdict] = []
    for text in steps:
        if text == TAKE_BACK:
            verdicts.append("wrong" if undo is None else "valid")
            stated, undo = stated if undo is None else undo, None
            continue
        match = _STEP.fullmatch(_WORDING.sub("", text)) if len(text) <= _MOST_CHARACTERS else None
        longer = [] if match is None else [(*told, at) for told in readings for at in _places(execution, match, told)]
        verdicts.append("useless" if longer else "wrong")
        readings, undo = longer or readings, None if longer else stated
        if match is not None and (name := match[2] or match[4]):
            stated = {**stated, name: match[5]}
    best = iter(max(readings, key=lambda told: len(needed.intersection(told))))
    verdicts = ["valid" if verdict == "useless" and next(best) in needed else verdict for verdict in verdicts]
    return verdicts, ending_of_two(spec["asked"], stated, answer)


def _places(found: Execution, match: re.Match[str], told: Sequence[int]) -> Iterator[int]:
    """The places of the events that a step may tell: they come after all told events, and depend on these alone."""
    names = {match[2], match[4]} - {None, ""}
    for place in range(max(told, default=-1) + 1, len(found.events)):
        event = found.events[place]
        alike = str(event.line) == match[1] and str(event.value) == match[5] and names == {event.writes} - {""}
        if alike and event.sides.issuperset(match[3].split("=")) and event.needs.issubset(told):
            yield place


TRACE = Task(
    name="trace",
    domain="programs",
    summary=(
        "Two variables at the end of a program with conditions and a loop, modulo 7; the level is the number of lines "
        "that are executed."
    ),
    generator=Generator(levels=range(6, 15), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=WAYS.solve, others=WAYS.others),
    checker=Checker(check=_check, steps=_read),
    abilities=(
        OwnBase("programs that execute six lines", levels=(6,), num_steps=1600, context=384, learning_rate=2e-3),
    ),
)
