"""Checkers and solutions against brute force that reads the prompt alone."""

from __future__ import annotations

import itertools
import random
import re
from fractions import Fraction

import pytest

from assay.rng import Key
from assay.tasks import task
from assay.tasks.compose import FUNCTIONS
from assay.tasks.lists import PRIMITIVES
from assay.types import Problem


def problems(name: str, level: int, count: int) -> list[Problem]:
    return [task(name).problem(Key(seed, "oracle", name), level=level) for seed in range(count)]


def accepted(problem: Problem, answer: str) -> bool:
    return task(problem.task).checker.check(problem.spec, answer).status == "ok"


def answer_of(problem: Problem) -> str:
    return (problem.solution or "").rpartition("#")[2]


def damaged(answer: str, alphabet: str, count: int, seed: int) -> list[str]:
    """The answer with one character replaced, left out, doubled or exchanged with its neighbour."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        place, letter = draw.randrange(len(answer)), draw.choice(alphabet)
        texts += [
            answer[:place] + letter + answer[place + 1 :],
            answer[:place] + answer[place + 1 :],
            answer[:place] + letter + answer[place:],
            answer[:place] + answer[place : place + 2][::-1] + answer[place + 2 :],
        ]
    return texts


# --- mod-chain -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1, 4, 12])
def test_chains_have_the_value_of_the_nested_expression(level: int) -> None:
    for problem in problems("mod-chain", level, 30):
        prime, chain = re.fullmatch(r"M(\d+) (.*)", str(problem.prompt)).groups()  # type: ignore[union-attr]
        start, *steps = re.findall(r"[-+*]?\d+", chain)
        nested = start
        for step in steps:
            nested = f"({nested}){step}"
        value = eval(nested) % int(prime)
        assert [x for x in range(int(prime)) if accepted(problem, str(x))] == [value]
        assert not accepted(problem, str(value + int(prime)))
        assert not accepted(problem, f"-{value}")


# --- countdown -------------------------------------------------------------------------------------------------------


def expression_value(text: str) -> Fraction | None:
    """By Python's own parser; None where it is not arithmetic of plain numbers with binary operators."""
    if not re.fullmatch(r"[0-9+\-*/() ]+", text) or re.search(r"\*\s*\*|/\s*/|(^|[-+*/(])\s*[-+]", text):
        return None
    try:
        return eval(re.sub(r"\d+", lambda m: f"Fraction({int(m[0])})", text))
    except (SyntaxError, ZeroDivisionError, TypeError):
        return None


def reachable(numbers: tuple[int, ...]) -> set[Fraction]:
    """Values of all expressions that use each number once, by splitting into two non-empty parts."""
    if len(numbers) == 1:
        return {Fraction(numbers[0])}
    values: set[Fraction] = set()
    places = range(len(numbers))
    for size in range(1, len(numbers)):
        for left in itertools.combinations(places, size):
            right = tuple(numbers[i] for i in places if i not in left)
            for a, b in itertools.product(reachable(tuple(numbers[i] for i in left)), reachable(right)):
                values |= {a + b, a - b, a * b}
                if b:
                    values.add(a / b)
    return values


def test_countdown_targets_can_be_reached() -> None:
    for level, count in ((3, 60), (4, 12)):
        for problem in problems("countdown", level, count):
            numbers, target = re.fullmatch(r"C ([\d ]+)=(\d+)", str(problem.prompt)).groups()  # type: ignore[union-attr]
            assert Fraction(target) in reachable(tuple(map(int, numbers.split())))


@pytest.mark.slow
@pytest.mark.parametrize("level", [3, 4, 5, 6])
def test_countdown_accepts_exactly_the_expressions_with_the_target_as_value(level: int) -> None:
    right = wrong = 0
    for seed, problem in enumerate(problems("countdown", level, 40)):
        numbers, target = re.fullmatch(r"C ([\d ]+)=(\d+)", str(problem.prompt)).groups()  # type: ignore[union-attr]
        answer = answer_of(problem)
        for text in [answer, f"({answer})", *damaged(answer, "+-*/()1234567890", 20, seed)]:
            used = sorted(re.findall(r"\d+", text))
            expected = expression_value(text) == int(target) and used == sorted(numbers.split())
            assert accepted(problem, text) == expected, (problem.prompt, text)
            right, wrong = right + expected, wrong + (not expected)
    assert right > 80 and wrong > 1000


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("(1+3/4)*4", "ok", ""),
        (" ( 1 + 3 / 4 ) * 4 ", "ok", ""),
        ("((1)+((3)/4))*(4)", "ok", ""),
        ("4*(3/4+1)", "ok", ""),
        ("4+4-1*1", "fail", "wrong"),
        ("4+3", "fail", "wrong"),
        ("1+3/4*4", "fail", "wrong"),
        ("(01+3/4)*4", "fail", "wrong"),
        ("4/(4-3-1)", "fail", "wrong"),
        ("(1+3/4)*4=7", "fail", "format"),
        ("(1+3/4)4", "fail", "format"),
        ("(1+3/4)*4)", "fail", "format"),
        ("-(1+3/4)*-4", "fail", "format"),
        ("(1+3/4)×4", "fail", "format"),
        ("(1+3//4)*4", "fail", "format"),
        ("1 3+4*4", "fail", "format"),
        ("(1+3/4)*" + "(" * 200 + "4" + ")" * 200, "fail", "format"),
    ],
)
def test_countdown_expressions(text: str, status: str, kind: str) -> None:
    """Seven from 1, 3, 4, 4: (1 + 3/4) * 4 needs a fraction on the way."""
    verdict = task("countdown").checker.check({"numbers": [4, 1, 4, 3], "target": 7}, text)
    assert (verdict.status, verdict.kind) == (status, kind)


# --- list-fn and compose ---------------------------------------------------------------------------------------------

LIST_EXAMPLES = {
    ("s", 0): "1123459",
    ("S", 0): "9543211",
    ("r", 0): "2951413",
    ("u", 0): "314592",
    ("e", 0): "42",
    ("o", 0): "31159",
    ("m", 0): "3344599",
    ("n", 0): "3111111",
    ("p", 0): "3489435",
    ("d", 0): "233447",
    ("x", 0): "2141593",
    ("z", 0): "1314952",
    ("h", 0): "141592",
    ("t", 0): "314159",
    ("c", 0): "6858407",
    ("i", 0): "3452",
    ("j", 0): "119",
    ("+", 4): "7585936",
    ("*", 7): "1787534",
    ("<", 2): "4159231",
    (">", 2): "9231415",
    ("g", 3): "3459",
    ("l", 5): "31412",
    ("f", 3): "314",
}


def test_list_primitives_on_an_example_worked_by_hand() -> None:
    assert {name for name, _ in LIST_EXAMPLES} == set(PRIMITIVES)
    for (name, k), expected in LIST_EXAMPLES.items():
        assert PRIMITIVES[name].apply([3, 1, 4, 1, 5, 9, 2], k) == [int(digit) for digit in expected], name


def test_list_functions_are_applied_from_left_to_right() -> None:
    spec = {"numbers": [3, 1, 4, 1, 5], "functions": ["s", "<2", "+7"]}
    lists = task("list-fn")
    assert lists.wordings.compact(spec) == "L s<2+7 31415"
    # 11345, then 34511, then 01288
    assert lists.wordings.solve(spec).steps == "11345,34511,01288"
    for text in ("01288", "[0, 1, 2, 8, 8]", "0 1 2 8 8"):
        assert lists.checker.check(spec, text).status == "ok"
    for text in ("1288", "88210", "012880", "0,1,2,88,1", "01288x", "0;1;2;8;8"):
        assert lists.checker.check(spec, text).status == "fail"


STRING_EXAMPLES = {
    "A": "ebaba",
    "B": "aabbe",
    "C": "babea",
    "D": "eabab",
    "E": "ebaba",
    "F": "babe",
    "G": "abab",
    "H": "aababe",
    "I": "ababee",
    "J": "ababeebaba",
    "K": "ababeababe",
    "L": "aabbaabbee",
    "M": "aae",
    "N": "bb",
    "O": "babae",
    "P": "bcbcf",
    "Q": "zazad",
    "R": "abe",
    "S": "xababe",
    "T": "ababez",
    "U": "abeab",
    "V": "ebbaa",
    "W": "babaf",
    "X": "baabe",
}


def test_string_functions_on_an_example_worked_by_hand() -> None:
    assert set(STRING_EXAMPLES) == set(FUNCTIONS)
    for name, expected in STRING_EXAMPLES.items():
        assert FUNCTIONS[name][1]("ababe") == expected, name


def test_the_innermost_function_is_applied_first() -> None:
    spec = {"functions": "ATF", "text": "cdab"}
    compose = task("compose")
    assert compose.wordings.compact(spec) == "F A(T(F(cdab)))"
    # F: dab, T: dabz, A: zbad
    assert compose.wordings.solve(spec).steps == "dab,dabz,zbad"
    assert compose.checker.check(spec, "zbad").status == "ok"
    assert compose.checker.check(spec, "badz").status == "fail"


@pytest.mark.parametrize(("name", "alphabet"), [("list-fn", "0123456789"), ("compose", "abcdefghxz")])
def test_damaged_lists_and_strings_are_wrong(name: str, alphabet: str) -> None:
    for level in (1, 3, 6):
        for seed, problem in enumerate(problems(name, level, 20)):
            answer = answer_of(problem)
            for text in damaged(answer, alphabet, 10, seed):
                assert accepted(problem, text) == (text == answer)


# --- bool and knights ------------------------------------------------------------------------------------------------


def truth(expression: str, values: dict[str, bool]) -> bool:
    """By Python: | & on booleans, ^ and = as comparisons; literals first."""
    python = re.sub(r"~?[a-h]", lambda m: str(values[m[0][-1]] != (m[0][0] == "~")), expression)
    return bool(eval(python.replace("^", "!=").replace("=", "==").replace("!==", "!=")))


@pytest.mark.parametrize("level", [5, 6, 7, 8])
def test_assignments_are_right_exactly_if_every_clause_is_true(level: int) -> None:
    for problem in problems("bool", level, 12):
        clauses = str(problem.prompt).split(" ")[1].split(",")
        right = set()
        for bits in itertools.product("01", repeat=level):
            values = {name: bit == "1" for name, bit in zip("abcdefgh", bits)}
            if all(truth(clause, values) for clause in clauses):
                right.add("".join(bits))
            assert accepted(problem, "".join(bits)) == ("".join(bits) in right)
        assert answer_of(problem) in right
        assert 1 <= len(right) <= 0.04 * 2**level
        assert accepted(problem, ", ".join(answer_of(problem)))
        assert not accepted(problem, answer_of(problem)[1:])
        assert not accepted(problem, answer_of(problem) + "0")


@pytest.mark.parametrize("level", [5, 6, 7, 8])
def test_exactly_one_assignment_of_kinds_is_consistent(level: int) -> None:
    for problem in problems("knights", level, 12):
        statements = [statement.split(":") for statement in str(problem.prompt).split(" ")[1:]]
        assert [speaker for speaker, _ in statements] == list("abcdefgh"[:level])
        assert all(speaker not in said for speaker, said in statements)
        right = []
        for kinds in itertools.product("KN", repeat=level):
            values = {name: kind == "K" for name, kind in zip("abcdefgh", kinds)}
            if all(values[speaker] == truth(said, values) for speaker, said in statements):
                right.append("".join(kinds))
            assert accepted(problem, "".join(kinds)) == ("".join(kinds) in right)
        assert right == [answer_of(problem)]


def test_statements_in_words() -> None:
    spec = {"statements": ["b", "~a&c", "a|~b", "a=b", "b^c"]}
    text = task("knights").wordings.natural(spec)
    for line in (
        "A says: B is a knight.",
        "B says: A is a knave and C is a knight.",
        "C says: A is a knight or B is a knave.",
        "D says: A and B are of the same kind.",
        "E says: B and C are of different kinds.",
    ):
        assert line in text
    text = task("bool").wordings.natural({"variables": 3, "clauses": ["~a|b|c", "a^~c", "b=c"]})
    for line in ("- not a or b or c\n", "- a xor not c\n", "- b iff c\n"):
        assert line in text


# --- path ------------------------------------------------------------------------------------------------------------


def graph(problem: Problem) -> tuple[dict[str, set[str]], str, str]:
    edges, ends = str(problem.prompt)[2:].split(":")
    neighbours: dict[str, set[str]] = {}
    for a, b in edges.split(" "):
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    return neighbours, ends[0], ends[2]


def simple_paths(neighbours: dict[str, set[str]], path: str, end: str) -> set[str]:
    if path[-1] == end:
        return {path}
    following = (other for other in neighbours[path[-1]] if other not in path)
    return set().union(*(simple_paths(neighbours, path + other, end) for other in following))


@pytest.mark.parametrize("level", [3, 5, 7])
def test_exactly_the_simple_paths_between_the_ends_are_right(level: int) -> None:
    draw = random.Random(level)
    for seed, problem in enumerate(problems("path", level, 20)):
        neighbours, start, end = graph(problem)
        right = simple_paths(neighbours, start, end)
        assert min(map(len, right)) == level + 1
        assert all(accepted(problem, path) and accepted(problem, "->".join(path)) for path in right)
        tried = {text.replace("-", "") for text in damaged(answer_of(problem), "".join(neighbours), 30, seed)}
        middles = sorted(set(neighbours) - {start, end})
        tried |= {start + "".join(draw.sample(middles, draw.randrange(level + 2))) + end for _ in range(200)}
        for path in tried:
            assert accepted(problem, path) == (path in right), (problem.prompt, path)
        assert not accepted(problem, answer_of(problem)[::-1])
        walk = start + min(neighbours[start]) + answer_of(problem)
        assert not accepted(problem, walk)


# --- lis and activity ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [8, 10])
def test_the_longest_increasing_subsequence_is_unique(level: int) -> None:
    for problem in problems("lis", level, 8):
        numbers = [int(x) for x in str(problem.prompt)[2:].split(" ")]
        assert len(set(numbers)) == len(numbers) == level
        right: list[tuple[int, ...]] = []
        for size in range(level, 0, -1):
            right = [c for c in itertools.combinations(numbers, size) if list(c) == sorted(c)]
            if right:
                break
        assert [" ".join(map(str, chosen)) for chosen in right] == [answer_of(problem)]
        for size in range(1, level + 1):
            for chosen in itertools.combinations(numbers, size):
                assert accepted(problem, " ".join(map(str, chosen))) == (chosen in right)
        best = right[0]
        assert accepted(problem, f"[{', '.join(map(str, best))}]")
        assert not accepted(problem, " ".join(map(str, (*best, 100))))
        assert not accepted(problem, " ".join(map(str, sorted(numbers))))


@pytest.mark.parametrize("level", [8, 10])
def test_the_largest_set_of_activities_is_unique(level: int) -> None:
    for problem in problems("activity", level, 8):
        activities = [(x[0], int(x[1], 36), int(x[2], 36)) for x in str(problem.prompt)[2:].split(" ")]
        assert all(start < end for _, start, end in activities)
        sets = {}
        for size in range(1, level + 1):
            for chosen in itertools.combinations(activities, size):
                apart = all(
                    a[2] <= b[1] or b[2] <= a[1] for a, b in itertools.combinations(chosen, 2)
                )  # every pair, by definition
                sets["".join(name for name, _, _ in chosen)] = apart
        largest = max(len(names) for names, apart in sets.items() if apart)
        right = [names for names, apart in sets.items() if apart and len(names) == largest]
        assert right == [answer_of(problem)]
        for names in sets:
            assert accepted(problem, names) == (names in right)
        assert accepted(problem, ", ".join(reversed(right[0])))
        assert not accepted(problem, right[0] + right[0][0])
