"""A test's reading of the value that a program returned, as data: a small tree of operations from a closed table.

    f(3) sorted, its first member:  Apply("[]", (Apply("sorted", (RETURNED,)), Constant(0)))

The tree is evaluated here, beside the comparison, on the value that came out of the sandbox. A program therefore has
no part in the reading of its value. The work is bounded, whatever the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.verifiers.programs.operations import RAISED, TooLarge, applied, members, weight

MOST_WORK = 1_000_000  # steps of one reading: a second or so


@dataclass(frozen=True)
class Constant:
    """A value that stands in the test: `Constant(0.5)`."""

    value: Any


@dataclass(frozen=True)
class Returned:
    """The value that the program returned."""


@dataclass(frozen=True)
class Named:
    """A name that the tree binds itself, in a comprehension or a lambda: `Named("x")`."""

    name: str


@dataclass(frozen=True)
class Apply:
    """An operation of `operations.OPERATIONS`: `Apply("round", (RETURNED, Constant(2)))`."""

    operation: str
    parts: tuple[Reading, ...]
    named: tuple[tuple[str, Reading], ...] = ()


@dataclass(frozen=True)
class Choice:
    """Parts, of which later ones are evaluated only if needed: `and`, `or`, and `if` (condition, then, else)."""

    kind: str
    parts: tuple[Reading, ...]


@dataclass(frozen=True)
class Function:
    """A lambda, as the key of an order: `Function(("x",), Apply("len", (Named("x"),)))`."""

    names: tuple[str, ...]
    body: Reading


@dataclass(frozen=True)
class Clause:
    """`for NAMES in SOURCE if CONDITIONS`. Several names take a member apart."""

    names: tuple[str, ...]
    source: Reading
    conditions: tuple[Reading, ...] = ()


@dataclass(frozen=True)
class Each:
    """A comprehension: `Each("a list", (Named("x"),), (Clause(("x",), RETURNED),))`. That of a dict has two parts."""

    kind: str  # the operation that makes one value of the members
    parts: tuple[Reading, ...]
    clauses: tuple[Clause, ...]


Reading = Constant | Returned | Named | Apply | Choice | Function | Each
RETURNED = Returned()


class Stopped(Exception):
    """A reading gives no value: `Stopped("wrong", "...")`, as Python raises there, or it takes too much work."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind  # of the failure that it is for an answer


def read_as(reading: Reading, returned: Any = None) -> Any:
    """The value that the reading makes of a returned value. Raises Stopped.

    read_as(Apply("sorted", (RETURNED,)), (3, 1))  # [1, 3]
    """
    try:
        return _Evaluation(returned).value(reading, {})
    except RAISED as error:
        raise Stopped("wrong", f"the test raises {type(error).__name__}: {str(error)[:80]}") from None
    except (TooLarge, RecursionError, MemoryError) as error:
        raise Stopped("undecided", f"too much work for a test: {error}") from None


@dataclass
class _Evaluation:
    returned: Any
    left: int = field(default=MOST_WORK)

    def value(self, node: Reading, names: Mapping[str, Any]) -> Any:
        self._spend(1)
        match node:
            case Constant(value):
                return value
            case Returned():
                return self.returned
            case Named(name):
                return names[name]
            case Choice():
                return self._chosen(node, names)
            case Function():
                return lambda *given: self.value(node.body, {**names, **dict(zip(node.names, given, strict=True))})
            case Each():
                items = [item for inner in self._over(node.clauses, names) for item in self._parts(node.parts, inner)]
                return applied(node.kind, items, {})
            case Apply():
                parts = self._parts(node.parts, names)
                self._spend(sum(map(weight, parts)))
                return applied(
                    node.operation, parts, {key: self.value(argument, names) for key, argument in node.named}
                )

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooLarge(f"more than {MOST_WORK} steps")

    def _parts(self, parts: tuple[Reading, ...], names: Mapping[str, Any]) -> list[Any]:
        return [self.value(one, names) for one in parts]

    def _chosen(self, node: Choice, names: Mapping[str, Any]) -> Any:
        if node.kind == "if":
            condition, then, other = node.parts
            return self.value(then if self.value(condition, names) else other, names)
        found: Any = None
        for part in node.parts:
            found = self.value(part, names)
            if bool(found) == (node.kind == "or"):
                break
        return found

    def _over(self, clauses: tuple[Clause, ...], names: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        first, *rest = clauses
        source = self.value(first.source, names)
        self._spend(2 * len(source))
        for member in members(source):
            bound = {**names, **_bound(first.names, member)}
            if all(self.value(condition, bound) for condition in first.conditions):
                yield from self._over(tuple(rest), bound) if rest else (bound,)


def _bound(names: tuple[str, ...], member: Any) -> dict[str, Any]:
    if len(names) == 1:
        return {names[0]: member}
    members = list(member)
    if len(members) != len(names):
        raise ValueError(f"{len(members)} values for {len(names)} names")
    return dict(zip(names, members, strict=True))


def free(node: Reading) -> frozenset[str]:
    """The names that are bound outside of the tree; "" stands for the returned value."""
    match node:
        case Constant():
            return frozenset()
        case Returned():
            return frozenset({""})
        case Named(name):
            return frozenset({name})
        case Function(names, body):
            return free(body) - set(names)
        case Choice(_, parts):
            return _free_of(parts)
        case Apply(_, parts, named):
            return _free_of((*parts, *(argument for _, argument in named)))
        case Each(_, parts, clauses):
            outside = _free_of(parts)
            for clause in reversed(clauses):
                outside = ((outside | _free_of(clause.conditions)) - set(clause.names)) | free(clause.source)
            return outside


def _free_of(parts: tuple[Reading, ...]) -> frozenset[str]:
    return frozenset().union(*map(free, parts))
