"""Linear and integer programs: rewritten, changed or broken. Points decide what is right, found without a solver.

Two programs are the same if they allow the same points and give each the same worth. Integer programs are compared at
all points of a box. Others are compared at their corners, in fractions: a bounded region is what lies between its
corners, and a linear function that is equal at all of them is equal everywhere. Every gold lies inside the box. A
change for which points inside the box do not decide is dropped.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from assay.verifiers.audit import Labelled

Draw = random.Random
Point = tuple[Fraction, ...]
NAMES = "abc"
COMPARED = {"<=": operator.le, ">=": operator.ge, "=": operator.eq}
FAR = Fraction(1000)  # half the side of the box for corners
NEAR = {2: 16, 3: 6}  # variables -> half the side of the box for whole points


@dataclass(frozen=True)
class Row:
    """`Row((1, 2), "<=", 6)` is a + 2b <= 6."""

    terms: tuple[int, ...]
    sign: str
    bound: Fraction

    def holds(self, point: Sequence[Fraction | int]) -> bool:
        left = sum(t * x for t, x in zip(self.terms, point, strict=True))
        return COMPARED[self.sign](left, self.bound)


@dataclass(frozen=True)
class Program:
    """What is maximised or minimised, the rows, and which variables may be below 0, are bounded above, or are whole."""

    sense: str
    objective: tuple[int, ...]
    rows: tuple[Row, ...]
    most: tuple[Fraction | None, ...]
    free: frozenset[int] = frozenset()
    whole: bool = False
    plus: Fraction = Fraction(0)

    def all_rows(self) -> list[Row]:
        """The rows with those that bounds are."""
        found = list(self.rows)
        for i, most in enumerate(self.most):
            axis = tuple(int(i == j) for j in range(len(self.most)))
            found += [] if i in self.free else [Row(axis, ">=", Fraction(0))]
            found += [] if most is None else [Row(axis, "<=", most)]
        return found

    def worth(self, point: Point) -> Fraction:
        value = sum((t * x for t, x in zip(self.objective, point, strict=True)), self.plus)
        return value if self.sense == "max" else -value


def corners(program: Program) -> set[Point]:
    """The corners of what the program allows, whole or not, inside the box."""
    count = len(program.most)
    axes = [tuple(int(i == j) for j in range(count)) for i in range(count)]
    rows = program.all_rows()
    rows += [Row(axis, sign, side) for axis in axes for sign, side in (("<=", FAR), (">=", -FAR))]
    found = set()
    for edges in itertools.combinations(rows, count):
        point = _crossing([[*map(Fraction, edge.terms), edge.bound] for edge in edges])
        if point is not None and all(row.holds(point) for row in rows):
            found.add(point)
    return found


def _crossing(table: list[list[Fraction]]) -> Point | None:
    """Where the edges meet, by elimination; None if in no point or in many."""
    count = len(table)
    for i in range(count):
        at = next((r for r in range(i, count) if table[r][i]), None)
        if at is None:
            return None
        table[i], table[at] = table[at], table[i]
        table[i] = [one / table[i][i] for one in table[i]]
        for r in range(count):
            if r != i:
                table[r] = [one - table[r][i] * pivot for one, pivot in zip(table[r], table[i], strict=True)]
    return tuple(row[-1] for row in table)


def points(program: Program) -> set[Point]:
    """What decides: the whole points of the box, or the corners."""
    if not program.whole:
        return corners(program)
    reach, rows = range(-NEAR[len(program.most)], NEAR[len(program.most)] + 1), program.all_rows()
    return {
        tuple(map(Fraction, one))
        for one in itertools.product(reach, repeat=len(program.most))
        if all(row.holds(one) for row in rows)
    }


def same(gold: Program, other: Program) -> bool | None:
    """Whether two programs are the same; None if points of the box do not decide."""
    if gold.whole != other.whole:
        return False
    ours, theirs = points(gold), points(other)
    if ours != theirs or any(gold.worth(point) != other.worth(point) for point in ours):
        return False
    edge = NEAR[len(gold.most)]
    return None if gold.whole and any(abs(x) > edge for point in corners(other) for x in point) else True


# --- writing --------------------------------------------------------------------------------------------------


def _number(value: Fraction | int) -> str:
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return text if "." in text else str(int(value))


def _sum(terms: tuple[int, ...], times: str = "", gap: str = "") -> str:
    text = ""
    for name, term in zip(NAMES, terms):
        if term:
            sign = "-" if term < 0 else "+" if text else ""
            text += f"{gap if text else ''}{sign}{gap}" if sign else ""
            text += name if abs(term) == 1 else f"{_number(abs(term))}{times}{name}"
    return text or "0a"


def compact(program: Program) -> str:
    plus = f"+{_number(program.plus)}" if program.plus else ""
    parts = [f"{program.sense} {_sum(program.objective)}{plus}"]
    parts += [f"{_sum(row.terms)}{row.sign}{_number(row.bound)}" for row in program.rows]
    parts += [f"{name}<={_number(most)}" for name, most in zip(NAMES, program.most) if most is not None]
    parts += ["bounds"] if program.free else []
    parts += [f"{NAMES[i]} free" for i in sorted(program.free)]
    parts += [f"int {' '.join(NAMES[: len(program.most)])}"] if program.whole else []
    return ";".join(parts)


def in_sections(program: Program) -> str:
    """The program in the words and sections of the format, a line for each statement."""
    lines = [
        "Maximize" if program.sense == "max" else "Minimize",
        f" obj: {_sum(program.objective, ' ', ' ')}",
        "Subject To",
    ]
    lines += [
        f" c{i}: {_sum(row.terms, ' ', ' ')} {row.sign} {_number(row.bound)}" for i, row in enumerate(program.rows)
    ]
    lines += ["Bounds"] if any(program.most) else []
    lines += [f" 0 <= {name} <= {_number(most)}" for name, most in zip(NAMES, program.most) if most is not None]
    lines += ["Generals", f" {' '.join(NAMES[: len(program.most)])}"] if program.whole else []
    return "\n".join([*lines, "End"])


# --- programs -------------------------------------------------------------------------------------------------


def drawn(d: Draw) -> Program:
    """A program of two or three variables whose points lie inside the box."""
    count, least, whole = d.choice([2, 2, 3]), d.random() < 0.4, d.random() < 0.5
    bound = (NEAR[count] // 2) if whole else 20
    rows = []
    for _ in range(d.randint(2, 3)):
        terms = tuple(d.randint(1, 5) for _ in range(count))
        rows.append(Row(terms, ">=" if least else "<=", Fraction(d.randint(4, 3 * bound))))
    if d.random() < 0.3:
        rows.append(Row(tuple(d.choice([1, -1, 2, -2]) for _ in range(count)), "<=", Fraction(d.randint(2, 6))))
    most = tuple(Fraction(d.randint(2, bound)) for _ in range(count))
    objective = tuple(d.randint(1, 9) for _ in range(count))
    return Program("min" if least else "max", objective, tuple(rows), most, whole=whole)


def _scaled(terms: tuple[int, ...], by: int) -> tuple[int, ...]:
    return tuple(by * term for term in terms)


def _times(row: Row, by: int) -> Row:
    sign = row.sign if by > 0 else {"<=": ">=", ">=": "<="}.get(row.sign, row.sign)
    return Row(_scaled(row.terms, by), sign, by * row.bound)


def _rewritings(d: Draw, gold: Program) -> dict[str, str]:
    at, text = d.randrange(len(gold.rows)), compact(gold)
    row = gold.rows[at]
    others = (*gold.rows[:at], *gold.rows[at + 1 :])
    axes = [tuple(int(i == j) for j in range(len(gold.most))) for i in range(len(gold.most))]
    bounds = tuple(Row(_scaled(axis, 2), "<=", 2 * most) for axis, most in zip(axes, gold.most) if most is not None)
    weaker = Row(row.terms, row.sign, row.bound + (1 if row.sign == "<=" else -1))
    turned = {"max": "min", "min": "max"}[gold.sense]
    written = {
        "rows in another order": dataclasses.replace(gold, rows=tuple(d.sample(gold.rows, len(gold.rows)))),
        "a row times a number": dataclasses.replace(gold, rows=(*others, _times(row, d.choice([2, 3, 7])))),
        "a row turned": dataclasses.replace(gold, rows=(_times(row, -1), *others)),
        "the objective turned": dataclasses.replace(gold, sense=turned, objective=_scaled(gold.objective, -1)),
        "a row more": dataclasses.replace(gold, rows=(*gold.rows, weaker)),
        "bounds as rows": dataclasses.replace(gold, rows=(*bounds, *gold.rows), most=(None,) * len(gold.most)),
    }
    return {name: compact(one) for name, one in written.items()} | {
        "in sections": in_sections(gold),
        "on lines": text.replace(";", "\n"),
        "with spaces": text.replace("+", " + ").replace("<=", " <= ").replace(">=", " >= "),
        "strict signs": text.replace("<=", "<").replace(">=", ">"),
        "points in numbers": text.replace(f"{row.sign}{_number(row.bound)};", f"{row.sign}{_number(row.bound)}.0;", 1),
        "a product sign": ";".join([f"{gold.sense} {_sum(gold.objective, '*')}", *text.split(";")[1:]]),
        "a number on the left": text.replace(
            f"{_sum(row.terms)}{row.sign}{_number(row.bound)};",
            f"{_sum(row.terms)}-{_number(row.bound)}{row.sign}0;",
            1,
        ),
    }


def _changes(d: Draw, gold: Program) -> dict[str, Program]:
    at, i = d.randrange(len(gold.rows)), d.randrange(len(gold.most))
    row, other = gold.rows[at], d.choice([-1, 1])

    def with_row(*new: Row) -> Program:
        return dataclasses.replace(gold, rows=(*gold.rows[:at], *new, *gold.rows[at + 1 :]))

    def one_more(terms: tuple[int, ...]) -> tuple[int, ...]:
        return (*terms[:i], terms[i] + other, *terms[i + 1 :])

    cheap = min(points(gold), key=gold.worth)
    cut = Row(
        gold.objective,
        ">=" if gold.sense == "max" else "<=",
        Fraction(sum(t * x for t, x in zip(gold.objective, cheap, strict=True)) + other),
    )
    return {
        "a coefficient": with_row(dataclasses.replace(row, terms=one_more(row.terms))),
        "a bound": with_row(dataclasses.replace(row, bound=row.bound + other)),
        "a bound by little": with_row(dataclasses.replace(row, bound=row.bound + Fraction(other, 100))),
        "a sign": with_row(dataclasses.replace(row, sign={"<=": ">=", ">=": "<="}[row.sign])),
        "an equation": with_row(dataclasses.replace(row, sign="=")),
        "a row dropped": with_row(),
        "variables swapped": with_row(dataclasses.replace(row, terms=row.terms[::-1])),
        "a row that cuts": dataclasses.replace(gold, rows=(*gold.rows, cut)),
        "the objective": dataclasses.replace(gold, objective=one_more(gold.objective)),
        "the objective doubled": dataclasses.replace(gold, objective=_scaled(gold.objective, 2)),
        "more in the objective": dataclasses.replace(gold, plus=Fraction(other * 3)),
        "the direction": dataclasses.replace(gold, sense={"max": "min", "min": "max"}[gold.sense]),
        "whole numbers": dataclasses.replace(gold, whole=not gold.whole),
        "no bound": dataclasses.replace(gold, most=(*gold.most[:i], None, *gold.most[i + 1 :])),
        "below zero": dataclasses.replace(gold, free=frozenset({i})),
    }


def _broken(d: Draw, gold: Program) -> dict[str, str]:
    text, best = compact(gold), max(points(gold), key=gold.worth)
    held = [f"{name}={_number(x)}" for name, x in zip(NAMES, best) if x.denominator == 1]
    head, *rows = text.split(";")
    return {
        "the optimum held": ";".join([head, *held, *rows[len(gold.rows) :]]),
        "the optimum alone": f"{head} = {_number(gold.worth(best))}",
        "no objective": ";".join(rows),
        "two objectives": f"{text};{head}",
        "a product of variables": text.replace(";", ";a*b<=9;", 1),
        "a square": text.replace(";", ";a^2<=9;", 1),
        "another variable": text.replace("a", "d"),
        "a variable more": text.replace(";", ";a+z<=99;", 1),
        "not equal": text.replace("<=", "!=", 1).replace(">=", "!=", 1),
        "words": f"The program is {text}",
        "no rows": head,
        "empty": "",
    }


def optimisation(count: int, seed: int) -> Iterator[Labelled]:
    """Programs rewritten by hand-made rules, changed in one place, or written so that they are none."""
    d = random.Random(f"optimisation {seed}")
    made = 0
    while made < count:
        gold = drawn(d)
        if len(points(gold)) < 3:
            continue
        text, way = compact(gold), made % 5
        ways = _rewritings(d, gold) if way in (0, 1) else _broken(d, gold) if way == 4 else _changes(d, gold)
        name = d.choice(list(ways))
        answer = ways[name]
        if isinstance(answer, Program):
            label, answer = same(gold, answer), compact(answer)
        else:
            label = way in (0, 1)
        if label is None or answer == text:
            continue
        made += 1
        yield Labelled(text, answer, label, name, origin=("rewritten", "rewritten", "mutant", "mutant", "trick")[way])
