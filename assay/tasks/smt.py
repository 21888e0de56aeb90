"""Formulas of SMT-LIB: values that fulfil one, the formula that says what is asked, an invariant of a loop.

In compact wording `Z` is followed by the variables, each group with its sort (`i` whole numbers, `b` truth values, a
number for bit-vectors of so many bits), then by what is asked: `?` values that fulfil all of what follows, `=` a term
of SMT-LIB that equals what follows, `<` the weakest formula after which some assignments reach a goal, `@` an invariant
of a loop. Formulas of a question are in infix notation, so that an answer is no copy of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.externals.z3 import Z3
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.verifiers.smt import terms_and_values
from assay.verifiers.smt.golds import gold_of, gold_text
from assay.verifiers.smt.terms import SmtTerm, Sort, Variables, number, read, substituted, write

INTEGERS: dict[str, Sort] = {"a": "Int", "b": "Int"}
NIBBLES: dict[str, Sort] = {"x": 4, "y": 4}
ANSWER = (
    "Write it as one term of SMT-LIB without commands, definitions, let or quantifiers. Give it in \\boxed{...}, for "
    "example \\boxed{%s}."
)
SIGNS = {
    "+": "+", "*": "*", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=", "distinct": "!=", "and": "&", "or": "|",
    "=>": "->", "bvadd": "+", "bvsub": "-", "bvand": "&", "bvor": "|", "bvxor": "^", "bvult": "<", "bvule": "<=",
    "bvmul": "*", "bvshl": "<<", "bvlshr": ">>", "mod": "%",
}  # fmt: skip


class _Draws:
    """Choices from uniform numbers, so that a draw is the same on every machine."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def to(self, first: int, last: int) -> int:
        return first + int(self.generator.random() * (last - first + 1))

    def of(self, choices: Sequence[str]) -> str:
        return choices[self.to(0, len(choices) - 1)]


def _apply(operator: str, *arguments: str) -> str:
    return f"({operator} {' '.join(arguments)})"


def _whole(value: int) -> str:
    return write(number(value))


def _scaled(factor: int, name: str) -> str:
    return name if factor == 1 else _apply("*", str(factor), name)


# --- instances ----------------------------------------------------------------------------------------------


def _values_of_integers(draw: _Draws) -> Spec:
    """Two lines that cross in a hidden point; one constraint is an inequality that the point just fulfils or not."""
    a, b = draw.to(-9, 9), draw.to(-9, 9)
    p, q = draw.to(1, 4), draw.to(1, 4)
    lines = [_apply("=", _apply("+", _scaled(p, "a"), _scaled(q, "b")), _whole(p * a + q * b))]
    lines.append(_apply(draw.of([">", "<"]), "a", "b") if a == b else _apply(">" if a > b else "<", "a", "b"))
    lines.append(_apply(">=" if draw.to(0, 1) else "<=", "a", _whole(a)))
    if a == b:
        lines[1] = _apply("=", "a", "b")
    return {"ask": "values", "variables": INTEGERS, "terms": lines, "witness": f"a={a} b={b}"}


def _values_of_bits(draw: _Draws) -> Spec:
    """Three equations that hidden values fulfil; in one of 32 problems one of them is made to fail everywhere.

    So few, because `unsat` is an answer that needs no look at the question.
    """
    hidden = {"x": draw.to(0, 15), "y": draw.to(0, 15)}
    sides = [_two_bits(draw, "x", "y") for _ in range(3)]
    wanted = [int(terms_and_values.value(read(side, NIBBLES, 4), hidden)) for side in sides]
    witness = f"x={hidden['x']} y={hidden['y']}"
    if draw.to(0, 31) == 0:
        wanted[2] = (wanted[2] + draw.to(1, 15)) % 16
        witness = ""
    terms = [_apply("=", side, _nibble(value)) for side, value in zip(sides, wanted, strict=True)]
    return {"ask": "values", "variables": NIBBLES, "terms": terms, "witness": witness}


def _nibble(value: int) -> str:
    return write(number(value, 4))


def _two_bits(draw: _Draws, one: str, other: str) -> str:
    operator = draw.of(["bvadd", "bvsub", "bvand", "bvor", "bvxor", "bvmul"])
    left = _apply("bvadd", one, _nibble(draw.to(1, 14))) if draw.to(0, 1) else one
    return _apply(operator, left, other)


def _formula(draw: _Draws) -> Spec:
    """A condition of whole numbers and a truth value."""
    atoms = ["p" if draw.to(0, 1) else "(not p)", _comparison(draw), _comparison(draw)]
    inner, outer = draw.of(["and", "or", "=>"]), draw.of(["and", "or", "=>"])
    picked = [atoms.pop(draw.to(0, len(atoms) - 1)) for _ in range(3)]
    variables: dict[str, Sort] = {"p": "Bool", **INTEGERS}
    return {"ask": "equal", "variables": variables, "term": _apply(outer, _apply(inner, *picked[:2]), picked[2])}


def _comparison(draw: _Draws) -> str:
    left = _scaled(draw.to(1, 3), draw.of("ab"))
    right = _apply("+", "b" if "a" in left else "a", str(draw.to(1, 9))) if draw.to(0, 1) else _whole(draw.to(-9, 9))
    return _apply(draw.of(["<", "<=", ">", ">=", "=", "distinct"]), left, right)


def _bit_term(draw: _Draws) -> Spec:
    """A bit-vector of two operations."""
    names = ["x", "y"] if draw.to(0, 1) else ["y", "x"]
    inner = _apply(draw.of(["bvadd", "bvsub", "bvand", "bvor", "bvxor"]), *names)
    other = draw.of([_apply("bvnot", names[0]), _nibble(draw.to(1, 15)), names[1]])
    term = _apply(draw.of(["bvadd", "bvsub", "bvand", "bvor", "bvxor", "bvshl", "bvlshr"]), inner, other)
    return {"ask": "equal", "variables": NIBBLES, "sort": 4, "term": term}


def _weakest(draw: _Draws) -> Spec:
    """The weakest condition before two assignments; on whole numbers or on bit-vectors, where sums wrap round."""
    bits = draw.to(0, 1)
    variables = NIBBLES if bits else INTEGERS
    first, second = ("x", "y") if bits else ("a", "b")
    if draw.to(0, 1):
        first, second = second, first
    add, less = ("bvadd", "bvult") if bits else ("+", "<")
    written = _nibble if bits else _whole
    steps = [[first, _apply(add, first, second)], [second, _apply(add, second, written(draw.to(1, 9)))]]
    if draw.to(0, 1):
        steps.reverse()
    goal = _apply(less, first, draw.of([second, written(draw.to(3, 12))]))
    return {
        "ask": "equal",
        "variables": variables,
        "term": _before(goal, steps, variables),
        "goal": goal,
        "does": steps,
    }


def _before(goal: str, steps: Sequence[Sequence[str]], variables: Variables) -> str:
    """The goal with each assignment put into it, the last one first."""
    term = read(goal, variables)
    for name, right in reversed(steps):
        term = substituted(term, {name: read(right, variables, variables[name])})
    return write(term)


def _loop(draw: _Draws) -> Spec:
    """A loop that steps over the number at which it would end, or one after which a second variable is asked."""
    start, step = draw.to(-4, 6), draw.to(2, 5)
    if draw.to(0, 2) == 0:
        missed = start + step * draw.to(1, 4) + draw.to(1, step - 1)
        terms = {
            "init": _apply("=", "a", _whole(start)),
            "guard": _apply("distinct", "a", _whole(missed)),
            "post": "false",
            "step": {"a": _apply("+", "a", str(step))},
            "witness": _apply("=", _apply("mod", "a", str(step)), str(start % step)),
        }
        return {"ask": "invariant", "variables": {"a": "Int"}, **terms}
    rounds, other = draw.to(3, 9), draw.to(-4, 6)
    end, last = start + rounds, other + step * rounds
    offset = other - step * start
    line = _apply("=", "b", _apply("+", _apply("*", str(step), "a"), _whole(offset)))
    terms = {
        "init": _apply("and", _apply("=", "a", _whole(start)), _apply("=", "b", _whole(other))),
        "guard": _apply("<", "a", _whole(end)),
        "post": _apply("=", "b", _whole(last)),
        "step": {"a": "(+ a 1)", "b": _apply("+", "b", str(step))},
        "witness": _apply("and", line, _apply("<=", "a", _whole(end))),
    }
    return {"ask": "invariant", "variables": INTEGERS, **terms}


_KINDS: dict[int, Callable[[_Draws], Spec]] = {
    1: _values_of_integers,
    2: _values_of_bits,
    3: _formula,
    4: _bit_term,
    5: _weakest,
    6: _loop,
}


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """An instance. It is drawn again if its answer would be true or false, or its unsatisfiable problem has values."""
    while True:
        spec = _KINDS[level](_Draws(generator))
        if level == 2 and not spec["witness"]:
            gold = gold_of(gold_text(spec))
            if any(
                terms_and_values.value(gold.terms["all"], one) for one in terms_and_values.everywhere(gold.variables, 8)
            ):
                continue
        if spec["ask"] == "equal" and _constant(spec):
            continue
        return spec


def _constant(spec: Spec) -> bool:
    """Whether the asked term has one value around 0: such a problem is drawn again."""
    gold = gold_of(gold_text(spec))
    places = terms_and_values.everywhere(gold.variables, 12)
    return len({terms_and_values.value(gold.terms["term"], one) for one in places}) == 1


# --- wordings -----------------------------------------------------------------------------------------------


def infix(term: SmtTerm, *, inner: bool = False, beside: bool = False) -> str:
    """A term as mathematicians and programmers write it: `2*a+b<=7`; `beside` a comparison sums need no brackets."""
    if term.operator == "value":
        return {"Bool": ("F", "T")}.get(str(term.sort), (str(term.value),) * 2)[bool(term.value)]
    if not term.arguments:
        return term.operator
    compares = term.operator in ("<", "<=", ">", ">=", "=", "distinct")
    parts = [infix(one, inner=True, beside=compares or one.operator == "*") for one in term.arguments]
    if term.operator in ("not", "bvnot"):
        return f"{'!' if term.operator == 'not' else '~'}{parts[0]}"
    text = SIGNS[term.operator].join(parts).replace("+-", "-")
    sums = term.operator in ("+", "*", "mod")
    return f"({text})" if inner and not (sums and beside) else text


def _shown(spec: Spec, text: str, sort: Sort = "Bool") -> str:
    return infix(read(text, spec["variables"], sort))


def _groups(spec: Spec) -> str:
    letters = {"Int": "i", "Bool": "b"}
    return "".join(f"{name}{letters.get(str(sort), sort)}" for name, sort in spec["variables"].items())


def _compact(spec: Spec) -> str:
    head = f"Z {_groups(spec)}"
    if spec["ask"] == "values":
        return f"{head} ? {', '.join(_shown(spec, term) for term in spec['terms'])}"
    if spec["ask"] == "invariant":
        step = ",".join(f"{name}:{_shown(spec, term, 'Int')}" for name, term in spec["step"].items())
        parts = [_shown(spec, spec["init"]), _shown(spec, spec["guard"]), step, _shown(spec, spec["post"])]
        return f"{head} @ {';'.join(parts)}"
    if "goal" in spec:
        return f"{head} < {';'.join(_assigned(spec, ':'))};{_shown(spec, spec['goal'])}"
    return f"{head} = {_shown(spec, spec['term'], spec.get('sort', 'Bool'))}"


def _assigned(spec: Spec, sign: str) -> list[str]:
    return [f"{name}{sign}{_shown(spec, right, spec['variables'][name])}" for name, right in spec["does"]]


def _natural(spec: Spec) -> str:
    kinds = {"Int": "a whole number", "Bool": "a truth value", "4": "an unsigned bit-vector of 4 bits"}
    about = ", ".join(f"{name} is {kinds[str(sort)]}" for name, sort in spec["variables"].items())
    bits = 4 in spec["variables"].values()
    signs = " Read & | ! -> as and, or, not, implies, and != as is not." if spec["ask"] != "values" else ""
    if bits:
        signs = " Sums, differences and products wrap round at 16; & | ^ ~ << >> work on bits, < compares without sign."
    return f"In the following, {about}.{signs}\n\n{_asked(spec, bits)}"


def _asked(spec: Spec, bits: bool) -> str:
    if spec["ask"] == "values":
        listed = "\n".join(_shown(spec, term) for term in spec["terms"])
        example = "x=3 y=12" if bits else "a=3 b=-2"
        return (
            f"Find values for which all of this holds:\n{listed}\n\nGive them in \\boxed{{...}}, for example "
            f"\\boxed{{{example}}}. If no values fulfil all of it, answer \\boxed{{{terms_and_values.NONE}}}."
        )
    example = (
        "(bvadd x (bvnot (_ bv3 4)))" if spec.get("sort") else "(and (bvult x y) (= x (_ bv3 4)))" if bits else None
    )
    answer = ANSWER % (example or "(and (< a b) (= b (+ a (- 3))))")
    if spec["ask"] == "invariant":
        step = ", ".join(f"{name} := {_shown(spec, term, 'Int')}" for name, term in spec["step"].items())
        guard, post = _shown(spec, spec["guard"]), _shown(spec, spec["post"])
        goal = "the loop never ends" if post == "F" else f"{post} holds after the loop"
        return (
            f"A program begins with {_shown(spec, spec['init'])}. While {guard} it does at once: {step}.\n\nGive an "
            f"invariant that proves that {goal}: it holds at the beginning, each round keeps it for all values that "
            f"fulfil it and the condition of the loop, and where that condition does not hold it implies the goal. "
            f"{answer}"
        )
    if "goal" in spec:
        return (
            f"A program does: {'; '.join(_assigned(spec, ' := '))}.\n\nGive the weakest condition on the values before "
            f"the program under which {_shown(spec, spec['goal'])} holds behind it. {answer}"
        )
    return f"Write this formula in SMT-LIB: {_shown(spec, spec['term'], spec.get('sort', 'Bool'))}\n\n{answer}"


def _solve(spec: Spec) -> Solution:
    if spec["ask"] == "values":
        return Solution(spec["witness"] or terms_and_values.NONE)
    return Solution(spec["witness"] if spec["ask"] == "invariant" else spec["term"])


def _check(spec: Spec, text: str) -> Verdict:
    return terms_and_values.explain([(gold_text(spec), text)])[0].verdict


SMT = Task(
    name="smt",
    domain="logic",
    summary=(
        "Formulas for a solver; levels: 1 and 2 values of numbers and of bits that fulfil some, 3 and 4 write one in "
        "SMT-LIB, 5 the weakest condition before a program, 6 an invariant of a loop."
    ),
    generator=Generator(levels=range(1, 7), instance=_instance, canonical=_compact),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(
        check=_check,
        verify_many=terms_and_values.verify,
        second=terms_and_values.verify_by_values,
        externals=("z3",),
        seconds=Z3.deadline,
    ),
    abilities=(OwnBase("values of numbers that fulfil some conditions", levels=(1,), num_steps=250),),
)
