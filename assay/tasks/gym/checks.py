"""Strict checkers for answers to reasoning-gym's problems: check(answer, instance) is True or False.

A checker raises `Unreadable` if the answer does not have the form asked for. No text of a model reaches `eval`.

If only one answer is right, it must equal the reference as a value of its kind (text, number, list, ...). If several
are right, the rules of the puzzle are checked here, or by the package's scorer on text that a grammar matches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from assay.tasks.gym.algebra import Unreadable, is_antiderivative, leaves, parse, polynomial, rational

Spec = Mapping[str, Any]  # the question, answer, facts and seed of an instance
Check = Callable[[str, Spec], bool]

_JSON: dict[str, Any] = {"sort_keys": True, "default": repr}
_NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_SCIENTIFIC = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_FRACTION = re.compile(r"(-?\d+)\s*/\s*(\d+)|(-?)\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}")


def equal(read: Callable[[str], Any]) -> Check:
    """The checker for one right answer: answer and reference, both read by `read`, must be equal."""
    return lambda answer, spec: read(answer) == read(spec["answer"])


def matched(pattern: str | re.Pattern[str], text: str) -> re.Match[str]:
    match = re.fullmatch(pattern, text)
    if match is None:
        raise Unreadable(f"'{text[:40]}' is not of the form asked for")
    return match


def to_text(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def to_number(text: str) -> Decimal:
    return Decimal(matched(_NUMBER, text).group().replace(",", ""))


def to_point(text: str) -> list[Decimal]:
    """Reads a point or an angle: `(1.5, -2)`, `1.5, -2`, `1.5` or `1.5°`."""
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text.removesuffix("°")
    return [Decimal(matched(_SCIENTIFIC, part.strip()).group()) for part in inner.split(",")]


def to_roots(text: str) -> list[Decimal]:
    return sorted(Decimal(matched(_SCIENTIFIC, part.strip()).group()) for part in text.split(","))


def to_complex(text: str) -> tuple[Decimal, Decimal]:
    """Reads a complex number: `3 - 2i`, `-2i` or `3`."""
    match = matched(r"([+-]?\d+(?:\.\d+)?)\s*([+-])\s*(\d+(?:\.\d+)?)i|([+-]?\d+(?:\.\d+)?)(i?)", text)
    real, sign, imaginary, single, unit = match.groups()
    if single is None:
        return Decimal(real), Decimal(sign + imaginary)
    return (Decimal(0), Decimal(single)) if unit else (Decimal(single), Decimal(0))


def to_grid(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def to_numbers(text: str) -> list[list[Decimal]]:
    return [[Decimal(matched(_NUMBER, word).group()) for word in line] for line in to_grid(text)]


def to_words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def to_sentence(text: str) -> list[str]:
    return text.removesuffix(".").split()


def to_fraction(text: str) -> tuple[int, int]:
    """(numerator, denominator) as they are written: 2/4 is not 1/2."""
    inner = text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == "$" else text
    a, b, sign, c, d = matched(_FRACTION, inner).groups()
    return (int(a), int(b)) if a is not None else (int(sign + c), int(d))


def to_factors(text: str) -> list[int]:
    return sorted(int(matched(r"\s*\d{1,12}\s*", factor).group()) for factor in re.split("[×*]", text))


def to_json(text: str) -> str:
    """JSON in one spelling. 1, 1.0 and true stay different, and no digit of a number is lost."""
    try:
        return json.dumps(json.loads(text, parse_float=lambda digits: Decimal(digits).normalize()), **_JSON)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Unreadable("not JSON") from error


def to_json_or_text(text: str) -> str:
    try:
        return to_json(text)
    except Unreadable:
        return "\n".join(to_text(text))


def to_quoted(text: str) -> list[str]:
    """Reads a Python or JSON list of strings."""
    strings = json.loads(to_json(text.replace("'", '"')))
    return lists(strings, str)


def lists(value: Any, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(type(part) is kind for part in value):
        raise Unreadable("not a list of the parts asked for")
    return value


def to_groups(text: str) -> list[list[str]]:
    return sorted(sorted(lists(group, str)) for group in lists(json.loads(to_json(text)), list))


def to_partitions(text: str) -> list[list[str]]:
    return sorted(lists(parts, str) for parts in lists(json.loads(to_json(text)), list))


def significant(answer: str, spec: Spec) -> bool:
    """Accepts the exact power, or its value rounded to three significant figures; no other rounding."""
    value, exact = Decimal(matched(_SCIENTIFIC, answer).group()), Decimal(spec["answer"])
    return value in (exact, Decimal(f"{exact:.2e}"))


def probability(answer: str, spec: Spec) -> bool:
    """Accepts the exact probability as a fraction or a decimal, or the ten digits of the reference."""
    exact = Fraction(spec["facts"]["rational"]["numerator"], spec["facts"]["rational"]["denominator"])
    if "/" in answer:
        numerator, denominator = to_fraction(answer)
        return denominator != 0 and Fraction(numerator, denominator) == exact
    value = Decimal(matched(_SCIENTIFIC, answer).group())
    return Fraction(value) == exact or value == Decimal(spec["answer"])


def expansion(answer: str, spec: Spec) -> bool:
    """Accepts the same polynomial, written without parentheses."""
    if "(" in answer:
        raise Unreadable("not expanded")
    return polynomial(parse(answer)) == polynomial(parse(spec["answer"]))


def polynomial_integral(answer: str, spec: Spec) -> bool:
    """Accepts the same polynomial up to terms without the variable."""
    variable = spec["facts"]["variable"]
    terms, expected = (
        {m: value for m, value in polynomial(parse(text)).items() if any(name == variable for name, _ in m)}
        for text in (answer, spec["answer"])
    )
    return terms == expected


def integral(answer: str, spec: Spec) -> bool:
    facts = spec["facts"]
    return is_antiderivative(parse(answer), parse(facts["integrand"]), facts["variable"])


def makes(target: Callable[[Spec], int]) -> Check:
    """The checker for a formula that must use each given number exactly once and have the target value."""

    def check(answer: str, spec: Spec) -> bool:
        tree = parse(answer)
        value = rational(tree)
        return value == target(spec) and sorted(leaves(tree, "number")) == sorted(spec["facts"]["numbers"])

    return check


def one_of(answer: str, spec: Spec) -> bool:
    return to_text(answer) in [to_text(board) for board in spec["facts"]["valid_answers"]]


def palindrome(answer: str, spec: Spec) -> bool:
    matched(r"[a-z]+", answer)
    return answer == answer[::-1] and sorted(answer) == sorted(spec["facts"]["letters"])


def cryptarithm(answer: str, spec: Spec) -> bool:
    pairs = [matched(r"\s*([A-Z])\s*=\s*(\d)\s*", pair) for pair in answer.split(",")]
    digits, facts = {str(pair[1]): str(pair[2]) for pair in pairs}, spec["facts"]
    words = [*facts["words_letters"], facts["result_letters"]]
    if len(pairs) != len(digits) or set(digits) != set("".join(words)) or len(set(digits.values())) != len(digits):
        return False
    if not facts["allow_leading_zero"] and any(digits[word[0]] == "0" for word in words):
        return False
    *parts, total = (int("".join(digits[letter] for letter in word)) for word in words)
    return sum(parts) == total


def colouring(answer: str, spec: Spec) -> bool:
    graph = spec["facts"]["puzzle"]
    matched(r'\{\s*"\d+"\s*:\s*\d{1,3}(\s*,\s*"\d+"\s*:\s*\d{1,3})*\s*\}', answer)
    colours = json.loads(to_json(answer))
    return (
        set(colours) == {str(vertex) for vertex in graph["vertices"]}
        and set(colours.values()) <= set(graph["color_options"])
        and all(colours[str(a)] != colours[str(b)] for a, b in graph["edges"])
    )


def jugs(answer: str, spec: Spec) -> bool:
    sizes = {chr(ord("A") + i): size for i, size in enumerate(spec["facts"]["puzzle"]["jug_capacities"])}
    water = dict.fromkeys(sizes, 0)
    for move in lists(json.loads(to_json(answer)), str):
        verb, source, target = matched(r"(fill|empty|pour) ([A-Z])(?:->([A-Z]))?", move).groups()
        if source not in sizes or (verb == "pour") != (target in sizes) or source == target:
            return False
        if verb == "pour":
            poured = min(water[source], sizes[target] - water[target])
            water[source] -= poured
            water[target] += poured
        else:
            water[source] = sizes[source] if verb == "fill" else 0
    return spec["facts"]["puzzle"]["target"] in water.values()


def kakurasu(answer: str, spec: Spec) -> bool:
    facts = spec["facts"]
    grid = [[int(matched(r"[01]", cell).group()) for cell in row] for row in to_grid(answer)]
    if len(grid) != facts["n_rows"] or any(len(row) != facts["n_cols"] for row in grid):
        return False
    rows = [sum(j * cell for j, cell in enumerate(row, 1)) for row in grid]
    columns = [sum(i * row[j] for i, row in enumerate(grid, 1)) for j in range(facts["n_cols"])]
    return rows == facts["row_sums"] and columns == facts["col_sums"]


def survo(answer: str, spec: Spec) -> bool:
    puzzle = spec["facts"]["puzzle"]
    grid = [[int(matched(r"-?\d{1,9}", cell).group()) for cell in row] for row in to_grid(answer)]
    if len(grid) != len(puzzle) or any(len(row) != len(puzzle) for row in grid):
        return False
    cells = [(given, cell) for given_row, row in zip(puzzle, grid) for given, cell in zip(given_row, row)]
    return (
        all(cell == given for given, cell in cells if given)
        and sorted(cell for given, cell in cells if not given) == sorted(spec["facts"]["candidate_numbers"])
        and all(sum(line[:-1]) == line[-1] for line in [*grid, *zip(*grid)])
    )


def hanoi(answer: str, spec: Spec) -> bool:
    facts = spec["facts"]
    pegs: dict[str, list[int]] = {str(peg): [] for peg in range(1, facts["num_pegs"] + 1)}
    pegs[str(facts["start_peg"])] = tower = list(range(facts["num_disks"], 0, -1))
    whole, moves = tower.copy(), to_text(answer)
    for move in moves:
        disk, source, target = matched(r"Move disk (\d{1,2}) from Peg (\d) to Peg (\d)", move).groups()
        if source not in pegs or target not in pegs or pegs[source][-1:] != [int(disk)]:
            return False
        if pegs[target] and pegs[target][-1] < int(disk):
            return False
        pegs[target].append(pegs[source].pop())
    return pegs[str(facts["target_peg"])] == whole and len(moves) <= facts["solution_length"]


def quantum_lock(answer: str, spec: Spec) -> bool:
    """Accepts button presses that all have an effect, reach the target, and are as few as the reference's."""
    facts = spec["facts"]
    buttons = {button["name"]: button for button in facts["buttons"]}
    presses = [matched(r"\s*([A-Z])\s*", press)[1] for press in answer.split("→")]
    value, light = facts["initial_value"], facts["initial_state"]
    for press in presses:
        button = buttons.get(press)
        if button is None or button["active_state"] not in (light, "any"):
            return False
        step = button["value"]
        value = {"add": value + step, "subtract": value - step, "multiply": value * step}[button["type"]]
        light = "green" if light == "red" else "red"
    return value == facts["target_value"] and len(presses) == len(facts["solution_path"])


_STEPS = {"right": (0, 1), "down": (1, 0), "left": (0, -1), "up": (-1, 0)}


def shortest_path(answer: str, spec: Spec) -> bool:
    if "infeasible" in (answer, spec["answer"]):
        return answer == spec["answer"]
    cells = {(r, c): cell for r, row in enumerate(spec["facts"]["matrix"]) for c, cell in enumerate(row)}
    place = next(where for where, cell in cells.items() if cell == "*")
    path = answer.split()
    for step in path:
        if step not in _STEPS:
            raise Unreadable(f"'{step[:20]}' is no direction")
        place = (place[0] + _STEPS[step][0], place[1] + _STEPS[step][1])
        if cells.get(place, "X") == "X":
            return False
    return cells[place] == "#" and len(path) == len(spec["answer"].split())
