"""Countdown as a stream of search: tries, dead ends and returns, and at last the expression (2404.03683).

The problems and the answers are those of `countdown`. The steps before an answer walk over states. A state is the list
of the numbers that are left:

    4*7=28 3    4 and 7 are taken, 28 and 3 are left
    28-3=25!    a try that is given up at once: the state stays
    <3 4 7      back to the state before, whose numbers are 3, 4 and 7
    ~           the step before is wrong, and is taken back
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.rng import Key
from assay.tasks.abilities import OwnBase
from assay.tasks.countdown import COUNTDOWN, evaluate, to_postfix
from assay.tasks.steps import TAKE_BACK, Ending, StepVerdict
from assay.tasks.strategies import Strategies
from assay.tasks.task import Checker, Solution, Spec, Task, Wordings

GIVE_UP, RETURN = "!", "<"

_EXCURSIONS = 2  # a worked search gives up at most so many first tries before it turns to a right one
_LEAVES = 2  # tries of the last two numbers in an excursion
_LARGEST_VALUE = 300
_TOKEN = re.compile(r"[0-9]+|[-+*/()]")
_STEP = re.compile(r"([0-9]{1,6})([-+*/])([0-9]{1,6})=([0-9]{1,6})(!?)((?: [0-9]{1,6}){0,9})")
_BACK = re.compile(r"<([0-9]{1,6}(?: [0-9]{1,6}){0,9})?")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}

Operation = tuple[int, str, int, int]  # two numbers with an operator between them, and the result
Rank = Callable[[Operation], float]  # tries of a state are made in the order of this number


def _value(a: int, operator: str, b: int) -> int | None:
    """a operator b, if it is a whole number that is not negative."""
    if operator == "/":
        return a // b if b and a % b == 0 else None
    value = a + b if operator == "+" else a - b if operator == "-" else a * b
    return value if value >= 0 else None


def _tries(numbers: Sequence[int]) -> list[Operation]:
    """The operations on two numbers that a worked search may try: results of 1 to 300, and no factor or divisor 1."""
    found: dict[Operation, None] = {}
    for x, y in itertools.combinations(numbers, 2):
        a, b = max(x, y), min(x, y)
        for operator in "+-*/":
            value = _value(a, operator, b)
            if value is not None and 0 < value <= _LARGEST_VALUE and (operator in "+-" or b > 1):
                found[a, operator, b, value] = None
    return list(found)


def _after(numbers: Sequence[int], operation: Operation) -> list[int]:
    """The state after an operation: its result, then the numbers that it did not take."""
    left = list(numbers)
    left.remove(operation[0])
    left.remove(operation[2])
    return [operation[3], *left]


def _witness(spec: Spec) -> list[Operation]:
    """The operations of the expression from which the problem was made."""
    return _operations(to_postfix(_TOKEN.findall(spec["witness"])) or [])


def _operations(postfix: Sequence[str]) -> list[Operation]:
    """The operations of an expression in their order, except operations whose numbers or result are not whole."""
    stack: list[list[str]] = []
    found: list[Operation] = []
    for token in postfix:
        if token not in _PRECEDENCE:
            stack.append([token])
            continue
        right, left = stack.pop(), stack.pop()
        (a, b), (c, d) = (evaluate(part) or (1, 0) for part in (left, right))
        if b and d and a % b == 0 and c % d == 0 and (value := _value(a // b, token, c // d)) is not None:
            found.append((a // b, token, c // d, value))
        stack.append([*left, *right, token])
    return found


def _alike(operation: Operation) -> Operation:
    """The same for a + b and b + a, and for a * b and b * a."""
    a, operator, b, value = operation
    return (min(a, b), operator, max(a, b), value) if operator in "+*" else operation


def _text(operation: Operation, rest: Sequence[int] = (), end: str = "") -> str:
    a, operator, b, value = operation
    return f"{a}{operator}{b}={value}{end}" + "".join(f" {number}" for number in rest)


def _expression(path: Sequence[Operation]) -> str:
    """The operations as one expression, in which nothing is grouped in another way than they are."""
    made: list[tuple[int, str, int]] = []  # value, text, precedence of its outermost operator
    for a, operator, b, value in path:
        level = _PRECEDENCE[operator]
        (left, outer), (right, inner) = (_taken(made, number) for number in (a, b))
        left = f"({left})" if outer < level else left
        right = f"({right})" if inner < 3 else right
        made.append((value, f"{left}{operator}{right}", level))
    return made[-1][1]


def _taken(made: list[tuple[int, str, int]], number: int) -> tuple[str, int]:
    """The text of this number, by the newest operation that made it, and its precedence."""
    for place in range(len(made) - 1, -1, -1):
        if made[place][0] == number:
            return made.pop(place)[1:]
    return str(number), 3


def _search(spec: Spec, rank: Rank, excursions: int) -> tuple[list[str], list[Operation]]:
    """The steps of a search, and the operations that reach the target: those of an excursion, or the witness."""
    start, target, steps = list(spec["numbers"]), spec["target"], []
    for first in sorted(_tries(start), key=rank)[:excursions]:
        path, states = [first], [start, _after(start, first)]
        while len(states[-1]) > 2:
            path.append(min(_tries(states[-1]), key=rank))
            states.append(_after(states[-1], path[-1]))
        steps += [_text(operation, state[1:]) for operation, state in zip(path, states[1:], strict=True)]
        for leaf in sorted(_tries(states[-1]), key=rank)[:_LEAVES]:
            if leaf[3] == target:
                return [*steps, _text(leaf)], [*path, leaf]
            steps.append(_text(leaf, end=GIVE_UP))
        steps += [f"{RETURN}{' '.join(map(str, state))}" for state in reversed(states[:-1])]
    path, state = _witness(spec), start
    for operation in path:
        state = _after(state, operation)
        steps.append(_text(operation, state[1:]))
    return steps, path


def _written(spec: Spec, strategy: str) -> Solution:
    generator = Key("search", COUNTDOWN.generator.canonical(spec), strategy).generator()
    if strategy == "direct":
        return Solution(_expression(_witness(spec)))
    steps, path = _search(spec, _rank(strategy, spec["target"], generator), 1 + int(generator.integers(_EXCURSIONS)))
    if strategy == "corrected":
        tries = [place for place, step in enumerate(steps) if not step.startswith(RETURN)]
        at = tries[int(generator.integers(len(tries)))]
        steps[at:at] = [_mistaken(steps[at], 1 + int(generator.integers(3))), TAKE_BACK]
    return Solution(_expression(path), ",".join(steps), "\n".join(steps))


def _rank(strategy: str, target: int, generator: np.random.Generator) -> Rank:
    if strategy != "blind":
        return lambda operation: abs(operation[3] - target)
    salt = int(generator.integers(1 << 32))
    return lambda operation: Key("blind", salt, *operation).bits


def _mistaken(step: str, by: int) -> str:
    """The step with a result that is too large."""
    return re.sub(r"(?<==)[0-9]+", lambda m: str(int(m[0]) + by), step)


WAYS = Strategies(
    "search-stream",
    {"direct": 0.2, "nearest": 0.35, "blind": 0.2, "corrected": 0.25},
    COUNTDOWN.generator.canonical,
    _written,
)
"""Worked solutions and their shares: the answer alone; a search that tries first what comes nearest to the target; a
search in random order; and as `nearest`, with a wrong step that is taken back.
"""


def _natural(spec: Spec) -> str:
    return (
        f"{COUNTDOWN.wordings.natural(spec)} Search before you answer, one step on each line. `4*7=28 3` takes 4 and "
        "7 and leaves 28 and 3. `28-3=25!` is a try that you give up at once. `<3 4 7` goes back by one step, to the "
        "numbers 3, 4 and 7. `~` takes back the line before it, because it is wrong."
    )


@dataclass(frozen=True)
class _State:
    """A state of a search: the numbers that are left, and how they were reached."""

    numbers: tuple[int, ...]
    path: tuple[Operation, ...] = ()
    steps: tuple[int, ...] = ()  # the places of the steps of `path`
    sound: bool = True  # no step on the way is wrong


@dataclass(frozen=True)
class _Search:
    """The position of a search."""

    states: tuple[_State, ...]  # from the problem's numbers to the present state
    hit: _State | None = None  # the last state that is the target alone


def _read(spec: Spec, steps: Sequence[str], answer: str | None) -> tuple[list[StepVerdict], Ending]:
    """The steps on the path to the last hit of the target are valid if all are true; other true steps are useless.
    A step that follows from a wrong one is wrong too, until the wrong step is taken back or left.
    """
    target = spec["target"]
    now = _Search((_State(tuple(spec["numbers"])),))
    undo: _Search | None = None  # the search before the last step, if that step is wrong
    verdicts: list[StepVerdict] = []
    for index, text in enumerate(steps):
        if text == TAKE_BACK:
            verdicts.append("wrong" if undo is None else "valid")
            now, undo = undo or now, None
            continue
        after, true = _returned(now, text) if text.startswith(RETURN) else _tried(now, text, index, target)
        verdicts.append("useless" if true else "wrong")
        now, undo = after, None if true else now
    for index in now.hit.steps if now.hit is not None and now.hit.sound else ():
        verdicts[index] = "valid"
    return verdicts, _ending(spec, now.hit, answer)


def _returned(search: _Search, text: str) -> tuple[_Search, bool]:
    """The search after a step back, and whether the step is true: there was a state before, with the listed numbers."""
    match = _BACK.fullmatch(text)
    if match is None or len(search.states) == 1:
        return search, False
    before = replace(search, states=search.states[:-1])
    listed = (match[1] or "").split()
    return before, not listed or Counter(map(int, listed)) == Counter(before.states[-1].numbers)


def _tried(search: _Search, text: str, place: int, target: int) -> tuple[_Search, bool]:
    """The search after a try, and whether the step is true."""
    after, gives_up = _step(search.states[-1], text, place)
    if after is None:
        return search, False
    hits = after.numbers == (target,)
    if gives_up:
        return search, after.sound and not hits
    return _Search((*search.states, after), after if hits else search.hit), after.sound


def _step(state: _State, text: str, place: int) -> tuple[_State | None, bool]:
    """The state after a step, sound or not, and whether the step gives it up; None for what cannot be done or read."""
    match = _STEP.fullmatch(text)
    if match is None:
        return None, False
    a, operator, b, value = int(match[1]), match[2], int(match[3]), int(match[4])
    if Counter((a, b)) - Counter(state.numbers):
        return None, False
    after = tuple(_after(state.numbers, (a, operator, b, value)))
    listed = tuple(map(int, match[6].split()))
    true = _value(a, operator, b) == value and (not listed or Counter(listed) == Counter(after[1:]))
    path = (*state.path, (a, operator, b, value))
    return _State(after, path, (*state.steps, place), state.sound and true), bool(match[5])


def _ending(spec: Spec, hit: _State | None, answer: str | None) -> Ending:
    """An answer is faithful if it has the operations of the last path that claims to hit the target."""
    postfix = to_postfix(_TOKEN.findall(COUNTDOWN.checker.check(spec, answer or "").answer or ""))
    if postfix is None:
        return "none"
    if hit is None:
        return "shortcut"
    same = Counter(map(_alike, _operations(postfix))) == Counter(map(_alike, hit.path))
    return "faithful" if same else "contrary"


SEARCH_STREAM = Task(
    name="search-stream",
    domain="arithmetic",
    summary="Countdown with the search written down, tries, dead ends and returns; the level is how many numbers.",
    generator=COUNTDOWN.generator,
    wordings=Wordings(
        compact=lambda spec: f"c {' '.join(map(str, spec['numbers']))}={spec['target']}",
        natural=_natural,
        solve=WAYS.solve,
        others=WAYS.others,
    ),
    checker=Checker(check=COUNTDOWN.checker.check, steps=_read),
    abilities=(
        OwnBase(
            "searches for an expression with three numbers, blind or by nearness",
            levels=(3,),
            num_steps=600,
            context=512,
            hidden=144,
            learning_rate=2e-3,
        ),
    ),
)
