"""Tests that are written in Python, taken apart into calls and the conditions on their values.

    assert sorted(f(2)) == [1, 2]      # Call("f", (2,), [1, 2], reading=Apply("sorted", (RETURNED,)))

Nothing of a test is run. Statements that only prepare constants are followed; functions that hold asserts are entered
where they are called, with the name of the program's function for their parameter, as in `check(candidate)`.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError
from assay.verifiers.programs import plain
from assay.verifiers.programs.expressions import Read, Scope, Unread, names_of, read
from assay.verifiers.programs.operations import FUNCTIONS, members
from assay.verifiers.programs.readings import RETURNED, Apply, Constant, Reading
from assay.verifiers.programs.specs import Call

LONGEST_TEST, DEEPEST_TEST = 1 << 20, 60  # characters and brackets: deeper text can break a parser
MOST_STATEMENTS = 20_000  # that are followed, loops unrolled
_SIGNS = ("-", "+", "~", "not", "lambda", "**", "if", "else", ".")


class UnreadableTest(DataError):
    """A test that cannot be verified outside of the program's process; `reason` is the same for all of a kind."""

    def __init__(self, reason: str, part: str, line: int, source: str) -> None:
        at = f", line {line}," if line > 1 else ""
        named = f" ({part[:80]})" if part else ""
        super().__init__(
            f"this test{at} cannot be verified outside the candidate's process: {reason}{named}. The test is "
            f"{source[:120]!r}; write it as `assert f(arguments) == constant`."
        )
        self.reason = reason


def calls_of(text: str, *, setup: str = "", entry: str = "") -> tuple[Call, ...]:
    """The calls and the expected values that a test asks for, so that the comparison can be made outside.

    calls_of("assert f(1, [2]) == 3")  # (Call("f", (1, [2]), 3),)

    `setup` are statements before it, and `entry` is the function of the program that a `check(candidate)` is given.
    UnreadableTest, a DataError, says what cannot be read: the candidate's own process would decide it, and could lie.
    """
    walk = _Walk(entry.replace("()", ""))
    for part in (setup, text):
        walk.follow(part)
    return walk.finished(text)


def _parsed(text: str) -> list[ast.stmt]:
    if len(text) > LONGEST_TEST or _depth(text) > DEEPEST_TEST:
        raise UnreadableTest("more brackets or characters than are read", "", 0, text)
    try:
        return ast.parse(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableTest("text that is no Python", str(error), getattr(error, "lineno", 0) or 0, text) from None


def _depth(text: str) -> int:
    """How deep brackets and signs are nested, at most: `- - -1` nests as brackets do. Strings do not count."""
    depth = deepest = signs = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline):
            if token.type == tokenize.OP or token.string in _SIGNS:
                depth += (token.string in "([{") - (token.string in ")]}")
                signs = signs + 1 if token.string in _SIGNS else 0
            elif token.type in (tokenize.NEWLINE, tokenize.STRING):
                signs = 0
            deepest = max(deepest, depth + signs)
    except (tokenize.TokenError, SyntaxError, ValueError) as error:
        raise UnreadableTest("text that is no Python", str(error), 0, text) from None
    return deepest


@dataclass
class _Walk:
    """Follows statements, with what names mean at this place."""

    entry: str
    scope: Scope = field(default_factory=Scope)
    found: list[Call] = field(default_factory=list)
    entered: set[str] = field(default_factory=set)  # functions of the test that were called
    left: int = MOST_STATEMENTS
    vacuous: str = ""  # an assert that no program decides

    def __post_init__(self) -> None:
        if self.entry:
            self.scope.programs[self.entry] = self.entry
        self.scope.values["__name__"] = Read(Constant("__main__"))

    def follow(self, text: str) -> None:
        for statement in _parsed(text):
            self._guarded(statement, text)

    def finished(self, text: str) -> tuple[Call, ...]:
        """The calls of all that was followed. Functions that nobody called are called as test runners call them."""
        for name, helper in list(self.scope.helpers.items()):
            alone = not helper.args.args and name.startswith("test")
            if name not in self.entered and (alone or (name == "check" and self.entry)):
                self._guarded(_called(name, [] if alone else [self.entry]), text)
        if not self.found:
            reason = "an assert that no program can fail" if self.vacuous else "no assert of the program"
            raise UnreadableTest(reason, self.vacuous, 0, text)
        return tuple(self.found)

    def _guarded(self, statement: ast.stmt, text: str) -> None:
        try:
            self._statement(statement)
        except Unread as error:
            where = error.where or statement
            raise UnreadableTest(error.reason, error.part, where.lineno, ast.unparse(where)) from None
        except (RecursionError, MemoryError):
            raise UnreadableTest("more brackets or characters than are read", "", 0, text) from None

    def _statement(self, node: ast.stmt) -> None:
        try:
            self._followed(node)
        except Unread as error:
            error.where = error.where or node
            raise

    def _followed(self, node: ast.stmt) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unread(f"more than {MOST_STATEMENTS} statements")
        match node:
            case ast.Assert(test):
                self._assert(test)
            case ast.Assign(targets, value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target, _, value) if value is not None:
                self._assign(target, value)
            case ast.AugAssign(ast.Name(name), sign, value):
                self._augmented(name, sign, value)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.FunctionDef(name):
                self.scope.helpers[name] = node
            case ast.For(target, source, body, []):
                self._loop(target, source, body)
            case ast.If(test, then, other):
                for statement in then if self._constant(test) else other:
                    self._statement(statement)
            case ast.Expr(value):
                self._effect(value)
            case ast.Pass():
                pass
            case _:
                raise Unread("a statement that tests are not read with", type(node).__name__)

    # statements that prepare

    def _constant(self, node: ast.expr) -> Any:
        found = read(node, self.scope)
        if not isinstance(found.tree, Constant):
            raise Unread("a step that depends on what the program returned", node)
        return found.tree.value

    def _bind(self, name: str, value: Read) -> None:
        for names in (self.scope.programs, self.scope.objects, self.scope.helpers, self.scope.imported):
            names.pop(name, None)
        self.scope.values[name] = value

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        scope = self.scope
        names = names_of(target)
        if isinstance(target, ast.Name):
            if isinstance(value, ast.Name) and value.id in scope.programs:
                scope.programs[target.id] = scope.programs[value.id]
            elif isinstance(value, ast.Call) and (made := self._made(value)):
                scope.objects[target.id] = made
            else:
                self._bind(target.id, read(value, scope))
            return
        for name, part in zip(names, _unpacked(self._constant(value), len(names)), strict=True):
            self._bind(name, Read(Constant(part)))

    def _made(self, node: ast.Call) -> str:
        """The class of the program that an expression makes an object of, as in `s = Solution()`; else ""."""
        named = isinstance(node.func, ast.Name) and not node.args and not node.keywords
        name = node.func.id if named and isinstance(node.func, ast.Name) else ""
        known = name in FUNCTIONS or name in self.scope.values or name in self.scope.programs
        return name if name[:1].isupper() and not known and name not in self.scope.imported else ""

    def _augmented(self, name: str, sign: ast.operator, value: ast.expr) -> None:
        found = read(ast.BinOp(ast.Name(name, ast.Load()), sign, value), self.scope)
        if not isinstance(found.tree, Constant) or type(found.tree.value) in (list, dict, set):
            raise Unread("a step that changes a value in place", name)
        self._bind(name, found)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for one in node.names:
            short = one.asname or one.name.partition(".")[0]
            if isinstance(node, ast.Import):
                self.scope.modules[short] = one.name if one.asname else short
            elif node.module and one.name != "*" and short not in self.scope.programs:
                self.scope.imported[short] = f"{node.module}.{one.name}"

    def _loop(self, target: ast.expr, source: ast.expr, body: Sequence[ast.stmt]) -> None:
        names = names_of(target)
        single = isinstance(target, ast.Name)
        iterated = ast.Call(ast.Name("list", ast.Load()), [source], [])
        for member in members(self._constant(iterated)):
            for name, part in zip(names, [member] if single else _unpacked(member, len(names)), strict=True):
                self._bind(name, Read(Constant(part)))
            for statement in body:
                self._statement(statement)

    def _effect(self, node: ast.expr) -> None:
        """A statement that is an expression: a call of a function with asserts, `append` to a list, a text, `print`."""
        match node:
            case ast.Constant() | ast.Call(ast.Name("print")) | ast.Name("print"):
                pass
            case ast.Call(ast.Name(name), arguments, []) if name in self.scope.helpers:
                self._enter(name, arguments)
            case ast.Call(ast.Attribute(ast.Name(name), "append"), [value], []) if name in self.scope.values:
                self._append(name, value)
            case _:
                raise Unread("a statement that tests are not read with", node)

    def _append(self, name: str, value: ast.expr) -> None:
        """One more member. The list is made anew, so that it must have no other name and lie in nothing else."""
        held = self.scope.values[name].tree
        others = [one.tree for key, one in self.scope.values.items() if key != name]
        alone = isinstance(held, Constant) and not any(
            isinstance(one, Constant) and _holds(one.value, held.value) for one in others
        )
        if not isinstance(held, Constant) or type(held.value) is not list or not alone:
            raise Unread("a step that changes a value in place", name)
        self._bind(name, Read(Constant([*held.value, self._constant(value)])))

    def _enter(self, name: str, arguments: Sequence[ast.expr]) -> None:
        helper, outer = self.scope.helpers[name], self.scope
        parameters = helper.args.args
        if len(parameters) != len(arguments) or name in self.entered:
            raise Unread("a function of the test itself", name)
        self.entered.add(name)
        inner = Scope(dict(outer.values), dict(outer.programs), dict(outer.objects), dict(outer.modules),
                      dict(outer.imported), dict(outer.helpers))  # fmt: skip
        for parameter, argument in zip(parameters, arguments, strict=True):
            inner.programs[parameter.arg] = self._program(argument)
        self.scope = inner
        for statement in helper.body:
            self._statement(statement)
        self.scope = outer

    def _program(self, node: ast.expr) -> str:
        """The function of the program that a name stands for, or an entry as it is written: `Solution().f`."""
        text = ast.unparse(node)
        if isinstance(node, ast.Name) and node.id not in self.scope.values:
            return self.scope.programs.get(node.id, node.id)
        if isinstance(node, ast.Attribute) and text.replace("()", "").replace(".", "").isidentifier():
            return text.replace("()", "")
        raise Unread("a function of the test itself", node)

    # asserts

    def _assert(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for part in node.values:
                self._assert(part)
            return
        if isinstance(node, ast.Tuple):
            raise Unread("an assert that no program can fail, because a tuple always holds", node)
        assertion = self._decided(node)
        if assertion.given is None:
            if not isinstance(assertion.tree, Constant) or not assertion.tree.value:
                raise Unread("an assert that no program can meet", node)
            self.vacuous = ast.unparse(node)
            return
        expected, name, reading = _asked(assertion.tree)
        given = assertion.given
        self.found.append(Call(given.entry, given.arguments, expected, name, given.named, reading))

    def _decided(self, node: ast.expr) -> Read:
        """An assert, read. One that Python's own functions do not meet may call the program by the name of one."""
        named, first = self._shadowing(node), None
        try:
            assertion = read(node, self.scope)
            if not named or assertion.given is not None or _holding(assertion.tree):
                return assertion
        except Unread as error:
            first = error
        try:
            if named:
                self.scope.programs[named] = named
                return read(node, self.scope)
        except Unread:
            self.scope.programs.pop(named)
        raise first or Unread("an assert that no program can meet", node)

    def _shadowing(self, node: ast.expr) -> str:
        """The known function that an assert calls first of all, where no function of the program has been named."""
        if self.entry or self.found or self.scope.programs:
            return ""
        called = [one.func.id for one in _leftmost(node) if isinstance(one.func, ast.Name)]
        return called[0] if called and called[0] in FUNCTIONS else ""


def _asked(tree: Reading) -> tuple[Any, str, Reading | None]:
    """(the expected value, the comparator, what is made of the returned value) of a condition."""
    match tree:
        case Apply("not", (one,)):
            return False, "truth", None if one == RETURNED else one
        case Apply("==" | "is" as sign, (left, right)):
            for one, other in ((left, right), (right, left)):
                if isinstance(other, Constant) and _plain(other.value) and (sign == "==" or _single(other.value)):
                    return other.value, "", None if one == RETURNED else one
    return True, "truth", None if tree == RETURNED else tree


def _plain(value: Any) -> bool:
    try:
        plain.pack(value)
    except plain.NotPlain:
        return False
    return True


def _holding(tree: Reading) -> bool:
    return isinstance(tree, Constant) and bool(tree.value)


def _single(value: Any) -> bool:
    return value is None or type(value) is bool


def _holds(value: Any, other: Any) -> bool:
    """Whether this very object is the value, or lies in it."""
    inner = [*value, *value.values()] if type(value) is dict else value if type(value) in (list, tuple) else ()
    return value is other or any(_holds(one, other) for one in inner)


def _leftmost(node: ast.expr) -> Iterator[ast.Call]:
    inner = node.left if isinstance(node, ast.Compare) else node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(inner, ast.Call):
        yield inner


def _unpacked(value: Any, count: int) -> list[Any]:
    parts = list(value) if type(value) in (list, tuple, str) else []
    if len(parts) != count:
        raise Unread("a constant that cannot be computed", f"{count} names for another number of values")
    return parts


def _called(name: str, arguments: Sequence[str]) -> ast.stmt:
    return ast.parse(f"{name}({', '.join(arguments)})").body[0]
