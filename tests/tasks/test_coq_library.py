"""Theorems of Coq's library: truth by their numbers, worked solutions, texts that must fail, replies of steps."""

from __future__ import annotations

import re
from itertools import product

import pytest

from assay.externals import workers_of
from assay.rng import Key
from assay.tasks import ALPHABET, TASKS, task
from assay.tasks.worked import turns
from assay.types import Problem
from assay.verifiers.proofs.coq import Claim, Unreadable, sentences, verify

LEVELS = range(1, 6)
UNGUARDED = ["Abort.", "Unset Guard Checking.", "Definition f := fix f (n:nat) : 1+1=3 := f n."]


def problems(count: int, *levels: int, name: str = "coq-library") -> list[Problem]:
    return [task(name).problem(Key(seed, "library", level), level=level) for level in levels for seed in range(count)]


def test_inequalities_and_differences_hold_for_all_small_numbers() -> None:
    """Each statement is read again and computed in Python, which knows nothing of how its numbers were drawn."""
    for problem in problems(40, 1):
        added, b, c, d = map(
            int,
            re.fullmatch(
                r"n\+(\d+)<=m -> (\d+)\*n\+(\d+)<=\2\*m\+(\d+)",
                problem.spec["statement"].partition(", ")[2].replace("-> n+", "-> 1*n+").replace("<=m+", "<=1*m+"),
            ).groups(),  # type: ignore[union-attr]
        )
        assert all(b * n + c <= b * m + d for n in range(9) for m in range(n + added, n + added + 9))
    for problem in problems(40, 2):
        added, taken = map(int, re.findall(r"\d+", problem.spec["statement"]))
        assert all(m - n - taken >= 0 for n in range(9) for m in range(n + added, n + added + 9))


def test_folds_hold_for_lists_that_are_computed_in_python() -> None:
    for problem in problems(40, 4):
        added, start, number, each, rest = map(int, re.findall(r"\d+", problem.spec["statement"]))
        assert all(sum([number + added] * n) + start == each * n + rest for n in range(6))
    for problem in problems(40, 5):
        added, start, own, each, rest = map(int, re.findall(r"\d+", problem.spec["statement"]))
        for numbers in [(), (3,), *product(range(3), repeat=2)]:
            assert sum(x + added for x in numbers) + start == own + sum(numbers) + each * len(numbers) + rest


@pytest.mark.parametrize("level", LEVELS)
def test_the_splits_have_different_theorems_and_the_questions_characters_that_a_base_knows(level: int) -> None:
    seen: dict[str, str] = {}
    for split in ("train", "valid", "test"):
        for seed in range(30):
            problem = TASKS["coq-library"].problem(Key(seed), level=level, split=split)
            assert seen.setdefault(problem.id, split) == split
            assert set(f"{problem.prompt}{problem.solution}") <= set(ALPHABET) and "#" not in str(problem.prompt)
    assert len(seen) > 40


def test_tactics_of_the_library_are_for_claims_with_the_library() -> None:
    with pytest.raises(Unreadable, match="begins with no tactic"):
        sentences("intros. lia.")
    assert sentences("intros. lia.", "library") == ["intros.", "lia."]
    for text in ("Unset Guard Checking.", "Require Import Classical.", "admit.", "Set Lia Cache.", "Axiom f : False."):
        with pytest.raises(Unreadable, match="not allowed"):
            sentences(text, "library")


@pytest.mark.deep
@pytest.mark.external("coq")
def test_worked_solutions_pass_both_oracles_and_others_do_not() -> None:
    asked = problems(2, *LEVELS)
    checker = TASKS["coq-library"].checker
    assert checker.verify_many is not None and checker.second is not None
    right = [(problem, problem.solution or "") for problem in asked]
    assert {verdict.status for verdict in checker.second(right)} == {"ok"}
    wrong = [
        (problem, f"#{text}")
        for problem in asked[::4]
        for text in ("reflexivity.", "intros. ring.", "intros.", "]", "")
    ]
    assert {verdict.status for verdict in checker.verify_many(wrong)} == {"fail"}


@pytest.mark.slow
@pytest.mark.external("coq")
def test_the_library_proves_nothing_false_and_is_not_there_without_its_preamble() -> None:
    lemma = "rewrite app_length. reflexivity."
    of_lists = "forall l k:list nat, length (l++k)=length l+length k"
    claims = [
        Claim(of_lists, f"intros l k. {lemma}", preamble="library"),
        Claim("forall n:nat, n<=n+1", "intro n. lia.", preamble="library"),
        Claim("forall n m:nat, n*m=m*n", "intros. ring.", preamble="library"),
        Claim("forall n:nat, n<=n-1", "intro n. lia.", preamble="library"),
        Claim("1+1=3", "lia.", preamble="library"),
        Claim("forall P:Prop, P\\/~P", "intro P. tauto.", preamble="library"),
        Claim("forall n m:nat, n*m=m*n", "intros. ring."),
    ]
    assert [one.verdict.status for one in verify(claims)] == ["ok"] * 3 + ["fail"] * 4
    (absent,) = verify([Claim("forall l:list nat, l++[]=l", "intro l. apply app_nil_r.")])
    assert absent.verdict.kind == "bad_gold", "without the library the notation of lists says nothing"


@pytest.mark.deep
@pytest.mark.external("coq")
def test_the_checker_refuses_a_file_with_the_library_that_switches_a_check_off() -> None:
    """The text is refused before Coq reads it; without that look, the report of `coqchk` still tells."""
    unguarded = [*UNGUARDED, "Theorem theorem_of_ours_0 : 1+1=3.", "exact (f 0)."]
    assumed = ["Abort.", "Axiom x : 1+1=3.", "Theorem theorem_of_ours_0 : 1+1=3.", "exact x."]
    borrowed = ["Abort.", "Require Import Classical.", "Theorem theorem_of_ours_0 : 1+1=3.", "destruct (classic True)."]
    files = [[["1+1=3", tactics]] for tactics in (["admit."], unguarded, assumed, borrowed)]
    right = [["forall n:nat, n<=n+1", ["intro n.", "lia."]]]
    outcomes = workers_of("coq").map([{"theorems": one, "preamble": "library"} for one in [*files, right]])
    assert [outcome.result["status"] for outcome in outcomes] == ["refused"] * 4 + ["checked"]


@pytest.mark.slow
@pytest.mark.external("coq")
def test_the_replies_of_worked_solutions_are_those_of_the_session() -> None:
    known = task("coq-library-steps")
    assert known.world is not None and known.checker.verify_many is not None
    asked = problems(2, *LEVELS, name="coq-library-steps")
    for problem in asked:
        assert "".join(text for text, _ in turns(problem, known)) == problem.solution
        play = known.world.start(problem.spec, Key(0))
        play.open()
        calls = re.findall(r"\[(.*?\.)\]([^\[]*)", problem.solution or "")
        heard = [play.step(known.world.act("policy", f"[{call}]", waits=True)).ask for call, _ in calls]
        said = ["" if ask is None else "".join(line.text for line in ask.say) for ask in heard]
        assert said == [reply for _, reply in calls] and heard[-1] is None, "the last call ends the proof"
        play.close()
    verdicts = known.checker.verify_many([(problem, problem.solution or "") for problem in asked])
    assert {verdict.status for verdict in verdicts} == {"ok"}
