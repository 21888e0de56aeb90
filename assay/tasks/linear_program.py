"""Word problems of production and of diets; the answer is the linear program that models them.

In compact wording, a problem is `O+ a3:1 1 b2:1 3 <4 6`: what is maximised (`+`) or minimised (`-`), then each variable
with its profit or price and what a unit of it takes of each resource or gives of each nutrient, then the stocks (`<`)
or needs (`>`). `i` says that only whole numbers count, `a<3` that there are at most 3 of a. The question lists numbers
by variable and the program by row, so that an answer is no copy of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.externals.highs import HIGHS
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.optimisation import equal_programs

if TYPE_CHECKING:
    from assay.verifiers.optimisation.program import Program

NAMES = "abc"
PRODUCTS = ("tables", "chairs", "shelves")
FOODS = ("oats", "beans", "rice")
RESOURCES = ("hours of work", "planks", "litres of paint")
NUTRIENTS = ("protein", "fibre", "iron")


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """Numbers for which every row matters: on some axis it alone is the row that binds."""
    while True:
        draws = generator.random(20).tolist()
        least = level > 1 and draws.pop() < 0.5
        whole = level > 2 and draws.pop() < 0.5
        count, rows = (2, 2) if level < 4 else (3, 3) if level == 5 and least else (3, 2)
        prices = [1 + int(draws.pop() * 9) for _ in range(count)]
        uses = [[1 + int(draws.pop() * 5) for _ in range(count)] for _ in range(rows)]
        stocks = [4 + int(draws.pop() * 26) for _ in range(rows)]
        most = [[0, 1 + int(draws.pop() * 4)]] if level == 5 and not least else []
        reach = [[stock / use[i] for stock, use in zip(stocks, uses)] for i in range(count)]
        if most and most[0][1] >= min(reach.pop(0)):
            continue
        ends = [(max if least else min)(ways) for ways in reach]
        binding = {ways.index(end) for ways, end in zip(reach, ends) if ways.count(end) == 1}
        if len(binding) == rows:
            spec = {"least": least, "whole": whole, "prices": prices, "uses": uses, "stocks": stocks, "most": most}
            return {**spec, "program": _program(spec)}


def _sum(numbers: Sequence[int]) -> str:
    return "+".join(f"{'' if number == 1 else number}{name}" for name, number in zip(NAMES, numbers))


def _program(spec: Spec) -> str:
    sign = ">=" if spec["least"] else "<="
    parts = [f"{'min' if spec['least'] else 'max'} {_sum(spec['prices'])}"]
    parts += [f"{_sum(use)}{sign}{stock}" for use, stock in zip(spec["uses"], spec["stocks"])]
    parts += [f"{NAMES[i]}<={most}" for i, most in spec["most"]]
    parts += [f"int {' '.join(NAMES[: len(spec['prices'])])}"] if spec["whole"] else []
    return ";".join(parts)


def _compact(spec: Spec) -> str:
    columns = zip(NAMES, spec["prices"], zip(*spec["uses"]))
    listed = " ".join(f"{name}{price}:{' '.join(map(str, column))}" for name, price, column in columns)
    stocks = f"{'>' if spec['least'] else '<'}{' '.join(map(str, spec['stocks']))}"
    more = "".join(f" {NAMES[i]}<{most}" for i, most in spec["most"])
    return f"O{'-' if spec['least'] else '+'} {listed} {stocks}{more}{' i' if spec['whole'] else ''}"


def _natural(spec: Spec) -> str:
    least, count, rows = spec["least"], len(spec["prices"]), len(spec["stocks"])
    things, kinds = (FOODS, NUTRIENTS) if least else (PRODUCTS, RESOURCES)
    lines = []
    for i in range(count):
        amounts = ", ".join(f"{spec['uses'][r][i]} {'g of ' if least else ''}{kinds[r]}" for r in range(rows))
        if least:
            lines.append(f"A portion of {things[i]} ({NAMES[i]}) costs {spec['prices'][i]} and contains {amounts}.")
        else:
            lines.append(f"One of the {things[i]} ({NAMES[i]}) earns {spec['prices'][i]} and takes {amounts}.")
    amounts = ", ".join(f"{spec['stocks'][r]} {'g of ' if least else ''}{kinds[r]}" for r in range(rows))
    lines.append(f"At least {amounts} are needed." if least else f"There are {amounts}.")
    lines += [f"At most {most} of the {things[i]} can be sold." for i, most in spec["most"]]
    lines.append("Only whole numbers make sense." if spec["whole"] else "Fractions of a unit are allowed.")
    goal = "The cost is to be as low as possible." if least else "The profit is to be as high as possible."
    return (
        f"{' '.join(lines)} {goal}\n\nModel this as {'an integer' if spec['whole'] else 'a linear'} program in CPLEX "
        f"LP format with the variables {', '.join(NAMES[:count])}, which are not negative. Statements may be separated "
        "by semicolons. Do not solve it. Give the program in \\boxed{...}, for example \\boxed{max 5a+4b; st; 2a+b<=7; "
        "a+3b<=9; int a b}, in which `int` names the variables that must be whole."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(spec["program"])


def _check(spec: Spec, text: str) -> Verdict:
    return equal_programs.explain([(spec["program"], text)])[0].verdict


def _stated(spec: Spec) -> Program:
    """The program of a problem, made of its numbers and not of the text that answers are compared with."""
    from fractions import Fraction

    from assay.verifiers.optimisation.program import Constraint, Program

    names = NAMES[: len(spec["prices"])]

    def linear(numbers: Sequence[int]) -> dict[str, Fraction]:
        return dict(zip(names, map(Fraction, numbers), strict=True))

    sign = ">=" if spec["least"] else "<="
    rows = [
        Constraint(linear(use), sign, Fraction(stock)) for use, stock in zip(spec["uses"], spec["stocks"], strict=True)
    ]
    rows += [Constraint({names[i]: Fraction(1)}, "<=", Fraction(most)) for i, most in spec["most"]]
    whole = frozenset(names if spec["whole"] else "")
    return Program(not spec["least"], linear(spec["prices"]), rows=tuple(rows), integers=whole)


def _judge_by_corners(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: no solver, the corners of both programs in exact fractions."""
    return [_by_corners(problem.spec, find_answer(text, problem.wording)) for problem, text in pairs]


def _by_corners(spec: Spec, answer: str | None) -> Verdict:
    from assay.verifiers.optimisation.corners import TooLarge, difference
    from assay.verifiers.optimisation.program import Unreadable, read

    try:
        why = difference(_stated(spec), read(answer or ""))
    except Unreadable as error:
        return Verdict.fail("format", str(error))
    except TooLarge as error:
        return Verdict.invalid("too_large", str(error))
    return Verdict.fail("wrong", why) if why else Verdict.ok(answer or "")


LINEAR_PROGRAM = Task(
    name="linear-program",
    domain="optimisation",
    summary=(
        "Model a word problem as a linear program; levels: 1 production of two goods, 2 or a diet, 3 or in whole "
        "numbers, 4 with three goods, 5 with a third nutrient or a limit."
    ),
    generator=Generator(levels=range(1, 6), first=2, instance=_instance, canonical=_compact),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(
        check=_check,
        verify_many=equal_programs.verify,
        second=_judge_by_corners,
        externals=("highs",),
        seconds=2 * HIGHS.deadline,
    ),
    abilities=(
        OwnBase("linear and integer programs of two variables", levels=(2, 3), num_steps=50, context=128, hidden=160),
    ),
)
