"""What every task promises: wordings, worked solutions, total checkers, splits, names and identity."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError, UnknownName
from assay.rng import Key
from assay.tasks import ALPHABET, TASKS, task
from assay.tasks.compose import RESERVED
from assay.types import Problem
from assay.worlds import TAGS

SHOWN = {name for name in TASKS if TASKS[name].wordings.picture is not None}  # test_coloured.py
EVERYDAY = {name for name in TASKS if TASKS[name].wordings.unmarked}  # answered without a mark: test_everyday.py
CHAINS = {name for name in TASKS if (own := TASKS[name].checker).steps or own.steps_many}
"""Long on purpose: test_steps.py."""
HELD = {"quantities-python"}  # an answer names what the program before it holds: test_quantities_python.py
TWO_TURNS = {"drawing"}  # a plan, its rendering and a picture: test_drawing.py
GOES_ON = {"equation": ("equation-memory",), "equation-memory": ("equation",)}  # the same question
STATEMENTS = {"sql-tool", "equivalence", "search-python-small"}  # a solution holds a whole statement or program
TWO_ANSWERS = {"equivalence"}  # Correct and Incorrect
EXAMPLES = {"python-induction"}  # three lists with their values
RECORDS = {"wish-reply"}  # a prompt holds all that a user knows
BY_TURNS = {"metamath-steps", "verilog-turns", "coq-steps", "coq-library-steps", "equation", "equation-memory"}
"""test_prover_worlds.py"""
SPOKEN = {name for name in TASKS if (world := TASKS[name].world) and world.speech == TAGS}
"""Their world speaks in lines and tags, as language models do, and replies at length."""
DEAR = {"metamath", "verilog", "coq", "coq-library"} | BY_TURNS
"""A verdict takes long, so they are asked less: test_tasks_verified.py, test_coq_library.py."""
NAMES = [name for name in TASKS if name not in SHOWN | DEAR]  # all that no other file tests in its own way
EASIEST = {name: TASKS[name].generator.levels[0] for name in NAMES}


def marked(name: str, *more: object) -> ParameterSet:
    """A case of a task, which is left out where an external that judges the task cannot be used."""
    externals = [pytest.mark.external(one) for one in TASKS[name].checker.externals]
    return pytest.param(name, *more, marks=[*externals, pytest.mark.slow] if externals else ())


EACH = [marked(name) for name in NAMES]
PLACES = [marked(name, level) for name in NAMES for level in TASKS[name].generator.levels]

HOSTILE = [
    "",
    " ",
    "\n",
    "#",
    "\\boxed{}",
    "{" * 5000,
    "(" * 1_000_000,
    "(" * 100 + "1" + ")" * 100,
    "9" * 1_000_000,
    "9" * 5000,
    "1+" * 200_000 + "1",
    "9**9**9**9",
    "9*9e999999",
    "1/0",
    "0/0",
    "-1",
    "+",
    ")(",
    "1 2",
    "()",
    "１２",  # fullwidth digits
    "٣",
    "²",
    "½",
    "0x10",
    "1_0",
    "аbс",  # two Cyrillic letters
    "a\u0301b",
    "\x00",
    "\ud800",
    "ΚΝΚΚΝ",  # Greek
    "٠١٠١١",
    "a" * 1_000_000,
    "[[[[1]]]]",
    "__import__('os').system('true')",
    "1,,2",
    "0" * 1_000_000 + "1",
    "nan",
    "\u202e1",
    "\u00a0",
]


def posed(name: str, level: int, seed: int, **options) -> Problem:
    return task(name).problem(Key(seed, name, level), level=level, **options)


def beginning(prompts: list[str]) -> str:
    """The characters with which all of these begin."""
    return "".join(a for a, b in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(min(prompts), max(prompts))))


def test_the_tasks_stand_under_their_own_names() -> None:
    assert all(TASKS[name].name == name for name in TASKS)
    assert len({task.summary for task in TASKS.values()}) == len(TASKS)
    assert all("level" in task.summary for task in TASKS.values())


def test_the_alphabet_is_printable_ascii() -> None:
    assert len(ALPHABET) == 95
    assert ALPHABET.isascii() and ALPHABET.isprintable()


@pytest.mark.thin(12)
@pytest.mark.parametrize(("name", "level"), PLACES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9))
def test_the_worked_solution_is_right_in_both_wordings(name: str, level: int, seed: int) -> None:
    compact = posed(name, level, seed)
    natural = posed(name, level, seed, wording="natural")
    assert compact.id == natural.id
    assert compact.spec == natural.spec == json.loads(json.dumps(compact.spec))
    for problem in (compact, natural):
        assert problem.solution is not None
        verdict = task(name).verify(problem, problem.solution)
        assert verdict.status == "ok"
        assert verdict.answer is not None
        # The canonical form is a right answer that is its own canonical form.
        again = task(name).checker.check(problem.spec, verdict.answer)
        assert (again.status, again.answer) == ("ok", verdict.answer)
    assert isinstance(compact.prompt, str) and compact.solution is not None
    assert set(compact.prompt) <= set(ALPHABET)
    assert set(compact.solution) <= set(ALPHABET + "\n" if name in SPOKEN else ALPHABET)
    assert "#" not in compact.prompt
    if name in EVERYDAY:
        assert "boxed" not in str(natural.prompt) and natural.solution == compact.solution
    else:
        assert "\\boxed{" in str(natural.prompt)


@pytest.mark.slow
def test_compact_prompts_say_which_task_they_are() -> None:
    """A small model that learns several tasks reads no instructions: it sees by the prompt which of them is meant. So
    what all prompts of a task begin with begins no prompt of another. A picture says by itself that it is one.
    """
    prompts = {
        name: [str(posed(name, level, seed).prompt) for level in TASKS[name].generator.levels for seed in range(12)]
        for name in TASKS
        if name not in SHOWN
    }
    for name, own in prompts.items():
        begin = beginning(own)
        alike = [other for other in prompts if other != name and any(p.startswith(begin) for p in prompts[other])]
        alike = [other for other in alike if other not in GOES_ON.get(name, ())]
        assert not alike, f"all prompts of '{name}' begin with {begin!r}, and so do some of {alike}"


@pytest.mark.parametrize(
    "name",
    [
        marked(name)
        for name in NAMES
        if name not in CHAINS | TWO_TURNS | EVERYDAY | STATEMENTS | EXAMPLES | RECORDS | SPOKEN
    ],
)
def test_easy_prompts_and_solutions_are_short(name: str) -> None:
    problems = [posed(name, EASIEST[name], seed) for seed in range(100)]
    assert sorted(len(problem.prompt) for problem in problems)[50] <= 42
    assert sorted(len(problem.solution or "") for problem in problems)[50] <= 32


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", EACH)
def test_a_checker_is_total(name: str) -> None:
    for level in (EASIEST[name], TASKS[name].generator.levels[-1]):
        problem = posed(name, level, 5)
        for text in HOSTILE:
            for response in (text, f"1#{text}", f"\\boxed{{{text}}}"):
                assert task(name).verify(problem, response).status == "fail"
            assert task(name).checker.check(problem.spec, text).status == "fail"


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(text=st.text(max_size=40) | st.text("0123456789+-*/() ,[]abcdefgKN", max_size=20))
def test_a_checker_takes_any_text(name: str, text: str) -> None:
    problem = posed(name, EASIEST[name], 1)
    assert task(name).checker.check(problem.spec, text).status in ("ok", "fail")


@pytest.mark.parametrize("name", [marked(name) for name in NAMES if name not in HELD])
def test_an_answer_in_lookalike_characters_is_not_an_answer(name: str) -> None:
    wide = str.maketrans({chr(c): chr(c + 0xFEE0) for c in range(ord("!"), ord("~") + 1)})
    for seed in range(10):
        problem = posed(name, EASIEST[name], seed)
        answer = (problem.solution or "").rpartition("#")[2]
        assert task(name).checker.check(problem.spec, answer).status == "ok"
        assert task(name).checker.check(problem.spec, answer.translate(wide)).status == "fail"


@pytest.mark.parametrize("name", [marked(name) for name in NAMES if name not in HELD])
def test_the_answer_of_another_problem_is_wrong(name: str) -> None:
    answers = [
        (posed(name, TASKS[name].generator.levels[-1], seed).solution or "").rpartition("#")[2] for seed in range(40)
    ]
    problem = posed(name, TASKS[name].generator.levels[-1], 0)
    statuses = [task(name).checker.check(problem.spec, answer).status for answer in answers]
    assert statuses[0] == "ok"
    # one in 7 is expected of mod-chain-7, one in 23 of mod-chain, fewer elsewhere
    most = 30 if name in TWO_ANSWERS else 15 if name == "mod-chain-7" else 7
    assert statuses.count("ok") <= most


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_splits_are_disjoint_and_hold_what_they_say(name: str) -> None:
    seen: dict[str, str] = {}
    for level in {EASIEST[name], TASKS[name].generator.levels[-1]}:
        for split in ("train", "valid", "test"):
            for seed in range(30):
                problem = posed(name, level, seed + (1000 if split == "test" else 0), split=split)
                assert task(name).split_of(problem.spec) == split
                assert seen.setdefault(problem.id, split) == split


def test_single_chains_are_split_completely() -> None:
    """All 23 * 3 * 21 instances of the first level: shares near 80, 10 and 10 percent."""
    chain = task("mod-chain")
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for start in range(23):
        for operator in "+-*":
            for operand in range(2, 23):
                spec = {"p": 23, "start": start, "steps": [[operator, operand]]}
                splits[chain.split_of(spec)].append(chain.generator.canonical(spec))
    assert sum(map(len, splits.values())) == len(set().union(*splits.values())) == 23 * 3 * 21
    assert 1080 < len(splits["train"]) < 1240
    assert 100 < len(splits["valid"]) < 190 and 100 < len(splits["test"]) < 190
    drawn = {posed("mod-chain", 1, seed, split="test").canonical for seed in range(300)}
    assert drawn <= set(splits["test"])


def test_the_order_in_which_numbers_or_clauses_are_shown_is_not_identity() -> None:
    first = {"numbers": [3, 5, 7], "target": 26, "witness": "3*7+5"}
    second = {"numbers": [7, 3, 5], "target": 26, "witness": "5+7*3"}
    other = {"numbers": [7, 3, 5], "target": 27, "witness": ""}
    same = task("countdown").generator.canonical
    assert same(first) == same(second) != same(other)
    canonical = task("bool").generator.canonical
    assert canonical({"variables": 3, "clauses": ["a|b", "c^a"]}) == canonical(
        {"variables": 3, "clauses": ["c^a", "a|b"]}
    )
    graph = task("path").generator.canonical
    assert graph({"edges": ["ab", "bc", "cd"], "start": "a", "end": "d"}) == graph(
        {"edges": ["cd", "ab", "bc"], "start": "a", "end": "d"}
    )


def test_reserved_functions_are_composed_in_the_test_split_only() -> None:
    for level in (2, 4):
        for split, expected in (("train", False), ("valid", False), ("test", True)):
            for seed in range(80):
                functions = posed("compose", level, seed, split=split).spec["functions"]
                assert len(functions) == level
                assert bool(RESERVED & set(functions)) == expected
    alone = {posed("compose", 1, seed).spec["functions"] for seed in range(400)}
    assert alone >= RESERVED


def test_ids_never_change() -> None:
    assert posed("countdown", 4, 0).id == "9c8b273a859b0f71"
    assert posed("mod-chain", 3, 1).id == "9822ccb827ba609d"
    assert posed("knights", 5, 2).id == "6dd2ff89b0f8ebc4"


_ELSEWHERE = """
from assay.rng import Key
from assay.tasks import TASKS
for name, task in TASKS.items():
    for level in (task.generator.levels[0], task.generator.levels[-1]):
        problem = task.problem(Key(9, name, level), level=level)
        print(name, level, problem.id, repr(problem.prompt), repr(problem.solution))
"""


@pytest.mark.slow
def test_a_key_names_the_same_problem_in_every_process() -> None:
    outputs = set()
    for hash_seed in ("0", "4711"):
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", _ELSEWHERE], env=environment, capture_output=True, text=True, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    lines = outputs.pop().splitlines()
    assert len(lines) == 2 * len(TASKS)
    for line in lines:
        name, level, identity = line.split()[:3]
        assert posed(name, int(level), 9).id == identity


def test_names_that_nobody_knows_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'countdown'.*assay list tasks"):
        task("coutdown")


def test_names_of_gym_tasks_are_handed_on_without_their_prefix() -> None:
    with pytest.raises(UnknownName, match="no gym generator named 'chain_summ'"):
        task("gym:chain_summ")


def test_a_level_that_is_not_shipped_is_refused() -> None:
    with pytest.raises(DataError, match="levels 3 to 6, not 7"):
        posed("countdown", 7, 0)


@pytest.mark.slow
def test_the_registry_does_not_import_torch() -> None:
    code = "import sys, assay.tasks; sys.exit('torch' in sys.modules or 'reasoning_gym' in sys.modules)"
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
