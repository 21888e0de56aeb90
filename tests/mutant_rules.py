"""What mutants are made of: the files that decide what is trained, rewarded or reported, and the rules of change."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "assay/objective",
    "assay/credit",
    "assay/source",
    "assay/ask",
    "assay/collect",
    "assay/forwards",
    "assay/curate",
    "assay/memory",
    "assay/reward",
    "assay/scoring",
    "assay/methods",
    "assay/verifiers",
    "assay/externals",
    "assay/sandbox",
)
FILES = (
    "assay/assemble.py",
    "assay/engine/optimiser.py",
    "assay/recipe.py",
    "assay/record/measure.py",
    "assay/run/recorder.py",
    "assay/stages.py",
)

Rule = Callable[[ast.AST], Iterator[ast.AST]]
"""A node -> what may stand in its place."""

TURNED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OTHER_SIDE = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "amin": "amax", "amax": "amin"}
SPLITS = ("train", "valid", "test")
SEVERAL = ("episodes", "rows", "members", "requests", "problems", "everyone", "rewards", "values")
MASKS = ("mask", "count", "train", "member", "in_loss", "alive", "right", "wrong", "apart", "chosen", "where")


def sign(node: ast.AST) -> Iterator[ast.AST]:
    """-x -> x; a + b <-> a - b."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield ast.BinOp(node.left, other, node.right)


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """< <-> <=, > <-> >=, == <-> !=."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
        yield ast.Compare(node.left, [TURNED[type(node.ops[0])]()], node.comparators)


def ddof(node: ast.AST) -> Iterator[ast.AST]:
    """d -> 1 - d, where it is an argument or a subtrahend."""
    if isinstance(node, ast.Call):
        for place, word in enumerate(node.keywords):
            if word.arg in ("ddof", "correction"):
                turned = ast.keyword(word.arg, _one_less(word.value))
                yield ast.Call(node.func, node.args, [*node.keywords[:place], turned, *node.keywords[place + 1 :]])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and ast.unparse(node.right).endswith("ddof"):
        yield ast.BinOp(node.left, node.op, _one_less(node.right))


def denominator(node: ast.AST) -> Iterator[ast.AST]:
    """a / b -> a; a mean -> a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mean":
        yield ast.Call(ast.Attribute(node.func.value, "sum"), node.args, node.keywords)


def clip_side(node: ast.AST) -> Iterator[ast.AST]:
    """The minimum for the maximum; one bound for the other, or no bound."""
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in OTHER_SIDE:
        other = OTHER_SIDE[name]
        func = ast.Attribute(node.func.value, other) if isinstance(node.func, ast.Attribute) else ast.Name(other)
        yield ast.Call(func, node.args, node.keywords)
    if name in ("clamp", "clip") and isinstance(node.func, ast.Attribute):
        bounds = {word.arg or "": word.value for word in node.keywords} | dict(zip(("min", "max"), node.args))
        if {"min", "max"} <= set(bounds):
            yield from (ast.Call(node.func, [], [ast.keyword(side, bounds[side])]) for side in ("min", "max"))
        elif len(bounds) == 1:
            yield node.func.value


def mask(node: ast.AST) -> Iterator[ast.AST]:
    """~x -> x; a & b -> a or b; a product without the factor that is called a mask."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        yield node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield from (node.left, node.right)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        yield from node.values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(one, ast.BinOp) and any(word in ast.unparse(one) for word in MASKS):
                yield other


def lot(node: ast.AST) -> Iterator[ast.AST]:
    """A random key without one of the things that it is made of: what is drawn is the same for all of them."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("key", "Key"):
            for place in range(1, len(node.args)):
                yield ast.Call(node.func, [*node.args[:place], *node.args[place + 1 :]], [])


def split(node: ast.AST) -> Iterator[ast.AST]:
    """One split of the problems for another."""
    if isinstance(node, ast.Constant) and node.value in SPLITS:
        yield from (ast.Constant(other) for other in SPLITS if other != node.value)


def default(node: ast.AST) -> Iterator[ast.AST]:
    """A call without an argument that has a default. A text for people computes nothing."""
    if isinstance(node, ast.Call):
        for place, word in enumerate(node.keywords):
            if word.arg in defaulted() and word.arg != "title":
                yield ast.Call(node.func, node.args, [*node.keywords[:place], *node.keywords[place + 1 :]])


def last(node: ast.AST) -> Iterator[ast.AST]:
    """Of several the last one alone."""
    if isinstance(node, ast.Call):
        for place, value in enumerate(node.args):
            of_a_group = isinstance(value, ast.Attribute) and value.attr in ("members", "places")
            if of_a_group or (isinstance(value, ast.Name) and value.id in SEVERAL):
                only = ast.Subscript(value, ast.Slice(ast.UnaryOp(ast.USub(), ast.Constant(1)), None, None))
                yield ast.Call(node.func, [*node.args[:place], only, *node.args[place + 1 :]], node.keywords)


@functools.cache
def defaulted() -> frozenset[str]:
    """Names of the arguments that have a default somewhere in what is changed, and are given by name alone."""
    found = [node for path in paths() for node in ast.walk(ast.parse(path.read_text()))]
    given = [node.args for node in found if isinstance(node, ast.FunctionDef)]
    pairs = [pair for args in given for pair in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return frozenset(argument.arg for argument, value in pairs if value is not None)


def _one_less(value: ast.expr) -> ast.expr:
    return ast.BinOp(ast.Constant(1), ast.Sub(), value)


RULES: dict[str, Rule] = {
    "sign": sign,
    "comparison": comparison,
    "ddof": ddof,
    "denominator": denominator,
    "clip-side": clip_side,
    "mask": mask,
    "lot": lot,
    "split": split,
    "default": default,
    "last": last,
}


def paths() -> list[Path]:
    """What is changed."""
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))] + [ROOT / p for p in FILES]
