"""Whether an answer equals the gold answer: both are read, and compared exactly or to many digits.

The gold's type decides how they are compared: words, a choice, a number or expression, an unordered list or set, an
ordered tuple or interval, a matrix, a relation, a family of solutions. Only expressions that our grammar cannot read
are left to a `Symbolic`, and only where both sides are one expression: a side with parts is taken apart here. Without a
`Symbolic`, such a pair stays undecided. A pair that can be read but not be decided counts as not equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from assay.verifiers.mathematics import arithmetic, families, numeric, relations
from assay.verifiers.mathematics.expressions import Tree
from assay.verifiers.mathematics.families import Family
from assay.verifiers.mathematics.quantities import Quantity, percent_left_out, rounds_to, shown_bounds
from assay.verifiers.mathematics.reading import (
    Based,
    Choice,
    Grid,
    Opaque,
    Reading,
    Relation,
    Several,
    Value,
    Words,
    read,
)
from assay.verifiers.mathematics.relations import Region
from assay.verifiers.mathematics.structure import bare, encloses, nested, several
from assay.verifiers.mathematics.writing import LONGEST, balanced, clean, squeezed

MOST_PARTS = 64  # of a list or matrix
DEEPEST = 6  # levels of structures within structures
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Decision:
    """Whether gold and answer are equal; None if exact means cannot decide it.

    Example:
        compare("1/2", "0.5")  # Decision(True, "number", "both are 1/2")
    """

    equal: bool | None
    layer: str  # which step of the comparison decided; UNDECIDED if none could within its means
    why: str


class Symbolic(Protocol):
    """Decides pairs whose gold our grammar cannot read: integrals, sums, limits and the like."""

    def same(self, gold: str, answer: str) -> Decision: ...


class Unknown:
    """Leaves every pair undecided."""

    def same(self, gold: str, answer: str) -> Decision:
        return Decision(None, "symbolic", "not of our grammar: left to a computer algebra system")


def compare(gold: str, answer: str, *, symbolic: Symbolic | None = None) -> Decision:
    """Compares two answers as they were written, without the text around them."""
    if gold.strip() == answer.strip():
        return Decision(True, "text", "the same characters")
    if max(len(gold), len(answer)) > LONGEST:
        return Decision(False, "text", f"longer than {LONGEST} characters, and not the same")
    gold, answer = clean(gold), clean(answer)
    if squeezed(gold) == squeezed(answer):
        return Decision(True, "text", "the same but for spacing and notation")
    if not balanced(answer):
        return Decision(False, "form", "braces that do not close, or nest too deeply")
    rounded = re.match(r"^(.*?)\\approx(.*)$", gold)
    return _Comparison(symbolic or Unknown(), rounded is not None).of(gold, answer, 0)


@dataclass(frozen=True)
class _Comparison:
    symbolic: Symbolic
    rounded: bool  # whether a decimal in the gold is a rounded value
    budget: numeric.Budget = field(default_factory=numeric.Budget)

    def of(self, gold: str, answer: str, depth: int) -> Decision:
        """Compares two texts: reads both, and compares their values."""
        gold, answer = bare(gold), bare(answer)
        if squeezed(gold) == squeezed(answer):
            return Decision(True, "text", "the same but for spacing and notation")
        if depth > DEEPEST:
            return Decision(False, "form", "structures within structures")
        wanted, given = read(gold, trusted=True), read(answer)
        if isinstance(wanted, Words | Choice) or isinstance(given, Choice):
            return self._words(wanted, given, (gold, answer), depth)
        if isinstance(wanted, Family) or isinstance(given, Family):
            return self._families(wanted, given, (gold, answer), depth)
        if isinstance(wanted, Relation) or isinstance(given, Relation):
            return self._related(wanted, given, (gold, answer), depth)
        if isinstance(wanted, Opaque):
            return self._opaque(gold, answer, given)
        if isinstance(given, Words | Opaque):
            return Decision(False, "form", "no mathematics that could be read")
        if _alone(wanted) != _alone(given):  # {5} is 5
            texts = [
                reading.parts[0] if isinstance(reading, Several) and _alone(reading) else text
                for reading, text in ((wanted, gold), (given, answer))
            ]
            return self.of(texts[0], texts[1], depth + 1)
        if isinstance(wanted, Several) or isinstance(given, Several):
            return self._groups(wanted, given, (gold, answer), depth)
        if isinstance(wanted, Grid) or isinstance(given, Grid):
            return self._grids(wanted, given, depth)
        return self._values(wanted, given)

    # --- words ----------------------------------------------------------------------------------------------

    def _words(self, wanted: Reading, given: Reading, texts: tuple[str, str], depth: int) -> Decision:
        """Compares words as text, and choices by their letters and, if both have one, by the text behind the letter."""
        gold, answer = texts
        if isinstance(wanted, Choice) and isinstance(given, Choice):
            if wanted.letter != given.letter:
                return Decision(False, "words", f"({given.letter}), not ({wanted.letter})")
            if not (wanted.said and given.said):
                return Decision(True, "words", f"({wanted.letter}) in both")
            return self.of(wanted.said, given.said, depth + 1)
        if isinstance(given, Choice):
            if given.said:
                return self.of(gold, given.said, depth + 1)
            same = squeezed(gold) == given.letter
            return Decision(same, "words", f"a letter, where the gold is '{gold[:40]}'")
        if isinstance(wanted, Choice):
            if wanted.said:
                return self.of(wanted.said, answer, depth + 1)
            return Decision(squeezed(answer) == wanted.letter, "words", f"'{answer[:40]}', where the gold is a letter")
        assert isinstance(wanted, Words)
        text = given.text if isinstance(given, Words) else None
        return Decision(text == wanted.text, "words", f"'{wanted.text[:80]}' against '{text or answer[:40]}'")

    # --- what our grammar does not have ---------------------------------------------------------------------

    def _opaque(self, gold: str, answer: str, given: Reading) -> Decision:
        """Leaves two expressions to the library, if both have the structure that the library sees."""
        if isinstance(given, Words):
            return Decision(False, "form", "no mathematics that could be read")
        if not isinstance(given, Opaque | Value):
            return Decision(False, "structure", "something with parts, where the gold is one expression")
        if isinstance(given, Value) and given.quantity.tree is None:
            return Decision(False, "number", "too big to be worked out, and not written alike")
        if not (legible(gold) and legible(answer)):
            return Decision(False, UNDECIDED, "the gold can only be compared as text, and the answer is another text")
        return self.symbolic.same(gold, answer)

    # --- families -------------------------------------------------------------------------------------------

    def _families(self, wanted: Reading, given: Reading, texts: tuple[str, str], depth: int) -> Decision:
        """Compares expressions with letters that have a range. The ranges must be equal, the letters need not be."""
        sides = [one if isinstance(one, Family) else text for one, text in zip((wanted, given), texts, strict=True)]
        found = [self.of(gold, answer, depth + 1) for gold, answer in families.matched(*sides)]
        if not found:
            return Decision(False, "structure", "the range of a letter is another one, or stated on one side alone")
        return next((one for one in found if one.equal), next((one for one in found if one.equal is None), found[0]))

    # --- relations ------------------------------------------------------------------------------------------

    def _related(self, wanted: Reading, given: Reading, texts: tuple[str, str], depth: int) -> Decision:
        """Compares relations. `x = 5` means 5, all values of a chain must be
        equal, and an inequality means an interval.
        """
        named, stated = relations.stated(wanted, texts[0]), relations.stated(given, texts[1])
        if named is not None and stated is not None:
            if not relations.may_be(named, stated):
                return Decision(False, "equation", f"the value of {stated.name or 'nothing'}, not of {named.name}")
            return _all([self.of(named.values[-1], value, depth + 1) for value in stated.values])
        region, other = relations.region(wanted), relations.region(given)
        if region is not None and other is not None:
            return self._same_region(region, other, depth)
        if isinstance(wanted, Relation) and isinstance(given, Relation):
            if not relations.readable(wanted):
                return self._sides(wanted, given, depth)
            equal = relations.same(wanted, given, self.budget)
            return Decision(bool(equal), "equation", "as relations, up to a constant factor")
        return Decision(False, "equation", "an equation where a value is asked, or the other way round")

    def _sides(self, wanted: Relation, given: Relation, depth: int) -> Decision:
        """Compares relations with sides that our grammar cannot read, side by side as they are written."""
        if wanted.signs != given.signs:
            return Decision(False, "equation", "other signs between the sides")
        return _all([self.of(g, a, depth + 1) for g, a in zip(wanted.sides, given.sides, strict=True)])

    # --- structures -----------------------------------------------------------------------------------------

    def _groups(self, wanted: Reading, given: Reading, texts: tuple[str, str], depth: int) -> Decision:
        """Compares groups: lists and sets without order, tuples and intervals in order, unions part by part."""
        if decision := self._regions(wanted, given, texts, depth):
            return decision
        wanted, given = relations.assigned(wanted, given)
        if not isinstance(wanted, Several) or not isinstance(given, Several):
            return self._ratio(wanted, given, texts, depth)
        if not _comparable(wanted, given):
            return Decision(False, "structure", f"a {given.kind}, where the gold is a {wanted.kind}")
        if wanted.kind == "ratio":
            return _proportion(wanted, given, self.budget)
        wanted, given = _once(wanted), _once(given)
        if len(wanted.parts) != len(given.parts):
            return Decision(False, "structure", f"{len(given.parts)} parts, not {len(wanted.parts)}")
        if len(wanted.parts) > MOST_PARTS:
            return Decision(sorted(wanted.parts) == sorted(given.parts), "structure", "long lists, compared as text")
        if wanted.ordered or given.ordered:
            pairs = zip(wanted.parts, given.parts, strict=True)
            return _all([self.of(g, a, depth + 1) for g, a in pairs], f"a {wanted.kind}, part by part")
        equal = _matched(wanted.parts, given.parts, lambda g, a: self.of(g, a, depth + 1).equal)
        return Decision(equal, "structure" if equal is not None else "symbolic", f"a {wanted.kind}, part by part")

    def _regions(self, wanted: Reading, given: Reading, texts: tuple[str, str], depth: int) -> Decision | None:
        """Compares lists of inequalities as regions: `x < 1 or x > 2` is a union of intervals."""
        region, other = relations.region(wanted), relations.region(given)
        lists = [isinstance(one, Several) and one.kind in ("list", "difference") for one in (wanted, given)]
        if region is None or other is None or not any(lists):
            return None
        return self._same_region(region, other, depth)

    def _same_region(self, wanted: Region, given: Region, depth: int) -> Decision:
        if not wanted.may_be(given):
            return Decision(False, "structure", f"a region of {given.name}, not of {wanted.name}")
        return self.of(wanted.text, given.text, depth + 1)

    def _ratio(self, wanted: Reading, given: Reading, texts: tuple[str, str], depth: int) -> Decision:
        """Compares a group with a single value. Only a ratio can be equal to one: `3:4` is 3/4."""
        for one, other in ((wanted, texts[1]), (given, texts[0])):
            if isinstance(one, Several) and one.kind == "ratio" and len(one.parts) == 2 and not _clock(one):
                fraction = rf"\frac{{{one.parts[0]}}}{{{one.parts[1]}}}"
                return self.of(*((fraction, other) if one is wanted else (other, fraction)), depth + 1)
        if isinstance(wanted, Several):
            return Decision(False, "structure", f"one thing, where the gold is a {wanted.kind} of {len(wanted.parts)}")
        assert isinstance(given, Several)
        return Decision(False, "structure", f"a {given.kind} of {len(given.parts)}, where the gold is one thing")

    def _grids(self, wanted: Reading, given: Reading, depth: int) -> Decision:
        """Compares matrices entry by entry; a determinant is no matrix."""
        if not (isinstance(wanted, Grid) and isinstance(given, Grid) and wanted.kind == given.kind):
            return Decision(False, "structure", "one is a matrix, and the other is not")
        shapes = [[len(row) for row in grid.rows] for grid in (wanted, given)]
        if shapes[0] != shapes[1] or sum(shapes[0]) > MOST_PARTS:
            return Decision(False, "structure", "matrices of different shapes")
        pairs = [(g, a) for rows in zip(wanted.rows, given.rows) for g, a in zip(*rows)]
        return _all([self.of(g, a, depth + 1) for g, a in pairs], "a matrix, entry by entry")

    # --- numbers and expressions ----------------------------------------------------------------------------

    def _values(self, wanted: Reading, given: Reading) -> Decision:
        if isinstance(wanted, Based) or isinstance(given, Based):
            return _based(wanted, given)
        assert isinstance(wanted, Value) and isinstance(given, Value)
        gold, answer = wanted.quantity, given.quantity
        if gold.unit and answer.unit:
            if gold.unit.powers != answer.unit.powers:
                return Decision(False, "number", f"in {answer.unit}, not in {gold.unit}")
            answer = answer.scaled(answer.unit.factor / gold.unit.factor)
        if gold.tree is None or answer.tree is None:
            return Decision(False, "number", "too big to be worked out, and not written alike")
        if gold.number and answer.number:
            return _numbers(gold, answer, self.rounded)
        if (decision := _decimal(gold, answer, self.rounded, self.budget)) is not None:
            return decision
        return _expressions(gold.tree, answer.tree, self.budget)


def _numbers(gold: Quantity, answer: Quantity, rounded: bool) -> Decision:
    """Compares two rational numbers: equal, or one is the other rounded, where
    the rule for decimals allows rounding.
    """
    wanted, given = gold.number, answer.number
    assert wanted is not None and given is not None
    if wanted.value == given.value and not given.cut:
        return Decision(True, "number", f"both are {_shown(wanted.value)}")
    if wanted.percent != given.percent and percent_left_out(wanted, given):
        return Decision(True, "number", "the same number, one of them marked as a percentage")
    if rounded and (bounds := shown_bounds(wanted, digits=1)) and bounds[0] <= given.value <= bounds[1]:
        return Decision(True, "number", "rounds to what the gold was rounded to")
    if rounds_to(wanted.value, given):
        return Decision(True, "number", f"{_shown(wanted.value)} rounded to the digits shown")
    return Decision(False, "number", f"{_shown(given.value)} is not {_shown(wanted.value)}")


def _decimal(gold: Quantity, answer: Quantity, rounded: bool, budget: numeric.Budget) -> Decision | None:
    """Compares an irrational number with a decimal that may be its rounded value; None if neither is such a decimal."""
    if answer.number and gold.tree and not arithmetic.symbols(gold.tree) and (bounds := shown_bounds(answer.number)):
        inside = numeric.within(gold.tree, *bounds, budget)
        return Decision(bool(inside), "number", "the gold rounded to the digits shown")
    if rounded and gold.number and answer.tree and not arithmetic.symbols(answer.tree):
        bounds = shown_bounds(gold.number, digits=1)
        inside = numeric.within(answer.tree, *bounds, budget) if bounds else None
        return Decision(bool(inside), "number", "rounded to the digits of the gold")
    return None


def _expressions(gold: Tree, answer: Tree, budget: numeric.Budget) -> Decision:
    if arithmetic.rational(gold) and arithmetic.rational(answer):
        equal = arithmetic.same_function(gold, answer)
        return Decision(equal, "identity", "rational functions at random points")
    equal = numeric.same_value(gold, answer, budget)
    if equal is None:
        return Decision(False, UNDECIDED, "no decision at thousands of digits")
    return Decision(equal, "identity", "to hundreds of digits")


def _based(wanted: Reading, given: Reading) -> Decision:
    """Compares digits written in a base: base and digits must be the same. A number without a base is in base ten."""
    bases = [one.base if isinstance(one, Based) else 10 for one in (wanted, given)]
    digits = [one.digits if isinstance(one, Based) else _whole(one) for one in (wanted, given)]
    return Decision(bases[0] == bases[1] and digits[0] == digits[1] != "", "number", "digits in a base")


def _whole(found: Reading) -> str:
    """The digits of a whole number; "" for anything else."""
    number = found.quantity.number if isinstance(found, Value) else None
    return str(number.value) if number and number.value.denominator == 1 and abs(number.value) < 10**400 else ""


def _shown(value: Fraction) -> str:
    return str(value) if max(abs(value.numerator), value.denominator) < 10**20 else "a long number"


# --- parts of groups ----------------------------------------------------------------------------------------


def _comparable(wanted: Several, given: Several) -> bool:
    """Whether two kinds of group may be equal. A list may have round brackets and a tuple may
    lack them. A set is never a tuple. For intervals, open and closed ends must be the same.
    """
    if "union" in (wanted.kind, given.kind) or "ratio" in (wanted.kind, given.kind):
        return wanted.kind == given.kind
    if wanted.ordered != given.ordered:
        kinds = {wanted.kind, given.kind}
        listed = given.kind == "tuple" and given.brackets == "[]"  # as programs write it
        return "list" in kinds and (listed or ("()" in (wanted.brackets, given.brackets) and given.joined == ","))
    if wanted.kind == given.kind == "tuple":
        return wanted.brackets == given.brackets or {wanted.brackets, given.brackets} <= {"()", "[]", ""}
    return wanted.brackets == given.brackets if wanted.kind == given.kind == "pair" else True


def legible(text: str) -> bool:
    """Whether the library reads the structure of a text as we do: no two numbers side by side, which it multiplies, no
    double factorial, which it takes for two, and no bracket that does not close. A number too big to be worked out, on
    which it would hang, is not left to it either.
    """
    if re.search(r"(?<![\d.^_])\d[\d.]*\s+\d|!\s*!|\d\s*\^\s*\{?\s*\d+\s*\}?\s*(?:\^|!)", text) or not nested(text):
        return False
    powers = re.findall(r"(\d+)\s*\)?\s*\^\s*\{?\s*(\d+)", text)
    return not any(len(base) * 4 * int(power[:9]) > arithmetic.MOST_BITS for base, power in powers)


def _once(group: Several) -> Several:
    """A list or set of tuples, each tuple once. Numbers stay as they are: one written twice may be a double root."""
    tuples = all(part.startswith("(") and encloses(part) and several(part[1:-1]) for part in group.parts)
    if group.ordered or not tuples:
        return group
    return replace(group, parts=tuple({squeezed(part): part for part in group.parts}.values()))


def _alone(found: Reading) -> bool:
    """Whether this is a set with one element."""
    return isinstance(found, Several) and found.kind == "set" and len(found.parts) == 1


def _clock(ratio: Several) -> bool:
    """Whether a ratio is a time of day, such as `12:30`."""
    return len(ratio.parts) == 2 and re.fullmatch(r"\d\d", ratio.parts[1]) is not None and ratio.parts[0].isdigit()


def _proportion(wanted: Several, given: Several, budget: numeric.Budget) -> Decision:
    """Compares ratios by their proportion: `6:8` equals `3:4`. Times of day must be the same."""
    if len(wanted.parts) != len(given.parts) or _clock(wanted):
        return Decision(False, "structure", "another ratio")
    sides = [[read(part) for part in group.parts] for group in (wanted, given)]
    trees = [[one.quantity.tree for one in side if isinstance(one, Value)] for side in sides]
    if any(len(side) != len(wanted.parts) or None in side for side in trees):
        return Decision(False, "structure", "a ratio that cannot be read")
    crossed = [(("*", a, trees[1][0]), ("*", b, trees[0][0])) for a, b in zip(*trees, strict=True)]
    equal = all(_expressions(one, other, budget).equal for one, other in crossed)
    return Decision(equal, "structure", "ratios, by their proportion")


def _all(found: Sequence[Decision], why: str = "") -> Decision:
    """The decision on parts that must all be equal, from the decisions on each: the first that is against equality."""
    against = [one for one in found if not one.equal]
    for doubt in (lambda one: one.equal is False and one.layer != UNDECIDED, lambda one: one.equal is None):
        if first := next(filter(doubt, against), None):
            layer = "structure" if first.equal is False and why else first.layer
            return Decision(first.equal, layer, f"{why}: {first.why}" if why else first.why)
    if against:
        return against[0]
    return Decision(True, "structure", why) if why else found[-1]


def _matched(wanted: Sequence[str], given: Sequence[str], same: Callable[[str, str], bool | None]) -> bool | None:
    """Whether the parts of two lists can be paired so that pairs are equal; None if some pairs are undecided.

    Each part is paired with the first part that it equals.
    """
    open_parts, rest = [], list(given)
    for place, part in enumerate(wanted):
        order = sorted(rest, key=lambda one: one != given[place])  # lists in the same order take one comparison a part
        found = next((one for one in order if same(part, one)), None)
        if found is None:
            open_parts.append(part)
        else:
            rest.remove(found)
    possible = [[same(part, one) is None for one in rest] for part in open_parts]
    return (None if _perfect(possible) else False) if open_parts else True


def _perfect(allowed: Sequence[Sequence[bool]]) -> bool:
    owner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in seen:
                seen.add(column)
                if column not in owner or place(owner[column], seen):
                    owner[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(allowed)))
