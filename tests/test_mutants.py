"""What is drawn for `make mutants`: every rule by an example, every file, names that outlive moved lines."""

from __future__ import annotations

import ast

import mutant_rules
import mutants
import pytest

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
        "assay/curate/band.py:band: out.update(members)  ->  out.update(members[-1:])",
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
