"""Expressions of tests in Python, read as trees of operations (`readings`). None of their text is ever run.

A call of a name that is no known function is the call of the program under test. An expression without such a call is a
constant and is computed at once. Anything unknown is refused with its reason: a test is read whole or not at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.verifiers.programs import plain
from assay.verifiers.programs.operations import CONSTANTS, FUNCTIONS, OPERATIONS, TYPES, VIEWS
from assay.verifiers.programs.readings import (
    RETURNED,
    Apply,
    Choice,
    Clause,
    Constant,
    Each,
    Function,
    Named,
    Reading,
    Stopped,
    free,
    read_as,
)
from assay.verifiers.programs.tolerances import Approx

_BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_UNARY: dict[type, str] = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "~", ast.Not: "not"}
_COMPARED: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",  # codespell:ignore notin
}  # fmt: skip
_DISPLAYS: dict[type, str] = {
    ast.List: "a list", ast.Tuple: "a tuple", ast.Set: "a set", ast.ListComp: "a list", ast.SetComp: "a set",
    ast.DictComp: "a dict", ast.GeneratorExp: "a list",
}  # fmt: skip
_MODULES = {"math": "math", "np": "numpy", "numpy": "numpy", "pytest": "pytest", "collections": "collections",
            "copy": "copy"}  # fmt: skip
_BARE = {"isclose": "math.isclose", "Counter": "collections.Counter", "approx": "pytest.approx",
         "deepcopy": "copy.deepcopy"}  # fmt: skip
_WALKS = {"list", "tuple", "set", "frozenset", "sorted", "dict", "sum", "min", "max", "all", "any", "len",
          "collections.Counter", *VIEWS}  # fmt: skip


class Unread(Exception):
    """An expression or a statement is not read: `Unread("a name without a value", node)`."""

    def __init__(self, reason: str, part: ast.AST | str = "") -> None:
        super().__init__(reason)
        self.reason = reason  # in words that are the same for all tests of this kind
        self.part = part if isinstance(part, str) else ast.unparse(part)
        self.where: ast.stmt | None = None  # the statement in which it stands


@dataclass(frozen=True)
class Given:
    """A call of the program under test: `Given("f", (2,), {})`."""

    entry: str
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]

    def same(self, other: Given) -> bool:
        return plain.pack([self.entry, self.arguments, dict(self.named)]) == plain.pack(
            [other.entry, other.arguments, dict(other.named)]
        )


@dataclass(frozen=True)
class Read:
    """A tree, and the call whose value it is made of; None for a constant."""

    tree: Reading
    given: Given | None = None


@dataclass
class Scope:
    """The meaning of the names in a test."""

    values: dict[str, Read] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)  # names of the program's functions, as `candidate`
    objects: dict[str, str] = field(default_factory=dict)  # names of objects of the program's classes
    modules: dict[str, str] = field(default_factory=lambda: dict(_MODULES))
    imported: dict[str, str] = field(default_factory=lambda: dict(_BARE))
    helpers: dict[str, ast.FunctionDef] = field(default_factory=dict)  # functions of the test itself


def read(node: ast.expr, scope: Scope) -> Read:
    """The tree of an expression, and the call of the program that it holds. Raises Unread."""
    reader = _Reader(scope)
    tree = reader.tree(node)
    return Read(tree, reader.given if "" in free(tree) else None)


@dataclass
class _Reader:
    scope: Scope
    given: Given | None = None  # the call that was met
    bound: list[str] = field(default_factory=list)  # names of comprehensions and lambdas around this place

    def tree(self, node: ast.expr, *, walked: bool = False) -> Reading:
        """The tree of an expression. `walked`: its members are taken one by one, so that it may be a view."""
        match node:
            case ast.Constant(value):
                if value is not None and type(value) not in (bool, int, float, str, bytes):
                    raise Unread("a constant that is no plain data", node)
                return Constant(value)
            case ast.Name(name):
                return self._name(node, name)
            case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
                return self._made(Apply(_DISPLAYS[type(node)], self._all(parts)), node)
            case ast.Dict(keys, values):
                if None in keys:
                    raise Unread("a form of Python that tests are not read in", node)
                return self._made(Apply("a dict", self._all([o for p in zip(keys, values) for o in p if o])), node)
            case ast.UnaryOp(sign, operand):
                return self._made(Apply(_UNARY[type(sign)], (self.tree(operand),)), node)
            case ast.BinOp(left, sign, right) if type(sign) in _BINARY:
                return self._made(Apply(_BINARY[type(sign)], self._all([left, right])), node)
            case ast.BoolOp(sign, parts):
                return self._made(Choice("and" if isinstance(sign, ast.And) else "or", self._all(parts)), node)
            case ast.IfExp(condition, then, other):
                return self._made(Choice("if", self._all([condition, then, other])), node)
            case ast.Compare():
                return self._compared(node)
            case ast.Subscript(value, place):
                return self._made(Apply("[]", (self.tree(value), self._place(place))), node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                if isinstance(node, ast.GeneratorExp) and not walked:
                    raise Unread("a generator that is not taken apart at once", node)
                return self._each(node)
            case ast.Attribute():
                if (named := CONSTANTS.get(self._dotted(node))) is None:
                    raise Unread("an attribute that tests are not read with", node)
                return Constant(named)
            case ast.Call():
                return self._call(node, walked)
        raise Unread("a form of Python that tests are not read in", node)

    def _all(self, nodes: Sequence[ast.expr], *, walked: bool = False) -> tuple[Reading, ...]:
        return tuple(self.tree(node, walked=walked) for node in nodes)

    def _made(self, tree: Reading, node: ast.AST) -> Reading:
        """The tree; its value, if it is a constant."""
        if free(tree):
            return tree
        try:
            value = read_as(tree)
        except Stopped as error:
            raise Unread("a constant that cannot be computed", f"{ast.unparse(node)[:80]} ({error})") from None
        if isinstance(tree, Apply) and tree.operation in _DISPLAYS.values():
            members = [*value, *value.values()] if type(value) is dict else value
            if any(type(one) in (range, Approx) for one in members):
                raise Unread("a constant that is no plain data", node)
        return Constant(value)

    # names

    def _name(self, node: ast.AST, name: str) -> Reading:
        if name in self.bound:
            return Named(name)
        if name in self.scope.values:
            found = self.scope.values[name]
            if found.given is not None:
                self._meet(found.given, node)
            return found.tree
        if (dotted := self.scope.imported.get(name)) in CONSTANTS:
            return Constant(CONSTANTS[dotted])
        if name in TYPES:
            return Constant(TYPES[name])
        raise Unread("a name without a value that is known", name)

    def _dotted(self, node: ast.expr) -> str:
        """The name of a function or constant in full: `numpy.allclose` for `np.allclose`; "" for what is none."""
        if isinstance(node, ast.Name):
            return self.scope.imported.get(node.id, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in self.bound:
            module = self.scope.modules.get(node.value.id)
            return f"{module or node.value.id}.{node.attr}" if node.value.id not in self.scope.values else ""
        return ""

    @contextmanager
    def _binding(self, names: Sequence[str]) -> Iterator[None]:
        self.bound += names
        yield
        del self.bound[len(self.bound) - len(names) :]

    # comparisons, places, comprehensions

    def _compared(self, node: ast.Compare) -> Reading:
        sides = [node.left, *node.comparators]
        walked = [_COMPARED[type(sign)] in ("in", "not in") for sign in node.ops]
        trees = [self.tree(side, walked=i > 0 and walked[i - 1]) for i, side in enumerate(sides)]
        pairs: list[Reading] = []
        for sign, left, right in zip(node.ops, trees, trees[1:], strict=False):
            if isinstance(sign, ast.Eq) and left == right and "" in free(left):
                pairs.append(Constant(True))  # a result compared with itself: every program meets this
                continue
            if isinstance(sign, (ast.Is, ast.IsNot)):
                values = [one.value for one in (left, right) if isinstance(one, Constant)]
                if not any(one is None or type(one) in (bool, type) for one in values):
                    raise Unread("'is' beside something other than None, True, False or a type", node)
            pairs.append(Apply(_COMPARED[type(sign)], (left, right)))
        return self._made(pairs[0] if len(pairs) == 1 else Choice("and", tuple(pairs)), node)

    def _place(self, node: ast.expr) -> Reading:
        if not isinstance(node, ast.Slice):
            return self.tree(node)
        parts = tuple(Constant(None) if one is None else self.tree(one) for one in (node.lower, node.upper, node.step))
        return self._made(Apply("slice", parts), node)

    def _each(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Reading:
        clauses, names = [], []
        for one in node.generators:
            source = self.tree(one.iter, walked=True)
            own = names_of(one.target)
            self.bound += own
            names += own
            clauses.append(Clause(tuple(own), source, self._all(one.ifs)))
        parts = self._all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        del self.bound[len(self.bound) - len(names) :]
        return self._made(Each(_DISPLAYS[type(node)], parts, tuple(clauses)), node)

    # calls

    def _call(self, node: ast.Call, walked: bool) -> Reading:
        if (entry := self._entry(node.func)) is not None:
            return self._returned(node, entry)
        name = self._dotted(node.func)
        if name in FUNCTIONS:
            return self._function(node, name, walked)
        if isinstance(node.func, ast.Attribute) and not name:
            method = f".{node.func.attr}"
            if method not in OPERATIONS:
                raise Unread("a method that tests are not read with", method)
            if method in VIEWS and not walked:
                raise Unread("a view that is not taken apart at once", node)
            parts = (self.tree(node.func.value), *self._all(node.args, walked=method == ".join"))
            return self._made(Apply(method, parts, self._keywords(node)), node)
        raise Unread("a function that tests are not read with", node.func)

    def _function(self, node: ast.Call, name: str, walked: bool) -> Reading:
        if name in VIEWS and not walked:
            raise Unread("a view that is not taken apart at once", node)
        return self._made(Apply(name, self._all(node.args, walked=name in _WALKS), self._keywords(node)), node)

    def _keywords(self, node: ast.Call) -> tuple[tuple[str, Reading], ...]:
        return tuple((self._keyword(one), self._key(one)) for one in node.keywords)

    def _keyword(self, one: ast.keyword) -> str:
        if one.arg is None:
            raise Unread("a form of Python that tests are not read in", one.value)
        return one.arg

    def _key(self, one: ast.keyword) -> Reading:
        if one.arg != "key" or isinstance(one.value, ast.Constant):
            return self.tree(one.value)
        if isinstance(one.value, ast.Lambda):
            names = [argument.arg for argument in one.value.args.args]
            with self._binding(names):
                return Function(tuple(names), self.tree(one.value.body))
        name = self._dotted(one.value)
        if name not in FUNCTIONS:
            raise Unread("a function that tests are not read with", one.value)
        return Function(("key",), Apply(name, (Named("key"),)))

    def _entry(self, function: ast.expr) -> str | None:
        """The function of the program that is called; None for a call of something else."""
        scope = self.scope
        match function:
            case ast.Name(name) if name in scope.programs:
                return scope.programs[name]
            case ast.Name(name) if name in self.bound or name in scope.values or name in scope.helpers:
                raise Unread("a function of the test itself", name)
            case ast.Name(name):
                original = scope.imported.get(name, name)
                if original in FUNCTIONS:
                    return None
                if name in scope.imported or name in TYPES:
                    raise Unread("a function that tests are not read with", original)
                return name
            case ast.Attribute(ast.Name(name), method) if name in scope.objects:
                return f"{scope.objects[name]}.{method}"
            case ast.Attribute(ast.Call(ast.Name(), [], []) as made, method):
                holder = self._entry(made.func)
                return None if holder is None else f"{holder}.{method}"
        return None

    def _returned(self, node: ast.Call, entry: str) -> Reading:
        arguments: list[Any] = []
        for one in node.args:
            starred = isinstance(one, ast.Starred)
            value = self._argument(one.value if isinstance(one, ast.Starred) else one)
            arguments += value if starred else [value]
        named = {self._keyword(one): self._argument(one.value) for one in node.keywords}
        self._meet(Given(entry, tuple(arguments), named), node)
        return RETURNED

    def _argument(self, node: ast.expr) -> Any:
        before = self.given
        tree = self.tree(node)
        if not isinstance(tree, Constant):
            self.given = before
            inner = "" in free(tree)
            raise Unread("the program is called with what it returned" if inner else "an argument that varies", node)
        try:
            return plain.unpack(plain.pack(tree.value))  # its own copy: a test may change its lists later
        except plain.NotPlain:
            raise Unread("an argument that is no plain data", node) from None

    def _meet(self, given: Given, node: ast.AST) -> None:
        if self.given is not None and not self.given.same(given):
            raise Unread("two results of the program beside each other, so that no expected value stands there", node)
        self.given = given


def names_of(target: ast.expr) -> list[str]:
    """The names that a target binds. Unread for places that are no names."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if not all(isinstance(one, ast.Name) for one in parts):
        raise Unread("a form of Python that tests are not read in", target)
    return [one.id for one in parts if isinstance(one, ast.Name)]
