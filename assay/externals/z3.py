"""Z3: whether terms over whole numbers, truth values and bit-vectors can hold.

A job has terms that Assay has read (`assay.verifiers.smt.terms.plain`), as lists. They are built call by call, so that
no text, and thus no command of SMT-LIB, reaches Z3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.externals.external import External
from assay.externals.versions import of_package

WORK = 1_000_000
"""The budget for a term in Z3's own measure of work (`rlimit`), which does not depend on the machine or its load.

It is spent within a second of the processor. So it is the budget that decides about a hard term, and not the deadline,
which is nearly the same everywhere and not quite.
"""


def answer(job: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Looks for values of the variables under which each term of `terms` holds.

    answer({"terms": [["<", ["variable", "Int", "a"], ["value", "Int", 4]]]}, print)
    # {"answers": [{"status": "sat", "values": {"a": 3}}]}

    The status is sat, unsat, or unknown where the budget of a term was spent or Z3 has no method for it. Variables
    that do not matter have no value.
    """
    answers = []
    for number, term in enumerate(job["terms"]):
        tell(str(number))
        answers.append(_decide(term))
    return {"answers": answers}


def _decide(term: list[Any]) -> dict[str, Any]:
    import z3

    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", WORK)
    solver.set("random_seed", 0)
    solver.add(_built(z3, context, term))
    reply = solver.check()
    if reply == z3.unsat:
        return {"status": "unsat"}
    if reply != z3.sat:
        return {"status": "unknown", "detail": solver.reason_unknown()[:80]}
    model = solver.model()
    named = {name.name(): model[name] for name in model.decls() if name.arity() == 0}
    if any(z3.is_algebraic_value(value) for value in named.values()):
        return {"status": "unknown", "detail": "it holds where a value is no fraction"}
    return {"status": "sat", "values": {name: _number(z3, value) for name, value in named.items()}}


def _number(z3: Any, value: Any) -> int | str:
    """A value as JSON has it; of a Real as the text of a fraction."""
    if z3.is_rational_value(value):
        return str(value.as_fraction())
    return int(z3.is_true(value)) if z3.is_bool(value) else value.as_long()


def _built(z3: Any, context: Any, term: list[Any]) -> Any:
    kind, *rest = term
    if kind in ("variable", "value"):
        return _leaf(z3, context, kind, *rest)
    made = [_built(z3, context, one) for one in rest]
    if kind.startswith("(_"):
        _, name, *numbers = kind.strip("()").split()
        return getattr(z3, _INDEXED[name])(*map(int, numbers), *made)
    return _CALLS[kind](z3, *made)


_INDEXED = {"extract": "Extract", "zero_extend": "ZeroExt", "sign_extend": "SignExt"}


def _leaf(z3: Any, context: Any, kind: str, sort: str | int, what: Any) -> Any:
    if kind == "variable":
        if sort in ("Bool", "Real"):
            return getattr(z3, sort)(what, context)
        return z3.Int(what, context) if sort == "Int" else z3.BitVec(what, sort, context)
    if sort == "Bool":
        return z3.BoolVal(bool(what), context)
    if sort == "Real":
        return z3.RealVal(what, context)
    return z3.IntVal(what, context) if sort == "Int" else z3.BitVecVal(what, sort, context)


def _folded(two: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A call with any number of arguments: the first two, then the result and the third, and so on."""

    def call(z3: Any, first: Any, *rest: Any) -> Any:
        for one in rest:
            first = two(first, one)
        return first

    return call


def _chained(two: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A comparison of each argument with the next."""

    def call(z3: Any, *all_of: Any) -> Any:
        pairs = [two(one, other) for one, other in zip(all_of, all_of[1:])]
        return pairs[0] if len(pairs) == 1 else z3.And(*pairs)

    return call


_CALLS: dict[str, Callable[..., Any]] = {
    "+": _folded(lambda a, b: a + b),
    "-": lambda z3, first, *rest: _folded(lambda a, b: a - b)(z3, first, *rest) if rest else -first,
    "*": _folded(lambda a, b: a * b),
    "/": _folded(lambda a, b: a / b),
    "to_real": lambda z3, a: z3.ToReal(a),
    "to_int": lambda z3, a: z3.ToInt(a),
    "is_int": lambda z3, a: z3.IsInt(a),
    "div": lambda z3, a, b: a / b,
    "mod": lambda z3, a, b: a % b,
    "abs": lambda z3, a: z3.If(a >= 0, a, -a),
    "<": _chained(lambda a, b: a < b),
    "<=": _chained(lambda a, b: a <= b),
    ">": _chained(lambda a, b: a > b),
    ">=": _chained(lambda a, b: a >= b),
    "=": _chained(lambda a, b: a == b),
    "distinct": lambda z3, *all_of: z3.Distinct(*all_of),
    "not": lambda z3, a: z3.Not(a),
    "and": lambda z3, *all_of: z3.And(*all_of),
    "or": lambda z3, *any_of: z3.Or(*any_of),
    "xor": lambda z3, first, *rest: _folded(z3.Xor)(z3, first, *rest),
    "=>": lambda z3, *all_of: z3.Implies(z3.And(*all_of[:-1]), all_of[-1]),
    "ite": lambda z3, condition, a, b: z3.If(condition, a, b),
    "concat": lambda z3, *all_of: z3.Concat(*all_of),
    "bvadd": _folded(lambda a, b: a + b),
    "bvsub": _folded(lambda a, b: a - b),
    "bvmul": _folded(lambda a, b: a * b),
    "bvand": _folded(lambda a, b: a & b),
    "bvor": _folded(lambda a, b: a | b),
    "bvxor": _folded(lambda a, b: a ^ b),
    "bvnot": lambda z3, a: ~a,
    "bvneg": lambda z3, a: -a,
    "bvshl": lambda z3, a, b: a << b,
    "bvlshr": lambda z3, a, b: z3.LShR(a, b),
    "bvashr": lambda z3, a, b: a >> b,
    "bvudiv": lambda z3, a, b: z3.UDiv(a, b),
    "bvurem": lambda z3, a, b: z3.URem(a, b),
    "bvult": lambda z3, a, b: z3.ULT(a, b),
    "bvule": lambda z3, a, b: z3.ULE(a, b),
    "bvugt": lambda z3, a, b: z3.UGT(a, b),
    "bvuge": lambda z3, a, b: z3.UGE(a, b),
    "bvslt": lambda z3, a, b: a < b,
    "bvsle": lambda z3, a, b: a <= b,
    "bvsgt": lambda z3, a, b: a > b,
    "bvsge": lambda z3, a, b: a >= b,
}

_A: list[Any] = ["variable", "Int", "a"]
Z3 = External(
    name="z3",
    purpose="decides formulas of numbers, truth values and bit-vectors",
    install="pip install 'assay-rl[externals]'",
    version=lambda: of_package("z3-solver"),
    answer="assay.externals.z3:answer",
    loads=("z3",),
    passes={"terms": [["and", ["<", ["value", "Int", 3], _A], ["<", _A, ["value", "Int", 5]]]]},
    fails={"terms": [["and", ["<", ["value", "Int", 3], _A], ["<", _A, ["value", "Int", 4]]]]},
    accepts=lambda result: result["answers"] == [{"status": "sat", "values": {"a": 4}}],
    deadline=4.0,
    memory_mb=2048,
)
