"""Theorems of a database in a file: where they stand, what a proof may use, and files that cannot be used."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.host.workers import Outcome
from assay.rng import Key
from assay.source import Share
from assay.tasks import TASKS, Task, short, task
from assay.verifiers.proofs.own_database import Claim, Unusable, statement, symbols, theorems, verify

DATABASE = """$( A database of one rule, with a comment that says: x $p |- a $= ? $. $)
$c |- a b ( ) wff $.  $v p q $.
wp $f wff p $.  wq $f wff q $.
begin $a |- a $.
${ least $e |- a $.
   $( The rule. $)
   rule $a |- b $.
$}
second $p |- b $= begin rule $.
${ given $e |- b $.
   ${ more $e |- a $.
      third $p |- b $= given $.
   $}
   last $p |- b $= ( second ) B $.
$}
"""
FOREIGN = "$(\n @{\n  far.1 @e |- b $@\n  @( (Contributed by nobody.) @)\n  far @p |- b @=\n   ? @.\n @}\n$)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.mm").write_text(DATABASE)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "far.mm").write_text(FOREIGN)
    return tmp_path


def own(folder: Path, **named: Any) -> Task:
    whole = {"database": "small.mm", "theorems": ["second", "third", "last"], "statements": ["others"]} | named
    path = folder / "named.json"
    path.write_text(json.dumps({name: value for name, value in whole.items() if value is not None}))
    return task(f"theorems:{path}")


def test_theorems_stand_where_they_stand_with_the_hypotheses_in_scope() -> None:
    known = theorems(DATABASE)
    assert list(known) == ["second", "third", "last"], "what a comment says is no theorem"
    assert known["third"].hypotheses == (("given", "|- b"), ("more", "|- a"))
    assert known["last"].hypotheses == (("given", "|- b"),) and known["second"].statement == "|- b"
    for label, stated in known.items():
        assert DATABASE[stated.place :].split()[:2] == [label, "$p"]
    assert symbols(DATABASE) == {"|-", "a", "b", "(", ")", "wff", "p", "q"}


def test_statements_of_minif2f_are_read_and_those_of_another_version_refused() -> None:
    stated = statement(FOREIGN, 7, symbols(DATABASE))
    assert (stated.label, stated.statement, stated.place) == ("far", "|- b", 7)
    assert stated.hypotheses == (("far.1", "|- b"),) and stated.block == "far.1 $e |- b $.\n"
    with pytest.raises(Unusable, match=r"no symbol logb.*another version"):
        statement(FOREIGN.replace("|- b $@", "|- logb $@"), 7, symbols(DATABASE))
    with pytest.raises(Unusable, match="expected one theorem, and there are 0"):
        statement("$( @{ @} $)", 7, set())
    for broken, why in (("$}", "closes no scope"), ("a $p |- b $= c", "ends before"), ("$[ x.mm $]", "included")):
        with pytest.raises(Unusable, match=why):
            theorems(broken)


@pytest.mark.slow
@pytest.mark.external("metamath")
def test_a_proof_may_use_what_stands_above_and_the_hypotheses_in_scope(folder: Path) -> None:
    known = own(folder)
    rows = {row.spec["label"]: row for split in ("train", "valid", "test") for row in known.generator.rows(split)}  # type: ignore[misc]
    assert rows.keys() == {"second", "third", "last", "far"}
    tried = {
        ("second", "begin rule"): "ok",
        ("second", "( begin rule ) AB"): "ok",
        ("second", "second"): "fail",
        ("second", "last"): "fail",
        ("second", "begin"): "fail",
        ("second", "rule begin"): "fail",
        ("third", "given"): "ok",
        ("third", "more rule"): "ok",
        ("third", "second"): "ok",
        ("last", "more rule"): "fail",
        ("far", "far.1"): "ok",
        ("far", "third"): "fail",
        ("far", "far"): "fail",
        ("far", "?"): "fail",
        ("far", "far.1 $. x $a |- b"): "fail",
        ("far", ""): "fail",
        ("far", "("): "fail",
        ("far", "far.1 far.1"): "fail",
    }
    verdicts = known.checker.verify_many([(rows[label], f"So \\boxed{{{proof}}}") for label, proof in tried])  # type: ignore[misc]
    assert [verdict.status for verdict in verdicts] == list(tried.values()), verdicts
    assert known.verify(rows["far"], "no box").kind == "format"
    (folder / "small.mm").write_text(DATABASE + "\n")
    assert known.verify(rows["second"], "\\boxed{begin rule}").kind == "bad_gold", "the file has changed since"


def test_it_is_a_task_of_its_own_with_splits_by_label(folder: Path) -> None:
    known = own(folder)
    path = folder / "named.json"
    assert known.name == f"theorems:{path}" and short(known.name) == "theorems-named" and known.name not in TASKS
    assert Share.parse(known.name).task == known.name
    rows = [row for split in ("train", "valid", "test") for row in known.generator.rows(split)]  # type: ignore[misc]
    assert len({row.id for row in rows}) == 4
    problem = known.problem(Key(0), level=1)
    assert "small.mm" in str(problem.prompt) and "\\boxed" in str(problem.prompt)


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"database": "none.mm"}, r"none\.mm cannot be read"),
        ({"database": 3}, "expected"),
        ({"theorems": ["fourth"]}, "names the theorem 'fourth'"),
        ({"theorems": "second"}, "`theorems` is a list"),
        ({"theorems": [], "statements": []}, "names no theorem"),
        ({"statements": ["nowhere"]}, "nowhere cannot be read"),
        ({"statements": ["empty"]}, r"has no file \*\.mm"),
        ({"sha256": "0" * 64}, "another version"),
        ({"label": "a"}, "has 'label'"),
    ],
)
def test_what_cannot_be_used_is_refused(folder: Path, named: dict[str, Any], why: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match=why):
        own(folder, **named)
    own(folder, sha256=hashlib.sha256(DATABASE.encode()).hexdigest())


def test_a_file_that_is_no_json_or_not_there_is_refused(folder: Path) -> None:
    (folder / "broken.json").write_text("{")
    for name, why in (("broken.json", "is no JSON"), ("none.json", "cannot be read")):
        with pytest.raises(DataError, match=why):
            task(f"theorems:{folder / name}")


def test_faults_of_ours_are_no_verdict_on_the_answer() -> None:
    def told(**result: Any) -> tuple[str, str]:
        ended = {"ended": "done", "read": True, "proved": {}, "said": ""} | result
        (verdict,) = verify([Claim("f", "d", 0, "", "|- b", "x")], lambda jobs: [Outcome("done", ended) for _ in jobs])
        return verdict.status, verdict.kind

    assert told() == ("fail", "wrong") and told(proved={"assay-0": True}) == ("ok", "")
    assert told(read=False) == ("invalid", "bad_gold") and told(ended="other") == ("invalid", "bad_gold")
    assert told(ended="starved") == ("invalid", "worker_lost") and told(ended="time") == ("fail", "undecided")
