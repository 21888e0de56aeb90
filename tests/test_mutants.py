"""What is drawn for `make mutants`: every rule by an example, every file, names that outlive moved lines. How mutants
are carried from one commit to another, and asked on both.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import carried_mutants
import endless_tests
import mutant_rules
import mutants
import pytest
from oracles import oracles

from assay.methods import METHODS


def made(expression: str) -> dict[str, list[str]]:
    """What stands in place of parts of this expression, by rule."""
    found: dict[str, list[str]] = {}
    for mutant in mutants.of_file("x.py", f"def f(x):\n    return {expression}\n"):
        assert ast.parse(mutant.text)
        found.setdefault(mutant.rule, []).append(mutant.text.split("return ")[1].strip())
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("-x + 1", {"sign": ["(-x - 1)", "(x) + 1"]}),
        ("'ü' < x", {"comparison": ["('ü' <= x)"]}),
        ("std(x, ddof=d)", {"ddof": ["(std(x, ddof=1 - d))"]}),
        ("size - ddof", {"sign": ["(size + ddof)"], "ddof": ["(size - (1 - ddof))"]}),
        ("x / y", {"denominator": ["(x)"]}),
        ("x.mean(0)", {"denominator": ["(x.sum(0))"]}),
        ("x.clamp(a, b)", {"clip-side": ["(x.clamp(min=a))", "(x.clamp(max=b))"]}),
        ("x.clamp(min=1)", {"clip-side": ["(x)"]}),
        ("torch.minimum(x, y)", {"clip-side": ["(torch.maximum(x, y))"]}),
        ("x & ~y", {"mask": ["(x)", "(~y)", "x & (y)"]}),
        ("x * view.mask", {"mask": ["(x)"]}),
        ("x * y", {}),
        ("memory.key('a', step, name)", {"lot": ["(memory.key('a', name))", "(memory.key('a', step))"]}),
        ("f('valid')", {"split": ["f(('train'))", "f(('test'))"]}),
        ("improve(x, before=3)", {"default": ["(improve(x))"]}),
        ("mean(episodes)", {"last": ["(mean(episodes[-1:]))"]}),
    ],
)
def test_every_rule_changes_what_it_says(expression: str, expected: dict[str, list[str]]) -> None:
    assert made(expression) == expected


def test_what_is_annotated_or_raised_is_left_alone() -> None:
    text = "def f(x: A | None = -1) -> A & B:\n    assert x > 0\n    raise E(x / 2)\n"
    assert [mutant.was for mutant in mutants.of_file("x.py", text)] == ["-1"]


@pytest.mark.slow
def test_every_file_with_a_formula_has_mutants_and_names_are_unique() -> None:
    every = mutants.mutants()
    assert {mutant.rule for mutant in every} == set(mutant_rules.RULES)
    assert len({mutant.name for mutant in every}) == len(every) > 500
    assert all(any(m.path.startswith(f"{folder}/") for m in every) for folder in mutant_rules.FOLDERS)
    assert {mutant.path for mutant in every} >= {*mutant_rules.FILES}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "assay/run/recorder.py:_exam: 'valid'  ->  'train'",
        "assay/ask/hints.py:sometimes: memory.key(purpose, memory.step, request.id)  ->  "
        "memory.key(purpose, request.id)",
        "assay/curate/band.py:band: out.update(group.places)  ->  out.update(group.places[-1:])",
    ],
)
def test_what_once_survived_is_among_them(name: str) -> None:
    assert name in {mutant.name for mutant in mutants.mutants()}


@pytest.mark.slow
def test_what_is_called_equivalent_exists_and_has_a_reason() -> None:
    known = mutants.equivalent()
    assert set(known) <= {mutant.name for mutant in mutants.mutants()}
    assert all(len(reason) > 20 for reason in known.values())


@pytest.mark.slow
def test_a_file_that_changes_leaves_the_draw_of_the_others() -> None:
    every = mutants.mutants()
    first = mutants.drawn(every, 120, 0)
    kept = [mutant for mutant in every if mutant.path != first[0].path]
    of_others = [mutant.name for mutant in first if mutant.path != first[0].path]
    assert len(first) == 120 and [mutant.name for mutant in mutants.drawn(kept, 120, 0)][: len(of_others)] == of_others
    assert mutants.drawn(every, 120, 1) != first


def test_each_file_of_what_judges_has_tests_that_are_near() -> None:
    for path in mutant_rules.paths():
        name = path.relative_to(mutant_rules.ROOT).as_posix()
        judges = name.startswith(("assay/verifiers/", "assay/externals/", "assay/sandbox/", "assay/reward/"))
        near = mutants.nearest(name)
        assert (near is not None) == judges and near != ()
        assert all((mutant_rules.ROOT / test).is_file() for test in near or ())
    assert mutants.nearest("assay/verifiers/sql/compare.py") == ("tests/verifiers/test_queries.py",)


def test_all_that_is_asked_exists() -> None:
    for test in (mutants.RECORDED, *mutants.MARKED, *mutants.TESTS):
        path, _, name = test.partition("[")[0].partition("::")
        assert (mutant_rules.ROOT / path).exists(), path
        assert f"def {name}(" in (mutant_rules.ROOT / path).read_text() if name else True, test


@pytest.mark.slow
def test_a_method_has_its_oracle() -> None:
    """Each recipe in each of the tests over all oracles."""
    root = mutant_rules.ROOT
    folders = [path.parent.relative_to(root).as_posix() for path in root.glob("tests/methods/*/*/oracle.py")]
    found = [test.partition("::")[2] for folder in folders for test in mutants.oracles(root, folder)]
    tests = re.findall(r"@every_oracle\ndef (\w+)", (root / mutants.ORACLES).read_text())
    assert tests and sorted(found) == sorted(f"{test}[{recipe}]" for test in tests for recipe in oracles())


def test_a_method_has_the_tests_of_its_folder() -> None:
    """One that is a file, and one that is a folder."""
    for code in ("{}.py", "{}/__init__.py"):
        group, name = next(
            (group, name)
            for group, names in METHODS.items()
            for name in names
            if (mutant_rules.ROOT / "assay" / "methods" / group / code.format(name)).is_file()
            and (mutant_rules.ROOT / "tests" / "methods" / group / name / f"test_{name}.py").is_file()
        )
        own = mutants.own(mutant_rules.ROOT, f"assay/methods/{group}/{code.format(name)}")
        assert f"tests/methods/{group}/{name}/test_{name}.py" in own and len(set(own)) == len(own)
    attacks = mutants.own(mutant_rules.ROOT, "assay/sandbox/levels.py")
    assert all("probe" in test for test in attacks if "/attacks/" in test)


# Carried to another commit


def carried(before: dict[str, str], after: dict[str, str], moved: dict[str, str] | None = None) -> dict[str, str]:
    """Name before -> name after, "" of those that are gone."""
    carry = carried_mutants.Carrying(before, after, moved or {})
    every = [one for path, text in before.items() for one in mutants.of_file(path, text)]
    return {one.name: there.name if (there := carry(one)) else "" for one in every}


SUM = "def total(a, b):\n    return a + b\n"
IN_CLASS = "class Sums:\n    def total(a, b):\n        return a + b\n"
OTHER = "def other(a):\n    return -a\n"
CHANGED = "total: a + b  ->  a - b"


def test_a_line_that_stays_is_found_where_it_is() -> None:
    assert carried({"x.py": SUM}, {"x.py": OTHER + SUM}) == {f"x.py:{CHANGED}": f"x.py:{CHANGED}"}


def test_a_mutant_follows_a_file_that_moved() -> None:
    """Even where a function that reads the same is added elsewhere, at a closer path."""
    after = {"x2.py": SUM, "deep/y.py": SUM}
    assert carried({"x.py": SUM}, after, {"x.py": "deep/y.py"}) == {f"x.py:{CHANGED}": f"deep/y.py:{CHANGED}"}


def test_a_mutant_follows_a_function_into_another_file() -> None:
    found = carried({"x.py": OTHER + SUM}, {"x.py": OTHER, "y.py": SUM})
    assert found == {f"x.py:{CHANGED}": f"y.py:{CHANGED}", "x.py:other: -a  ->  a": "x.py:other: -a  ->  a"}
    assert carried({"x.py": SUM}, {"y.py": IN_CLASS}) == {f"x.py:{CHANGED}": f"y.py:Sums.{CHANGED}"}


def test_a_mutant_follows_its_line_into_a_function_of_another_name() -> None:
    """In its file alone, and only where the line is the same."""
    renamed = SUM.replace("total", "whole")
    assert carried({"x.py": SUM}, {"x.py": renamed}) == {f"x.py:{CHANGED}": "x.py:whole: a + b  ->  a - b"}
    assert carried({"x.py": SUM}, {"y.py": renamed}) == {f"x.py:{CHANGED}": ""}
    assert carried({"x.py": SUM}, {"x.py": renamed.replace("return", "yield")}) == {f"x.py:{CHANGED}": ""}


def test_of_several_places_the_one_with_the_closest_path_is_taken() -> None:
    before, after = {"a/b/x.py": SUM}, {"z/x.py": SUM, "a/b/y.py": SUM, "q.py": SUM}
    assert carried(before, after) == {f"a/b/x.py:{CHANGED}": f"a/b/y.py:{CHANGED}"}


def test_what_was_elsewhere_before_is_not_taken_for_a_line_that_is_gone() -> None:
    before, after = {"x.py": SUM, "y.py": SUM}, {"x.py": OTHER, "y.py": SUM}
    assert carried(before, after) == {f"x.py:{CHANGED}": "", f"y.py:{CHANGED}": f"y.py:{CHANGED}"}


def test_of_those_that_read_the_same_each_follows_its_line() -> None:
    text = "def f(a, b):\n    one = a + b\n    two = 3 * (a + b)\n    three = 4 * (a + b)\n"
    name = "x.py:f: a + b  ->  a - b"
    found = carried({"x.py": text}, {"x.py": text.replace("    one = a + b\n", "")})
    # the first one has no line of its own any more, and is taken for the one that is first now
    assert found == {name: name, f"{name} (2)": name, f"{name} (3)": f"{name} (2)"}


class Answers:
    """Stands for `tests/mutants.py` of a tree: what fails is said beforehand, and noted is what is asked."""

    FAST, SLOW, RECORDED, TESTS = "fast", "slow", "recorded", ("t/all.py",)

    def __init__(self, *said: str) -> None:
        self.said, self.asked = list(said), list[list[str]]()

    def own(self, folder: Path, path: str) -> list[str]:
        return ["t/far.py", f"t/{Path(path).name}"]

    def nearest(self, path: str) -> None:
        return None

    def failing(self, folder: Path, order: list[str], which: str) -> str:
        self.asked.append([*order, which])
        return self.said.pop(0) if self.said else ""


@pytest.fixture
def mutant(tmp_path: Path) -> mutants.Mutant:
    (tmp_path / "x.py").write_text(SUM)
    return next(mutants.of_file("x.py", SUM))


FAILED = "FAILED t/x.py::test_sum[1 - 2] - AssertionError"


@pytest.mark.parametrize(
    ("said", "by", "asked"),
    [
        ((FAILED, FAILED), FAILED, 2),
        ((FAILED, "", FAILED), FAILED, 3),  # in company alone
        ((FAILED,), "", 6),  # now and then: the others are asked
        (("", "", FAILED, FAILED, ""), FAILED, 5),  # a slow one, which passes without the mutant
        (("the time limit",), "the time limit", 2),
        ((), "", 4),
    ],
)
def test_what_fails_now_and_then_notices_nothing(
    tmp_path: Path, mutant: mutants.Mutant, said: tuple[str, ...], by: str, asked: int
) -> None:
    answers = Answers(*said)
    assert carried_mutants.Tree("c", tmp_path, answers).noticed(mutant) == by
    assert len(answers.asked) == asked and answers.asked[0] == ["t/x.py", "t/far.py", "fast"]
    assert FAILED not in said[:1] or answers.asked[1] == ["t/x.py::test_sum", "fast"]
    assert (tmp_path / "x.py").read_text() == SUM


def test_a_test_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGPROF)
    monkeypatch.setattr(endless_tests, "SECONDS", 0.05)
    limited = endless_tests.pytest_runtest_call()
    next(limited)
    with pytest.raises(endless_tests.Endless, match=r"more than 0\.05 s"):
        while True:
            pass
    limited.close()
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(carried_mutants, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(carried_mutants, "PASSED", tmp_path / "passed")
    yield tmp_path / "kept"


def test_a_queue_goes_on_where_it_stopped(tmp_path: Path, mutant: mutants.Mutant, kept: Path) -> None:
    """What passed without a mutant is not asked again, nor a mutant that was answered."""
    answers = Answers("", FAILED, FAILED)
    tree = carried_mutants.Tree("c", tmp_path, answers)
    over = iter([False, False, True])
    carried_mutants.judge("before", tree, [(mutant, mutant), (mutant, mutant)], lambda: next(over))
    assert len(answers.asked) == 3
    row = json.loads((kept / "before.jsonl").read_text())
    assert (row["mutant"], row["commit"], row["by"]) == (mutant.name, "c", FAILED)
    again = Answers()
    carried_mutants.judge("before", carried_mutants.Tree("c", tmp_path, again), [(mutant, mutant)], lambda: False)
    assert len(again.asked) == 4 and carried_mutants.answers("before")[mutant.name]["by"] == ""


def test_tests_that_fail_without_a_mutant_are_named(tmp_path: Path, mutant: mutants.Mutant, kept: Path) -> None:
    tree = carried_mutants.Tree("c", tmp_path, Answers(FAILED))
    with pytest.raises(SystemExit, match=r"fail without any mutant: FAILED t/x\.py"):
        carried_mutants.judge("before", tree, [(mutant, mutant)], lambda: False)
    assert not kept.exists()


def test_a_slow_test_that_fails_without_the_mutant_too_answers_nothing(
    tmp_path: Path, mutant: mutants.Mutant, kept: Path
) -> None:
    """The mutant is left to be asked another time, and the next one is asked."""
    tree = carried_mutants.Tree("c", tmp_path, Answers("", "", "", FAILED, FAILED, FAILED, FAILED, FAILED))
    other = dataclasses.replace(mutant, function="other")
    carried_mutants.judge("before", tree, [(mutant, mutant), (other, other)], lambda: False)
    assert list(carried_mutants.answers("before")) == [other.name]


def test_the_table_names_what_is_lost_and_what_is_gone(kept: Path) -> None:
    for name, by, here, later in (("m1", "t", "m1", "t"), ("m2", "t", "n2", ""), ("m3", "t", None, "")):
        carried_mutants.keep("before", {"mutant": name, "commit": "c", "here": name, "by": by, "seconds": 1})
        carried_mutants.keep("after", {"mutant": name, "commit": "d", "here": here, "by": later, "seconds": 1})
    carried_mutants.keep("before", {"mutant": "m5", "commit": "c", "here": "m5", "by": "", "seconds": 1})
    said = carried_mutants.table(["m1", "m2", "m3", "m4", "m5"])
    fates = ["1 LOST", "1 gone", "1 not asked yet", "1 noticed", "1 survived before"]
    assert re.findall(r"^\d .*", said, re.MULTILINE) == fates and "survived before: m5" in said
    assert "LOST: m2\n    after: n2\n    before: t" in said and "gone: m3" in said


def test_what_is_lost_or_gone_is_asked_again_at_another_commit() -> None:
    def settled(by: str, here: str | None, *, again: bool = False, at: str = "new") -> bool:
        return carried_mutants.settled({"by": "t"}, {"commit": "old", "here": here, "by": by}, at, again)

    assert settled("t", "m") and settled("", "m", at="old") and settled("", None, at="old")
    assert not settled("", "m") and not settled("", None) and not settled("t", "m", again=True)
    assert not carried_mutants.settled({"by": "t"}, None, "new", False)
    assert carried_mutants.settled({"by": ""}, {"commit": "old", "here": "m", "by": ""}, "new", False)
