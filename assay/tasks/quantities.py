"""Quantities that are told in terms of one another, in any order, among some that the question does not need.

In the manner of iGSM (2407.20311). Two quantities are asked for, in arithmetic modulo 7, so that each value is one
digit and a blind guess is right in one case of 49. Products are with a number other than 0, so that no value is more
frequent than another.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from assay.rng import Key
from assay.tasks.abilities import OwnBase
from assay.tasks.steps import TAKE_BACK, Ending, StepVerdict
from assay.tasks.strategies import Strategies
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.tasks.two_values import check_two, ending_of_two
from assay.types import Verdict

PRIME = 7

_NOUNS = [
    "apples", "bells", "coins", "drums", "eggs", "forks", "gloves", "hats", "inks", "jars", "kites", "lamps",
    "masks", "nuts", "oars", "pens", "quilts", "rings", "shells", "toys", "urns", "vests", "wheels",
    "xylophones", "yarns", "zithers",
]  # fmt: skip
_LETTERS = "".join(noun[0] for noun in _NOUNS)
_NAME = {noun: noun[0] for noun in _NOUNS}
_WORDS = {"+": "plus", "-": "minus", "*": "times"}
_RULE = re.compile(r"([a-z])([-+*])([a-z]|[0-9])")
_MOST_CHARACTERS = 120  # of a step
_FEW = 13  # names, while these suffice: a small model has to learn to look up each of them
_LATEST = 0.75  # how often a quantity depends on one of the two before it

Rule = tuple[str, str, str]  # a quantity, an operator, and a quantity or a number


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """Needed quantities, each from earlier ones, until two ask for all of them; then others that nothing asks for."""
    given, others = 2 + level // 5, 1 + level // 2
    letters = _LETTERS[: max(_FEW, given + level + others)]
    while True:
        names = [letters[i] for i in generator.permutation(len(letters))]
        facts: dict[str, str] = {name: str(generator.integers(PRIME)) for name in names[:given]}
        for name in names[len(facts) : len(facts) + level]:
            facts[name] = "".join(_rule(generator, list(facts)))
        used = set("".join(facts.values()))
        ends = [name for name, fact in facts.items() if _RULE.fullmatch(fact) and name not in used]
        if len(ends) == 1:
            ends.append(list(facts)[-2])
        if len(ends) != 2 or len(needed_of(facts, ends)) != len(facts):
            continue
        facts[names[len(facts)]] = str(generator.integers(PRIME))
        for name in names[len(facts) : len(facts) + others - 1]:
            facts[name] = "".join(_rule(generator, list(facts)))
        told = list(facts)
        order = generator.permutation(len(told)).tolist()
        asked = "".join(ends if generator.random() < 0.5 else ends[::-1])
        return {"facts": [f"{told[i]}={facts[told[i]]}" for i in order], "asked": asked}


def _rule(generator: np.random.Generator, before: Sequence[str]) -> Rule:
    """A quantity in terms of one or two earlier ones."""
    near = before[-2:] if generator.random() < _LATEST else before
    left = near[int(generator.integers(len(near)))]
    operator = "+-*"[int(generator.integers(3))]
    others = [name for name in before if name != left]
    if operator != "*" and generator.random() < 0.6:
        return left, operator, others[int(generator.integers(len(others)))]
    return left, operator, str(generator.integers(2, PRIME))


def facts_of(spec: Spec) -> dict[str, str]:
    """The fact about each quantity: a number, or a rule."""
    return dict(fact.split("=") for fact in spec["facts"])


def _needs(fact: str) -> list[str]:
    """The quantities that a fact refers to."""
    return [letter for letter in fact if letter.isalpha()]


def needed_of(told: dict[str, str], asked: Iterable[str]) -> list[str]:
    """These quantities and all that they need, each behind the quantities that it needs."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            for other in _needs(told[name]):
                visit(other)
            found[name] = None

    for name in asked:
        visit(name)
    return list(found)


def _unreduced(rule: Rule, values: dict[str, int]) -> int:
    left, operator, right = rule
    a, b = values[left], values[right] if right in values else int(right)
    return a + b if operator == "+" else a - b if operator == "-" else a * b


def rule_of(fact: str) -> Rule:
    """A fact that is no number."""
    return fact[0], fact[1], fact[2]


def values_of(told: dict[str, str]) -> dict[str, int]:
    """The value of each quantity."""
    values: dict[str, int] = {}
    for name in needed_of(told, told):
        fact = told[name]
        values[name] = int(fact) if fact.isdigit() else _unreduced(rule_of(fact), values) % PRIME
    return values


def _canonical(spec: Spec) -> str:
    return f"{' '.join(sorted(spec['facts']))}?{''.join(sorted(spec['asked']))}"


def _compact(spec: Spec) -> str:
    """Values are written `t1` for t = 1 and rules `Bt+d` for b = t + d, so that a small model can tell the places that
    state a fact about a quantity from the places that use it.
    """
    return f"q {' '.join(short_of(*fact.split('=')) for fact in spec['facts'])}?{spec['asked'].upper()}"


def short_of(name: str, fact: str) -> str:
    """What is told of a quantity, in compact wording."""
    return name + fact if fact.isdigit() else name.upper() + fact


def noun_of(name: str) -> str:
    """The quantity of this letter, in natural wording."""
    return _NOUNS[_LETTERS.index(name)]


def sentence_of(name: str, fact: str) -> str:
    """What is told of a quantity, in natural wording."""
    if fact.isdigit():
        return f"There are {fact} {noun_of(name)}."
    left, operator, right = rule_of(fact)
    other = right if right.isdigit() else f"the number of {noun_of(right)}"
    return f"The number of {noun_of(name)} is the number of {noun_of(left)} {_WORDS[operator]} {other}."


def _natural(spec: Spec) -> str:
    first, second = map(noun_of, spec["asked"])
    return (
        f"All numbers are counted modulo {PRIME}: only the remainder from 0 to {PRIME - 1} is kept. "
        f"{' '.join(sentence_of(name, fact) for name, fact in facts_of(spec).items())} "
        f"How many {first} and how many {second} are there? Work out one quantity on each line, from what is known "
        "before it, in the form `bells = apples + 3 = 5 + 3 = 1`; a line with ~ alone takes back the line before it. "
        "Give the two numbers, in the order of the question, in \\boxed{...}, for example \\boxed{3, 5}."
    )


def _steps(told: dict[str, str], values: dict[str, int], asked: Iterable[str]) -> list[tuple[str, str]]:
    """The way from the quantities that are asked for back to the facts, and forward again: (quantity, "") for the rule
    of a quantity, then the steps of all that it needs, then (quantity, value).
    """
    steps: dict[tuple[str, str], None] = {}

    def visit(name: str) -> None:
        if (name, "") not in steps and not told[name].isdigit():
            steps[name, ""] = None
            for other in _needs(told[name]):
                visit(other)
            steps[name, str(values[name])] = None

    for name in asked:
        visit(name)
    return list(steps)


def _step(name: str, value: str, told: dict[str, str], values: dict[str, int]) -> str:
    if not value:
        return short_of(name, told[name])
    known = re.sub("[a-z]", lambda m: str(values[m[0]]), told[name])
    return f"{short_of(name, told[name])}={known}={name}{value}"


def _line(name: str, value: str, told: dict[str, str], values: dict[str, int]) -> str:
    """The same in natural wording."""
    left, operator, right = rule_of(told[name])
    if not value:
        return f"{noun_of(name)} = {noun_of(left)} {operator} {right if right.isdigit() else noun_of(right)}"
    return f"{noun_of(name)} = {values[left]} {operator} {values.get(right, right)} = {value}"


def _written(spec: Spec, strategy: str) -> Solution:
    told = facts_of(spec)
    values = values_of(told)
    answer = "".join(str(values[name]) for name in spec["asked"])
    if strategy == "direct":
        return Solution(answer)
    steps = _steps(told, values, told if strategy == "all" else spec["asked"])
    compact = [_step(*step, told, values) for step in steps]
    natural = [_line(*step, told, values) for step in steps]
    if strategy == "corrected":
        generator = Key("mistake", "quantities", _canonical(spec)).generator()
        computed = [index for index, (_, value) in enumerate(steps) if value]
        at = computed[int(generator.integers(len(computed)))]
        name, value = steps[at]
        wrong = str((int(value) + int(generator.integers(1, PRIME))) % PRIME)
        compact[at:at] = [_step(name, wrong, told, values), TAKE_BACK]
        natural[at:at] = [_line(name, wrong, told, values), TAKE_BACK]
    return Solution(answer, ",".join(compact), "\n".join(natural))


WAYS = Strategies("quantities", {"direct": 0.15, "needed": 0.4, "all": 0.2, "corrected": 0.25}, _canonical, _written)
"""Worked solutions and their shares: the answer alone; steps for each quantity that the question needs; for each
quantity that is told; and as `needed`, with a wrong step that is taken back.
"""


def _check(spec: Spec, text: str) -> Verdict:
    return check_two(spec["asked"], values_of(facts_of(spec)), text, modulus=PRIME)


def _read(spec: Spec, steps: Sequence[str], answer: str | None) -> tuple[list[StepVerdict], Ending]:
    """A step repeats what is told of a quantity, or gives its value; then the values that it needs must be known. It is
    true if each of its sides is what is told of the quantity, written with quantities, their values or both.
    """
    told = facts_of(spec)
    values, needed = values_of(told), set(needed_of(told, spec["asked"]))
    known_names = {name for name, fact in told.items() if fact.isdigit()}
    seen: set[tuple[str, bool]] = set()  # (a quantity, whether its value was said) for each true step
    stated: dict[str, str] = {}  # the values in the steps, except steps that are taken back
    undo: dict[str, str] | None = None  # `stated` before the last step, if that step is wrong
    verdicts: list[StepVerdict] = []
    for text in steps:
        name, *sides = _sides(text)
        if name == TAKE_BACK and not sides:
            verdicts.append("wrong" if undo is None else "valid")
            stated, undo = stated if undo is None else undo, None
            continue
        gives = bool(sides) and sides[-1].isdigit()
        true = name in told and _is_true(told[name], sides, values)
        derived = true and (not gives or known_names.issuperset(_needs(told[name])))
        new = name in needed and (name, gives) not in seen
        verdicts.append("wrong" if not derived else "valid" if new else "useless")
        undo = None if derived else stated
        if derived:
            seen.add((name, gives))
        if derived and gives:
            known_names.add(name)
        if gives:
            stated = {**stated, name: sides[-1]}
    return verdicts, ending_of_two(spec["asked"], stated, answer)


def _sides(text: str) -> list[str]:
    """The quantity of a step and what the step says of it, with the names of compact wording."""
    if len(text) > _MOST_CHARACTERS:
        return [""]
    short = re.sub(r"[a-z]+", lambda m: _NAME.get(m[0], m[0]), _lower(text)).replace(" ", "")
    name, sides = short[:1], short[1:].removeprefix("=")
    if not sides:
        return [name]
    return [name, *(side.removeprefix(name) if side[1:].isdigit() else side for side in sides.split("="))]


def _lower(text: str) -> str:
    """In small letters, if it is ASCII: other alphabets have capitals of ASCII letters too, such as the kelvin sign."""
    return text.lower() if text.isascii() else text


def _is_true(fact: str, sides: Sequence[str], values: dict[str, int]) -> bool:
    if not sides:
        return False
    if fact.isdigit():
        return all(side == fact for side in sides)
    left, operator, right = rule = rule_of(fact)
    pairs = list(itertools.product(_forms(left, values), _forms(right, values)))
    whole = _unreduced(rule, values)
    right_sides = {f"{a}{operator}{b}" for a, b in pairs} | {str(whole), str(whole % PRIME)}
    if operator != "-":
        right_sides |= {f"{b}{operator}{a}" for a, b in pairs}
    return all(side in right_sides for side in sides)


def _forms(operand: str, values: dict[str, int]) -> set[str]:
    """How an operand may be written: a quantity, its value or both; a number as it is."""
    return {operand, str(values[operand]), f"{operand}{values[operand]}"} if operand in values else {operand}


QUANTITIES = Task(
    name="quantities",
    domain="arithmetic",
    summary=(
        "Two of several quantities told in terms of one another, modulo 7, with some that are not needed; the level is "
        "the number of operations needed."
    ),
    generator=Generator(levels=range(3, 13), first=4, instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=WAYS.solve, others=WAYS.others),
    checker=Checker(check=_check, steps=_read),
    abilities=(
        OwnBase(
            "quantities that three operations give, or four",
            levels=(3, 3, 3, 4),
            num_steps=1200,
            context=384,
            learning_rate=2e-3,
        ),
    ),
)
