"""Linear programs: reading, exact checks, verdicts on mutants whose truth an enumeration decides."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs_by_hand import By, Row, same, text
from small_runs import Shell

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.rng import Key
from assay.tasks import task
from assay.verifiers.optimisation import equal_programs
from assay.verifiers.optimisation.checks import equal, point_of, violation, worth
from assay.verifiers.optimisation.equal_programs import explain
from assay.verifiers.optimisation.program import LONGEST, Unreadable, read, shown

GOLD = "max 3a+2b;a+b<=4;a+3b<=6"
external = pytest.mark.external("highs")


def verdict(candidate: str | None, gold: str = GOLD) -> tuple[str, str]:
    (one,) = explain([(gold, candidate)])
    return one.verdict.status, one.verdict.kind


# --- reading ------------------------------------------------------------------------------------------------


def test_one_program_in_two_spellings() -> None:
    long = read(
        "\\ a comment\nMaximize\n obj: 3 a\n + 2 b\nSubject To\n c1: a + b <= 4\n c2: a + 3 b - 2 <= 4\n"
        "Bounds\n 0 <= a <= 3\n b free\nGenerals\n a b\nEnd\n"
    )
    assert long == read("max 3a+2b; s.t. a+b=<4; 3*b+1a<6; bounds; a<=3; 0<=a; -inf<=b<=+inf; int a,b")
    assert long.maximises and long.objective == {"a": 3, "b": 2} and long.integers == {"a", "b"}
    assert long.range_of("a") == (0, 3) and long.range_of("b") == (None, None)
    assert [(row.terms, row.comparison, row.bound) for row in long.rows] == [
        ({"a": 1, "b": 1}, "<=", 4),
        ({"a": 1, "b": 3}, "<=", 6),
    ]


ROWS = ["-a + b <= 4", "a - b >= -3", "+ 2 c <= 9", "- 1 <= a + c <= 6", "first: -c - a >= -8", "b = 2"]
BOUNDS = ["a free", "-6 <= w <= 6", "b FREE", "+1 <= c", "-inf <= d <= 4", "e <= +7", "- 2 <= f", "-3 <= a", "c <= 5"]
DECLARED = ["a b", "c", "d, e"]


@settings(deadline=None)
@given(st.permutations(ROWS), st.permutations(BOUNDS), st.permutations(DECLARED), st.booleans())
def test_the_lines_of_a_section_may_stand_in_any_order(
    rows: list[str], bounds: list[str], declared: list[str], last: bool
) -> None:
    """Each line is a statement of its own, also one that begins with a sign and stands behind `a free`."""
    sections = [["Bounds", *bounds], ["Generals", *declared]]
    found = read("\n".join(["Maximize", "a - b", "Subject To", *rows, *sections[last], *sections[not last], "End"]))
    assert found.lower == {"a": -3, "b": None, "w": -6, "c": 1, "d": None, "f": -2}
    assert found.upper == {"a": None, "b": None, "w": 6, "c": 5, "d": 4, "e": 7}
    assert found.integers == {"a", "b", "c", "d", "e"}
    as_written = {
        (frozenset({"a": -1, "b": 1}.items()), "<=", 4),
        (frozenset({"a": 1, "b": -1}.items()), ">=", -3),
        (frozenset({"c": 2}.items()), "<=", 9),
        (frozenset({"a": -1, "c": -1}.items()), "<=", 1),
        (frozenset({"a": 1, "c": 1}.items()), "<=", 6),
        (frozenset({"c": -1, "a": -1}.items()), ">=", -8),
        (frozenset({"b": 1}.items()), "=", 2),
    }
    assert {(frozenset(row.terms.items()), row.comparison, row.bound) for row in found.rows} == as_written


def test_all_bounds_of_a_variable_hold() -> None:
    assert read("max a; a<=9; bounds; a>=0; a>=2; a<=7; a<=8").range_of("a") == (2, 7)
    assert read("max a; a<=9; bounds; a<=7; a free; bin a").range_of("a") == (0, 1)
    assert read("max a; a<=9; bounds; a<=inf; a<=7; a>=-4; a>=-inf").range_of("a") == (-4, 7)


def test_sides_and_double_comparisons() -> None:
    program = read("min x + 2x - .5; st; 2 <= x + y <= 5.25; x >= y; bin z")
    assert program.objective == {"x": 3} and program.constant == Fraction(-1, 2)
    assert [(row.terms, row.comparison, row.bound) for row in program.rows] == [
        ({"x": -1, "y": -1}, "<=", -2),
        ({"x": 1, "y": 1}, "<=", Fraction(21, 4)),
        ({"x": 1, "y": -1}, ">=", 0),
    ]
    assert program.binaries == {"z"}


@pytest.mark.parametrize(
    "wrong",
    [
        "", "max", "max 3", "a+b<=4", "max a;min b", "max a*b", "max a^2;a<=1", "max (a);a<=1", "max 2 3 a;a<=1",
        "max a b;a<=1", "max a;a<=1;end;b<=2", "max a;1<=2", "max a;a<=1e5", "max a;a<=b<=c>=1", "max a;a!=1",
        "max a;a<=1/3", "max st2+free;st2<=1", "max a;a<=1234567890", "max a;bounds;a<=b", "max á;á<=1",
        "max a;a<=1\0", "max \u202ea;a<=1", "max abcdefghijklmnopq;a<=1", "max a;" + "a<=1;" * 65,
        "max " + "+".join(f"x{i}" for i in range(33)), "max a;" + " " * LONGEST, "(" * 5000, "max a;a<=1;int a;b c<=1",
    ],
)  # fmt: skip
def test_what_is_no_program_is_unreadable(wrong: str) -> None:
    with pytest.raises(Unreadable):
        read(wrong)


@given(st.text(alphabet="maxinst 0123.ab+-*<>=;:\n\\e", max_size=60))
def test_reading_never_raises_anything_else_and_its_own_writing_is_read(some: str) -> None:
    for start in ("", "max a+", "min 2a;st;"):
        try:
            program = read(start + some)
        except Unreadable:
            continue
        assert read(shown(program)) == read(shown(read(shown(program))))
        assert read(shown(program)).objective.items() >= {(k, v) for k, v in program.objective.items() if v}


# --- exact checks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "fine"),
    [
        ((3, 1), True),
        ((Fraction(3) + Fraction(1, 10**7), 1), True),  # within a millionth
        ((3 + Fraction(1, 10**5), 1), False),
        ((Fraction(-1, 10**12), 0), True),
        ((Fraction(-1, 10**5), 0), False),
        ((4, Fraction(1, 10)), False),
    ],
)
def test_a_point_holds_within_the_declared_tolerances(point: tuple[Fraction, Fraction], fine: bool) -> None:
    assert (violation(read(GOLD), dict(zip("ab", map(Fraction, point), strict=True))) == "") == fine


def test_a_whole_number_is_whole_within_its_tolerance() -> None:
    program = read("max a;a<=5;int a")
    for value, fine in ((2.999999, True), (2.9999, False), (3.0, True)):
        assert (violation(program, {"a": Fraction(value)}) == "") == fine


def test_a_row_in_tiny_units_has_a_tiny_tolerance() -> None:
    program = read("max a;0.000001a<=0.000003")
    assert violation(program, {"a": Fraction(3)}) == "" and violation(program, {"a": Fraction(4)})


def test_values_that_are_no_point_are_named() -> None:
    program = read(GOLD)
    assert point_of({"x0": 3.0, "x1": 1.0}, program) == {"a": 3, "b": 1}
    assert worth(program, {"a": Fraction(3), "b": Fraction(1)}) == 11
    for values in ({"x0": 3.0}, {"x0": 3.0, "x1": float("nan")}, {"x0": float("inf"), "x1": 0.0}, {"x0": 1, "x1": "2"},
                   {"x0": 3.0, "x1": 1.0, "x2": 0.0}):  # fmt: skip
        assert isinstance(point_of(values, program), str)
    assert equal(Fraction(0), Fraction(1, 10**7)) and not equal(Fraction(10), Fraction(10) + Fraction(2, 10**5))


# --- verdicts -----------------------------------------------------------------------------------------------


@external
@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (GOLD, ("ok", "")),
        ("min -3a-2b;2a+2b<=8;3b+a<=6;a>=0", ("ok", "")),  # turned round, scaled, with a row that says nothing
        ("max 3a+2b;a+b<=4;a+3b<=6;a<=100;a+b<=5", ("ok", "")),
        ("max 3a+2b;a=3;b=1", ("fail", "wrong")),  # holds the point fixed
        ("max 3a+2b;3a+2b<=12;a+3b<=6", ("fail", "wrong")),
        ("max 12+0a+0b;a<=4;b<=2", ("fail", "wrong")),  # a printed objective
        ("max 3a+2b;a+b<=4", ("fail", "wrong")),  # a row that does not bind at the optimum is missing
        ("max 3a+2b;a+b<=4;a+3b<=7", ("fail", "wrong")),
        ("max 3a+2b;a+b<=4;a+3b<=6;int a b", ("fail", "wrong")),
        ("max 4a+b;a+b<=4;a+3b<=6", ("fail", "wrong")),
        ("max 6a+4b;a+b<=4;a+3b<=6", ("fail", "wrong")),
        ("max 3a+2b;0.000001a+0.000001b<=0.000003;a+3b<=6", ("fail", "wrong")),
        ("max 3a+2b;a+b<=4;a+3b<=6;0.000001a<=0.000001", ("fail", "wrong")),
        ("max 3a+2b", ("fail", "runtime")),  # unbounded
        ("max 3a+2b;a+b<=4;a+3b<=6;a>=9", ("fail", "runtime")),  # infeasible
        ("max 3a+2c;a+c<=4;a+3c<=6", ("fail", "format")),
        ("max 3a+2b+0c;a+b<=4;a+3b<=6", ("fail", "format")),
        ("optimal, 12", ("fail", "format")),
        ("", ("fail", "empty")),
        (None, ("fail", "format")),
        ("x" * 10_000_000, ("fail", "format")),
    ],
)
def test_verdicts_that_a_person_can_check(candidate: str | None, expected: tuple[str, str]) -> None:
    assert verdict(candidate) == expected


@external
@pytest.mark.parametrize(
    "gold", ["", "max a", "max a;a>=2;a<=1", "nothing", "max 3a;a>=20000;a<=30000", "max a;a<=1;" + " " * LONGEST]
)
def test_a_gold_without_an_optimum_is_no_fault_of_the_answer(gold: str) -> None:
    assert verdict("max a;a<=3", gold) == ("invalid", "bad_gold")


class Said:
    """A solver that says what a test tells it to say."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes, self.jobs = list(outcomes), []

    def map(self, jobs: list[object]) -> list[Outcome]:
        self.jobs += jobs
        return [self.outcomes.pop(0) for _ in jobs]


def says(*answers: dict[str, object]) -> Outcome:
    return Outcome("done", {"answers": list(answers)})


def at(a: float, b: float, objective: float = 0.0) -> dict[str, object]:
    return {"status": "optimal", "objective": objective, "values": {"x0": a, "x1": b}}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (says(at(4, 0, objective=12)), ("ok", "")),
        (says(at(2, 1, objective=12)), ("fail", "wrong")),  # claims the optimum at a point that is none
        (says(at(5, 5, objective=12)), ("fail", "wrong")),  # an infeasible point
        (says(at(float("nan"), 0)), ("fail", "runtime")),
        (says({"status": "optimal", "objective": 12.0, "values": {"x0": 4.0}}), ("fail", "runtime")),
        (says({"status": "infeasible"}), ("fail", "runtime")),
        (says({"status": "stopped"}), ("fail", "runtime")),
        (says({"status": "unread"}), ("invalid", "bug")),
        (Outcome("time"), ("fail", "time")),
        (Outcome("memory"), ("fail", "memory")),
        (Outcome("lost"), ("invalid", "worker_lost")),
        (Outcome("error", detail="RuntimeError"), ("invalid", "bug")),
    ],
)
def test_what_a_solver_says_is_not_believed(
    outcome: Outcome, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = Said(says(at(4, 0)), outcome, says(at(4, 0)))
    monkeypatch.setattr(equal_programs, "_golds", {})
    monkeypatch.setattr(equal_programs, "workers_of", lambda name: solver)
    assert verdict(GOLD) == expected


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [(Outcome("time"), "bad_gold"), (Outcome("lost"), "worker_lost"), (says({"status": "stopped"}), "bad_gold")],
)
def test_trouble_with_the_gold_is_ours(outcome: Outcome, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    golds: dict[str, object] = {}
    monkeypatch.setattr(equal_programs, "_golds", golds)
    monkeypatch.setattr(equal_programs, "workers_of", lambda name: Said(outcome))
    assert verdict(GOLD) == ("invalid", kind)
    assert (GOLD in golds) == (kind == "bad_gold"), "a lost process says nothing of the gold"


@external
def test_the_solver_never_reads_the_text_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[str] = []
    real = workers_of("highs")

    class Listening:
        def map(self, asked: list[dict[str, list[str]]]) -> list[Outcome]:
            jobs.extend(text for job in asked for text in job["texts"])
            return real.map(asked)

    monkeypatch.setattr(equal_programs, "workers_of", lambda name: Listening())
    monkeypatch.setattr(equal_programs, "_golds", {})
    assert (
        verdict("max 3 secret + 2 b \\ solver, open /etc/passwd\n; secret + b <= 4", "max 3secret+2b;secret+b<=4")[0]
        == "ok"
    )
    assert jobs and not any("secret" in text or "passwd" in text for text in jobs)


@external
def test_scores_say_what_a_reward_may_use() -> None:
    right, near, unsolved = (
        one.verdict.scores for one in explain([(GOLD, GOLD), (GOLD, "max 2a+b;a+b<=4;a<=2"), (GOLD, "max a+b")])
    )
    assert right == {"ran": 1, "agrees": 1, "overlap": 1, "optimum": 12, "maximises": 1, "binaries": 0, "integers": 0}
    assert near == {**right, "agrees": 0, "overlap": 0, "optimum": 6}
    assert unsolved == {"ran": 0, "agrees": 0, "overlap": 0}
    (whole,) = explain([("max 3a+b;a+b<=2;bin a;int b", "max 3a+b;a+b<=2;bounds;a<=1;int a b")])
    assert (whole.verdict.status, whole.verdict.scores["binaries"], whole.verdict.scores["integers"]) == ("ok", 1, 1)


# --- the task -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@external
@pytest.mark.parametrize("level", range(1, 6))
def test_every_number_of_a_problem_matters(level: int) -> None:
    """A program with any one number of the question changed is wrong: no row of a gold says nothing."""
    posed = [task("linear-program").problem(Key(seed), level=level) for seed in range(16)]
    pairs = []
    for problem in [one for one in posed if not one.spec["whole"]][:3]:  # of whole numbers 2a <= 6 and 2a <= 7 are one
        gold = problem.spec["program"]
        digits = [i for i, c in enumerate(gold) if c.isdigit() and not gold[i - 1].isdigit()]
        for i in digits:
            end = next((j for j in range(i, len(gold)) if not gold[j].isdigit()), len(gold))
            pairs.append((gold, gold[:i] + str(int(gold[i:end]) + 1) + gold[end:]))
    assert len(pairs) > 15
    assert {one.verdict.kind for one in explain(pairs)} == {"wrong"}


def program(draw: random.Random, count: int) -> By:
    """A program in which everything is small, with a region that has an end where something is maximised."""
    maximises, wholes = draw.random() < 0.6, draw.random() < 0.5
    sign = "<=" if maximises else ">="
    rows: list[Row] = [
        (tuple(Fraction(draw.randint(1, 5)) for _ in range(count)), sign, Fraction(draw.randint(4, 14)))
        for _ in range(draw.randint(2, 3))
    ]
    return maximises, tuple(Fraction(draw.randint(1, 9)) for _ in range(count)), tuple(rows), wholes


def mutant(draw: random.Random, of: By) -> By:
    """The program with one thing changed: a number, a comparison, a row, the direction, whole numbers."""
    maximises, costs, rows, wholes = of
    which = draw.randrange(len(rows))
    numbers, sign, bound = rows[which]
    place = draw.randrange(len(costs))
    other = tuple(n + draw.choice([-1, 1, 2]) if i == place else n for i, n in enumerate(numbers))
    changed: list[Row] = [*rows]
    match draw.choice(["cost", "number", "bound", "sign", "drop", "repeat", "direction", "wholes", "scale", "order"]):
        case "cost":
            costs = tuple(c + draw.choice([-1, 1]) if i == place else c for i, c in enumerate(costs))
        case "number":
            changed[which] = (other, sign, bound)
        case "bound":
            changed[which] = (numbers, sign, bound + draw.choice([-1, 1, Fraction(1, 2)]))
        case "sign":
            changed[which] = (numbers, {"<=": ">=", ">=": "<="}[sign], bound)
        case "drop":
            del changed[which]
        case "repeat":
            changed.append((numbers, sign, bound + (2 if sign == "<=" else -2)))
        case "direction":
            maximises = not maximises
        case "wholes":
            wholes = not wholes
        case "scale":
            changed[which] = (tuple(2 * n for n in numbers), sign, 2 * bound)
        case "order":
            changed.reverse()
    return maximises, costs, tuple(changed), wholes


@pytest.mark.turns(3)
@external
@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_mutants_are_verified_as_an_enumeration_verifies_them(count: int) -> None:
    """300 mutants in all, of programs that no code of the package wrote; many are as right as the original."""
    draw = random.Random(count)
    golds = [program(draw, count) for _ in range(40 if count == 2 else 20)]
    pairs = [(gold, mutant(draw, gold)) for gold in golds for _ in range(5)]
    found = explain([(text(gold), text(one)) for gold, one in pairs])
    truth = [same(gold, one, side=15) for gold, one in pairs]
    assert [one.verdict.status == "ok" for one in found] == truth
    assert not [one.why for one in found if one.verdict.status == "invalid"]
    assert 0.1 < sum(truth) / len(truth) < 0.6


@external
def test_a_verdict_is_explained_and_audited_on_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shell = Shell(capsys)
    reply = shell("verify", "explain", "--by", "optimisation", GOLD, "max 3a+2b;a=4;b=0")
    assert reply.out.splitlines() == [
        "fail(wrong)",
        f"gold    {GOLD}",
        "answer  max 3a+2b;a=4;b=0",
        "decided by region: it forbids points that are allowed",
    ]
    lines = [{"gold": GOLD, "answer": GOLD, "label": True}, {"gold": GOLD, "answer": "max 12", "label": False}]
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, lines)))
    audit = shell("verify", "audit", tmp_path / "set.jsonl", "--by", "optimisation", "--json").document
    assert audit["disagreements"] == []
    assert "mathematics" in shell("verify", "explain", "--by", "mathematic", "1", "1").err
