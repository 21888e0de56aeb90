"""Streams of search: steps by hand, and random walks against a machine that shares no code with the reading."""

from __future__ import annotations

import ast
import random
import re
from fractions import Fraction

import pytest

from assay.rng import Key
from assay.tasks import task
from assay.types import Problem

SPEC = {"numbers": [3, 4, 7], "target": 25, "witness": "4*7-3"}
STREAM = task("search-stream")


def read(text: str, spec: dict = SPEC) -> tuple[str, str]:
    """The first letters of the verdicts, and the ending."""
    found = STREAM.chain(STREAM.pose(spec, level=3), text)
    assert found is not None
    return "".join(step.verdict[0] for step in found.steps), found.ending


@pytest.mark.parametrize(
    ("text", "verdicts", "ending"),
    [
        ("4*7=28 3,28-3=25#4*7-3", "vv", "faithful"),
        ("7*4=28,28-3=25#7*4-3", "vv", "faithful"),  # the numbers that are left need not be listed
        ("4*7=28 3,28-3=25#(4*7)-3", "vv", "faithful"),
        ("4*7=28 3,28-3=25#7*4-3", "vv", "faithful"),  # a product in the other order
        ("4*7-3", "", "shortcut"),
        ("4*7=28 3#4*7-3", "u", "shortcut"),  # the steps do not reach the target
        ("4*7=28 3,28-3=25#4+7*3", "vv", "contrary"),
        ("4*7=28 3,28-3=25", "vv", "none"),
        ("4*7=28 3,28-3=25#4*7-", "vv", "none"),
        ("4*7=28 3,28-3=25#4*7-3=25", "vv", "none"),
        ("4-7=3 3", "", "none"),  # without '#' and ',' it is an answer alone
        ("7-4=3 3,3*3=9!,3+3=6!,<3 4 7,4*7=28 3,28-3=25#4*7-3", "uuuuvv", "faithful"),
        ("7-4=3 3,<,4*7=28,28-3=25#4*7-3", "uuvv", "faithful"),
        ("4*7=28 4,28-3=25!#4*7-3", "ww", "shortcut"),  # 3 is left, not 4: what follows is wrong too
        ("4*7=27 3,27-3=24!,~,4*7=28 3,28-3=25#4*7-3", "wwvww", "shortcut"),  # ~ takes back only the try before it
        ("4*7=27 3,~,4*7=28 3,28-3=25#4*7-3", "wvvv", "faithful"),
        ("4*7=28 3,28-3=24,~,28-3=25#4*7-3", "vwvv", "faithful"),
        ("4*7=28 3,~,28-3=25#4*7-3", "vwv", "faithful"),  # a true step is not taken back
        ("~,~", "ww", "none"),
        ("<3 4 7,4*7=28 3", "wu", "none"),  # there is nothing to go back to
        ("4*7=28 3,<3 4 8,~,28-3=25#4*7-3", "vwvv", "faithful"),
        ("4*7=28 3,28-3=25!#4*7-3", "uw", "shortcut"),  # given up, although it is the target
        ("5*5=25#5*5", "w", "shortcut"),  # 5 is not there
        ("4-7=3 3#", "w", "none"),
        ("7/4=1 3#", "w", "none"),
        ("7/0=0 3,4*7=28 3 3", "ww", "none"),
        ("4*7=28 3,28-3=25,<28 3,<3 4 7,7-4=3 3#4*7-3", "vvuuu", "faithful"),  # the last hit counts
        ("4*7=25 3,25#4*7-3", "ww", "shortcut"),
    ],
)  # fmt: skip
def test_steps_that_a_person_can_check(text: str, verdicts: str, ending: str) -> None:
    assert read(text) == (verdicts, ending)


def test_a_wrong_hit_that_the_answer_repeats_is_faithful_and_has_no_valid_step() -> None:
    assert read("4*7=22 3,22+3=25#4*7+3")[0] == "ww"
    assert read("3+7=21 4,21+4=25#3+7+4")[0] == "ww"


def test_worked_searches_differ_by_strategy() -> None:
    problem = STREAM.problem(Key(5), level=4)
    texts = set(STREAM.traces(problem))
    assert len(texts) == 4 and sum("," not in text for text in texts) == 1 and sum("~" in text for text in texts) == 1


# --- random walks ---------------------------------------------------------------------------------------------------


class Machine:
    """Walks as the rules say, with lists in place of records. A bad state is one that a wrong try has made."""

    def __init__(self, numbers: list[int], target: int) -> None:
        self.stack: list[tuple[list[int], bool]] = [(sorted(numbers), False)]
        self.target = target
        self.before: list[tuple[list[int], bool]] | None = None

    def step(self, text: str) -> bool:
        """Whether the step is true."""
        kept = list(self.stack)
        if text == "~":
            before, self.before = self.before, None
            self.stack = self.stack if before is None else before
            return before is not None
        true = self.back(text) if text[0] == "<" else self.attempt(text)
        self.before = None if true else kept
        return true

    def back(self, text: str) -> bool:
        if len(self.stack) < 2:
            return False
        self.stack = self.stack[:-1]
        return text == "<" or sorted(map(int, text[1:].split())) == self.stack[-1][0]

    def attempt(self, text: str) -> bool:
        numbers, bad = self.stack[-1]
        sum_, result, *rest = re.split("[= ]", text.rstrip("!").replace("! ", " "))
        a, operator, b = re.fullmatch(r"(\d+)(.)(\d+)", sum_).groups()  # type: ignore[union-attr]
        left = list(numbers)
        for taken in (int(a), int(b)):
            if taken not in left:
                return False
            left.remove(taken)
        exact = None if operator == "/" and not int(b) else eval(f"Fraction({a}){operator}Fraction({b})")
        bad |= exact != int(result) or (bool(rest) and sorted(map(int, rest)) != left)
        after = sorted([*left, int(result)])
        if "!" in text:
            return not bad and after != [self.target]
        self.stack = [*self.stack, (after, bad)]
        return not bad


def random_step(machine: Machine, draw: random.Random) -> str:
    numbers, kind = list(machine.stack[-1][0]), draw.random()
    if kind < 0.12:
        return "~"
    if kind < 0.3 or len(numbers) < 2:
        listed = list(machine.stack[-2][0] if len(machine.stack) > 1 else numbers)
        draw.shuffle(listed)
        if draw.random() < 0.2:
            listed[0] += 1
        return "<" + " ".join(map(str, listed)) * (draw.random() < 0.7)
    draw.shuffle(numbers)
    a, b, *rest = numbers
    operator = draw.choice("+-*/")
    value = a + b if operator == "+" else a - b if operator == "-" else a * b if operator == "*" else a // (b or 1)
    value = max(0, value + (draw.random() < 0.15))
    rest = rest if draw.random() < 0.9 else [*rest, 1]
    end = "!" * (draw.random() < 0.25)
    return f"{a}{operator}{b}={value}{end}" + "".join(f" {number}" for number in rest) * (draw.random() < 0.7)


@pytest.mark.parametrize("level", [3, 4, 5])
def test_random_walks_are_true_where_a_simple_machine_says_so(level: int) -> None:
    draw, found = random.Random(level), {True: 0, False: 0}
    for seed in range(150):
        problem = STREAM.problem(Key(seed, "walk"), level=level)
        machine = Machine(list(problem.spec["numbers"]), problem.spec["target"])
        steps, true = [], []
        for _ in range(12):
            steps.append(random_step(machine, draw))
            true.append(machine.step(steps[-1]))
        chain = STREAM.chain(problem, ",".join(steps))
        assert chain is not None and [step.verdict != "wrong" for step in chain.steps] == true, steps
        for one in true:
            found[one] += 1
    assert min(found.values()) > 300  # both kinds are there


def valid_operations(problem: Problem, text: str) -> list[str]:
    chain = STREAM.chain(problem, text)
    assert chain is not None
    return [
        text[step.begin : step.end] for step in chain.steps if step.verdict == "valid" and step.end - step.begin > 1
    ]


@pytest.mark.slow
def test_the_valid_steps_of_worked_searches_are_the_operations_of_their_answer() -> None:
    """By Python's own parser: each binary operation of the expression, with the values of its sides."""
    for seed in range(60):
        problem = STREAM.problem(Key(seed, "answers"), level=3 + seed % 4)
        for text in STREAM.traces(problem):
            operations = []
            for node in ast.walk(ast.parse(text.rpartition("#")[2], mode="eval")):
                if isinstance(node, ast.BinOp):
                    sides = [eval(ast.unparse(one)) for one in (node.left, node, node.right)]
                    operations.append([int(side) for side in sides])
            steps = [re.split(r"[-+*/= ]", step) for step in valid_operations(problem, text)]
            assert not steps or sorted([int(a), int(c), int(b)] for a, b, c, *_ in steps) == sorted(operations)
            assert Fraction(eval(text.rpartition("#")[2])) == problem.spec["target"]
