"""Terms of SMT-LIB, with their truth by evaluation: over all bit-vectors of four bits, and over many whole numbers.

A term is a tree: a name, a number, a truth value, or an operator with its arguments. Its meaning is computed here from
the standard's text. Of bit-vectors and truth values every place is tried, which decides. Of whole numbers a place where
two terms differ proves that they are not equal; that they are equal rests on the law by which one was rewritten.
Answers for which neither is known are dropped.
"""

from __future__ import annotations

import itertools
import json
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.verifiers.audit import Labelled

Tree = Any  # "x", 3, True, or ("bvadd", "x", 3)
Place = dict[str, int]
Draw = random.Random

BITS: dict[str, Any] = {"x": 4, "y": 4, "p": "Bool"}
WHOLE: dict[str, Any] = {"a": "Int", "b": "Int", "p": "Bool"}
NEAR = [*range(-9, 10), -1_000_001, -1_000_000, 999_999, 1_000_000]
ALL_BITS = [{"x": x, "y": y, "p": p} for x, y, p in itertools.product(range(16), range(16), (0, 1))]
MANY_WHOLE = [{"a": a, "b": b, "p": p} for a, b, p in itertools.product(NEAR, NEAR, (0, 1))]


def _signed(one: int) -> int:
    return one - 16 if one > 7 else one


WORDS: dict[str, Callable[[int, int], int]] = {
    "bvadd": lambda x, y: x + y, "bvsub": lambda x, y: x - y, "bvmul": lambda x, y: x * y, "bvand": operator.and_,
    "bvor": operator.or_, "bvxor": operator.xor, "bvshl": lambda x, y: x * 2**y, "bvlshr": lambda x, y: x // 2**y,
    "bvashr": lambda x, y: _signed(x) // 2**y, "bvudiv": lambda x, y: x // y if y else 15,
    "bvurem": lambda x, y: x % y if y else x,
}  # fmt: skip
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SAME = {"=": operator.eq, "distinct": operator.ne}
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
BIT_ORDERS = {f"bv{sign}{name}": (sign, ORDERS[order]) for sign in "us" for order, name in NAMES.items()}
CONNECTED: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "=>": lambda p, q: (1 - p) | q,
}  # fmt: skip


def meaning(tree: Tree, place: Place) -> int:
    """The value of a tree at a place; 0 or 1 of a truth value.

    meaning(("bvadd", "x", 1), {"x": 15})  # 0
    """
    if not isinstance(tree, tuple):
        return place[tree] if isinstance(tree, str) else int(tree)
    head, *rest = tree
    if head == "ite":
        return meaning(rest[1 if meaning(rest[0], place) else 2], place)
    found = [meaning(one, place) for one in rest]
    first, last = found[0], found[-1]
    if head in WORDS:
        return WORDS[head](first, last) % 16
    if head in BIT_ORDERS:
        sign, order = BIT_ORDERS[head]
        return int(order(first, last) if sign == "u" else order(_signed(first), _signed(last)))
    if head in ORDERS or head in SAME:
        return int((ORDERS | SAME)[head](first, last))
    if head in CONNECTED:
        return CONNECTED[head](first, last)
    return _arithmetic(head, found)


def _arithmetic(head: str, found: Sequence[int]) -> int:
    match head:
        case "not":
            return 1 - found[0]
        case "bvnot":
            return 15 - found[0]
        case "bvneg":
            return (16 - found[0]) % 16
        case "+":
            return found[0] + found[1]
        case "-":
            return found[0] - found[1] if len(found) == 2 else -found[0]
        case "*":
            return found[0] * found[1]
        case "div":  # by a divisor above 0, which Python and the standard both round down
            return found[0] // found[1]
    assert head == "mod"
    return found[0] % found[1]


def written(tree: Tree, bits: bool) -> str:
    if isinstance(tree, tuple):
        return f"({tree[0]} {' '.join(written(one, bits) for one in tree[1:])})"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    if isinstance(tree, str):
        return tree
    return f"(_ bv{tree} 4)" if bits else str(tree) if tree >= 0 else f"(- {-tree})"


# --- terms ----------------------------------------------------------------------------------------------------


def words(d: Draw, depth: int) -> Tree:
    if depth == 0:
        return d.choice(["x", "y", "x", "y", d.randrange(16)])
    if d.random() < 0.2:
        return d.choice(["bvnot", "bvneg"]), words(d, depth - 1)
    return d.choice(list(WORDS)), words(d, depth - 1), words(d, depth - 1)


def bit_condition(d: Draw, depth: int) -> Tree:
    if depth == 0:
        return "p" if d.random() < 0.2 else (d.choice([*BIT_ORDERS, *SAME]), words(d, 1), words(d, d.randint(0, 1)))
    return _joined(d, bit_condition, depth)


def sum_of(d: Draw) -> Tree:
    one: Tree = ("*", d.randint(-4, 4), d.choice("ab"))
    if d.random() < 0.3:
        one = (d.choice(["mod", "div"]), d.choice("ab"), d.randint(2, 4))
    return (d.choice("+-"), one, d.choice(["a", "b", d.randint(-6, 6)])) if d.random() < 0.6 else one


def condition(d: Draw, depth: int) -> Tree:
    if depth == 0:
        return "p" if d.random() < 0.2 else (d.choice([*ORDERS, *SAME]), sum_of(d), d.choice(["a", d.randint(-6, 6)]))
    return _joined(d, condition, depth)


def _joined(d: Draw, draw: Callable[[Draw, int], Tree], depth: int) -> Tree:
    if d.random() < 0.2:
        return "not", draw(d, depth - 1)
    return d.choice(list(CONNECTED)), draw(d, depth - 1), draw(d, depth - 1)


# --- laws that change no value, and changes that mostly do ----------------------------------------------------

MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
MIRRORED |= {f"bv{sign}{NAMES[one]}": f"bv{sign}{NAMES[other]}" for sign in "us" for one, other in MIRRORED.items()}
OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "=": "distinct", "distinct": "="}
OPPOSITE |= {f"bv{sign}{NAMES[one]}": f"bv{sign}{NAMES[OPPOSITE[one]]}" for sign in "us" for one in NAMES}
TURNS = {"+", "and", "or", "xor", "=", "distinct", "bvadd", "bvmul", "bvand", "bvor", "bvxor"}


def laws(tree: Tree) -> dict[str, Tree]:
    """The same value in other words, by name of a law of numbers, of logic or of words of bits."""
    if not isinstance(tree, tuple):
        return {"twice not": ("not", ("not", tree))} if tree == "p" else {}
    head, one, *rest = tree
    other = rest[0] if rest else None
    found: dict[str, Tree] = {}
    if head in TURNS:
        found["sides turned"] = (head, other, one)
    if head in MIRRORED:
        found["order mirrored"] = (MIRRORED[head], other, one)
    if head in OPPOSITE:
        found["not the opposite"] = ("not", (OPPOSITE[head], one, other))
    by_head: dict[str, dict[str, Callable[[], Tree]]] = {
        "and": {
            "De Morgan": lambda: ("not", ("or", ("not", one), ("not", other))),
            "a choice": lambda: ("ite", one, other, False),
        },
        "or": {
            "De Morgan": lambda: ("not", ("and", ("not", one), ("not", other))),
            "an implication": lambda: ("=>", ("not", one), other),
        },
        "=>": {
            "a disjunction": lambda: ("or", ("not", one), other),
            "the contrapositive": lambda: ("=>", ("not", other), ("not", one)),
        },
        "xor": {"a difference of truths": lambda: ("distinct", one, other)},
        "<": {"one less": lambda: ("<=", ("+", one, 1), other)},
        "<=": {"one more": lambda: ("<", one, ("+", other, 1))},
        "-": {"minus as plus": lambda: ("+", one, ("-", other))},
        "*": {"one more of it": lambda: ("-", ("*", one + 1, other), other)},
        "bvsub": {"a complement": lambda: ("bvadd", one, ("bvadd", ("bvnot", other), 1))},
        "bvadd": {"sum and carry": lambda: ("bvadd", ("bvxor", one, other), ("bvshl", ("bvand", one, other), 1))},
        "bvxor": {"either, not both": lambda: ("bvsub", ("bvor", one, other), ("bvand", one, other))},
        "bvor": {"De Morgan": lambda: ("bvnot", ("bvand", ("bvnot", one), ("bvnot", other)))},
        "bvneg": {"a complement": lambda: ("bvadd", ("bvnot", one), 1)},
        "bvnot": {"one less than minus": lambda: ("bvsub", ("bvneg", one), 1)},
    }
    return found | {name: make() for name, make in by_head.get(head, {}).items()}


FAMILIES = [list(WORDS), list(BIT_ORDERS), list(ORDERS), ["=", "distinct"], list(CONNECTED), ["+", "-"], ["mod", "div"]]
FAMILIES += [["bvnot", "bvneg"]]


def changes(d: Draw, tree: Tree) -> dict[str, Tree]:
    """A tree with one thing of its head changed, by name of the change."""
    if isinstance(tree, bool):
        return {"constant": not tree}
    if isinstance(tree, int):
        return {"constant": max(0, tree - 1) if d.random() < 0.5 else (tree + 1) % 16}
    if isinstance(tree, str):
        return {"variable": {"x": "y", "y": "x", "a": "b", "b": "a", "p": ("not", "p")}[tree]}
    head, one, *rest = tree
    found: dict[str, Tree] = {}
    for family in FAMILIES:
        if head in family and rest and head not in ("mod", "div"):
            found["operator"] = (d.choice([name for name in family if name != head]), one, *rest)
    if rest and head not in ("*", "mod", "div", "ite"):
        found["sides turned"] = (head, rest[0], one)
    if head in (*ORDERS, *SAME, *CONNECTED, *BIT_ORDERS):
        found["negated"] = ("not", tree)
    if head in ("not", "and", "or", "xor", "=>"):
        found["a part dropped"] = one
    if head in WORDS:
        found["a part dropped"] = one
    return found


def somewhere(d: Draw, tree: Tree, change: Callable[[Tree], dict[str, Tree]]) -> tuple[str, Tree]:
    """(the name of a change, the tree with it at a drawn place); the tree as it is if nothing there can be changed."""
    inner = [i for i in range(1, len(tree)) if isinstance(tree[i], tuple | str)] if isinstance(tree, tuple) else []
    if inner and d.random() < 0.6:
        at = d.choice(inner)
        name, part = somewhere(d, tree[at], change)
        return name, (*tree[:at], part, *tree[at + 1 :])
    ways = change(tree)
    if not ways:
        return "", tree
    name = d.choice(list(ways))
    return name, ways[name]


# --- the set --------------------------------------------------------------------------------------------------

BROKEN = ("{} (check-sat)", "(assert {})", "(let ((q true)) {})", "{}{}", "(! {} :named q)", "({})", "{})", "")
BROKEN += ("(exists ((q Int)) {})", "{} ; as asked", "(define-fun f () Bool {})", "true) (and {}")


def smt(count: int, seed: int) -> Iterator[Labelled]:
    """Terms rewritten by laws, changed in a place or broken; values of conditions; invariants of loops of bits."""
    d = random.Random(f"smt {seed}")
    made = 0
    while made < count:
        way = made % 6
        found = _values(d) if way == 4 else _invariant(d) if way == 5 else _term(d, right=way % 2 == 0)
        if found is not None:
            made += 1
            yield found


def _term(d: Draw, *, right: bool) -> Labelled | None:
    bits = d.random() < 0.5
    word = bits and d.random() < 0.5
    gold = words(d, 2) if word else (bit_condition if bits else condition)(d, d.randint(1, 2))
    places = ALL_BITS if bits else MANY_WHOLE
    truth = [meaning(gold, one) for one in places]
    if len(set(truth)) == 1:
        return None
    asked: dict[str, Any] = {"ask": "equal", "variables": BITS if bits else WHOLE, "term": written(gold, bits)}
    text = json.dumps(asked | ({"sort": 4} if word else {}))
    if not right and d.random() < 0.15:
        return Labelled(text, d.choice(BROKEN).replace("{}", written(gold, bits)), False, "broken", "", "trick")
    other, name = gold, ""
    for _ in range(d.randint(1, 3)) if right else range(1):
        last, other = somewhere(d, other, laws if right else lambda tree: changes(d, tree))
        name = last or name
    same = [meaning(other, one) for one in places] == truth
    if other == gold or (not bits and same and not right):
        return None  # nothing was changed, or nobody knows whether the value was
    assert same or not right, f"{name} changed the value of {gold}"
    return Labelled(text, written(other, bits), same, name, origin="rewritten" if right else "mutant")


def _values(d: Draw) -> Labelled | None:
    """Values for conditions on bits; with three of them there often are none."""
    wanted = [bit_condition(d, 0) for _ in range(d.randint(1, 3))] + [("=", words(d, 1), words(d, 1))]
    fine = [all(meaning(one, place) for one in wanted) for place in ALL_BITS]
    text = json.dumps({"ask": "values", "variables": BITS, "terms": [written(one, True) for one in wanted]})
    if d.random() < (0.15 if any(fine) else 0.7):
        return Labelled(text, "unsat", not any(fine), "no values", origin="drawn")
    wish = d.random() < 0.5
    places = [place for place, one in zip(ALL_BITS, fine, strict=True) if one == wish]
    if not places:
        return None
    place = d.choice(places)
    said = {"x": d.choice(["{}", "#x{:x}", "#b{:04b}"]).format(place["x"]), "y": str(place["y"])}
    said["p"] = "true" if place["p"] else "false"
    names = d.sample(list(said), 3)
    return Labelled(text, d.choice([" ", ", "]).join(f"{n}={said[n]}" for n in names), wish, "values", origin="drawn")


def _invariant(d: Draw) -> Labelled | None:
    """A loop of two words; the states that it reaches are an invariant, and so is what little says more."""
    start, steps = {"x": d.randrange(16), "y": d.randrange(16)}, {"x": d.randint(1, 5), "y": d.randint(0, 5)}
    guard = d.choice([("bvult", "x", d.randint(5, 15)), ("distinct", "x", d.randrange(16))])
    after = {name: ("bvadd", name, step) for name, step in steps.items()}
    states, state = [], start
    while state not in states:
        states.append(state)
        if not meaning(guard, state):
            break
        state = {name: meaning(term, state) for name, term in after.items()}
    ends = [one for one in states if not meaning(guard, one)]
    post = ("=", "y", ends[0]["y"]) if ends else False
    init = ("and", ("=", "x", start["x"]), ("=", "y", start["y"]))
    plane = [{"x": x, "y": y} for x, y in itertools.product(range(16), range(16))]
    if len(states) > 12 or all(meaning(guard, one) or meaning(post, one) for one in plane):
        return None
    terms = {"init": init, "guard": guard, "post": post}
    gold: dict[str, Any] = {"ask": "invariant", "variables": {"x": 4, "y": 4}}
    gold |= {name: written(term, True) for name, term in terms.items()}
    gold["step"] = {name: written(term, True) for name, term in after.items()}
    held = [("and", ("=", "x", one["x"]), ("=", "y", one["y"])) for one in states]
    way = d.choice(["states", "states", "a state less", "a state more", "one in other words", "a condition"])
    if way == "a state less":
        held.pop(d.randrange(len(held)))
    elif way == "a state more":
        held.append(("and", ("=", "x", d.randrange(16)), ("=", "y", d.randrange(16))))
    answer: Tree = bit_condition(d, 1) if way == "a condition" else False
    for one in held if way != "a condition" else []:
        answer = one if answer is False else ("or", answer, one)
    if way == "one in other words":
        answer = somewhere(d, answer, lambda tree: laws(tree) | changes(d, tree))[1]
    if "p" in str(answer):
        return None
    right = all(
        (not meaning(init, one) or meaning(answer, one))
        and (not meaning(answer, one) or _kept(answer, guard, post, after, one))
        for one in plane
    )
    return Labelled(json.dumps(gold), written(answer, True), right, f"invariant: {way}", origin="drawn")


def _kept(answer: Tree, guard: Tree, post: Tree, after: dict[str, Tree], place: Place) -> bool:
    """Whether a round keeps the answer from this place on, or, where the loop ends, the goal holds."""
    if not meaning(guard, place):
        return bool(meaning(post, place))
    return bool(meaning(answer, {name: meaning(term, place) for name, term in after.items()}))
