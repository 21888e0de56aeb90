"""The kernel for Metamath databases: what it accepts and refuses, and that Metamath says the same of each theorem."""

from __future__ import annotations

import random

import pytest
from truth import follows

from assay.externals import workers_of
from assay.rng import Key
from assay.tasks import TASKS
from assay.verifiers.proofs.completion import completed
from assay.verifiers.proofs.database import Malformed, read
from assay.verifiers.proofs.kernel import MOST_STEPS, Refused, check, wrong_theorems
from assay.verifiers.proofs.metamath import base, base_text, theorem

START = """
$c ( ) > |- wff ! $.  $v p q x y $.
wp $f wff p $.  wq $f wff q $.  wx $f wff x $.  wy $f wff y $.
wi $a wff ( p > q ) $.
${ m1 $e |- p $.  m2 $e |- ( p > q ) $.  mp $a |- q $. $}
k $a |- ( p > ( q > p ) ) $.
${ $d x y $.  ap $a |- ( x > y ) $. $}
"""
RIGHT = {
    "an instance of an axiom": "t $p |- ( p > ( p > p ) ) $= wp wp k $.",
    "a hypothesis": "${ h $e |- p $.  t $p |- p $= h $. $}",
    "a rule": "${ h $e |- p $.  g $e |- ( p > q ) $.  t $p |- q $= wp wq h g mp $. $}",
    "a rule whose premise is an axiom": "${ h $e |- p $.  t $p |- ( q > p ) $= wp wq wp wi h wp wq k mp $. $}",
    "disjoint variables that are declared": "${ $d p q $.  t $p |- ( p > q ) $= wp wq ap $. $}",
    "more variables declared disjoint": "${ $d p q y $.  t $p |- ( q > p ) $= wq wp ap $. $}",
    "a compressed proof": "t $p |- ( p > ( p > p ) ) $= ( k ) AAB $.",
    "a compressed proof that recalls": "t $p |- ( ( p > p ) > ( ( p > p ) > ( p > p ) ) ) $= ( wi k ) AABZDC $.",
}
WRONG = {
    "no proof": "t $p |- p $= ? $.",
    "a step that is left out": "${ h $e |- p $.  t $p |- ( q > p ) $= wp wq wp wi h ? mp $. $}",
    "the theorem itself": "t $p |- p $= wp t $.",
    "a theorem that comes later": "t $p |- ( p > ( p > p ) ) $= wp u $.  u $p |- ( p > ( p > p ) ) $= wp wp k $.",
    "a hypothesis out of scope": "${ h $e |- p $. $}  t $p |- p $= h $.",
    "another statement": "t $p |- ( p > q ) $= wp wp k $.",
    "two statements": "t $p |- ( p > ( p > p ) ) $= wp wp k wp $.",
    "no statement": "t $p |- p $= $.",
    "too few premises": "t $p |- p $= wp mp $.",
    "premises in the wrong order": "${ h $e |- p $.  g $e |- ( p > q ) $.  t $p |- q $= wp wq g h mp $. $}",
    "a formula of another type": "${ h $e |- p $.  t $p |- ( p > ( p > p ) ) $= wp h k $. $}",
    "variables that are not declared disjoint": "t $p |- ( p > q ) $= wp wq ap $.",
    "disjoint from itself": "${ $d p q $.  t $p |- ( p > p ) $= wp wp ap $. $}",
    "a compressed number too large": "t $p |- ( p > ( p > p ) ) $= ( k ) AAF $.",
    "a letter that no compressed proof has": "t $p |- ( p > ( p > p ) ) $= ( k ) AaB $.",
    "a compressed proof that saves twice": "t $p |- ( p > ( p > p ) ) $= ( k ) AZZAB $.",
    "a compressed proof that saves within a number": "t $p |- ( p > ( p > p ) ) $= ( k ) AUZAB $.",
    "a compressed proof that saves nothing": "t $p |- ( p > ( p > p ) ) $= ( k ) ZAAB $.",
    "a compressed proof that ends in a number": "t $p |- ( p > ( p > p ) ) $= ( k ) AABU $.",
}


def verdicts(texts: list[str]) -> list[bool]:
    return ["t" not in wrong_theorems(read(START + text)) for text in texts]


@pytest.mark.parametrize("name", RIGHT)
def test_right_proofs_are_accepted(name: str) -> None:
    assert verdicts([RIGHT[name]]) == [True]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_proofs_are_refused(name: str) -> None:
    assert verdicts([WRONG[name]]) == [False]


@pytest.mark.slow
@pytest.mark.external("metamath")
def test_metamath_says_the_same() -> None:
    texts = [*RIGHT.values(), *WRONG.values()]
    jobs = [{"database": START + text, "theorems": ["t"]} for text in texts]
    found = workers_of("metamath").map(jobs)
    assert [one.result["proved"].get("t", False) for one in found] == [True] * len(RIGHT) + [False] * len(WRONG)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("$c a a $.", "no new symbol"),
        ("$c a $. $v a $.", "no new symbol"),
        ("$v p $. ${ wp $f wff p $. $}", "begins with a constant"),
        ("$c wff $. t $a wff p $.", "neither a constant"),
        ("$c wff $. $v p $. t $a wff p $.", "neither a constant"),
        ("$c wff $. wff $a wff $.", "taken"),
        ("$c wff $. a $a wff $. a $a wff $.", "taken"),
        ("$c wff $. ${ a $a wff $.", "within a scope"),
        ("$c wff $. $}", "closes no scope"),
        ("$c wff $. a $a wff", "no '$.'"),
        ("$c wff $. a $a wff $a wff $.", "stands within"),
        ("$c wff $. $a wff $.", "no label"),
        ("$c wff $. a b $a wff $.", "follows the label"),
        ("$c wff $. ${ $c b $. $}", "outside scopes"),
        ("$[ other.mm $]", "included"),
        ("$( no end", "does not end"),
        ("$c wff $. $v p $. wp $f wff p $. wq $f wff p $.", "type already"),
        ("$c wff $. $v p $. $d p p $.", "no two different"),
        ("$c wff $. a $p wff $.", "no '$='"),
        ("$c \u00e4 $.", "no new symbol"),
        ("$c a $. ${ $v x $. $} $c x $.", "no new symbol"),
    ],
)
def test_what_is_no_database_is_named(text: str, says: str) -> None:
    with pytest.raises(Malformed, match=says.replace("$", r"\$")):
        read(text)


def test_a_variable_may_be_declared_again_in_another_scope() -> None:
    assert read("$c wff $. ${ $v x $. $} ${ $v x $. $}").variables == {"x"}


@pytest.mark.parametrize(("more", "kind"), [(0, "wrong"), (1, "long")])
def test_the_longest_proof_is_read(more: int, kind: str) -> None:
    known = read(START).assertions
    stated = read(START + "t $p |- p $= ? $.").assertions["t"]
    with pytest.raises(Refused) as refused:
        check(known, stated, ["wp"] * (MOST_STEPS + more))
    assert (refused.value.kind == "long") == (kind == "long")


def test_a_proof_without_bounds_is_stopped() -> None:
    known = read(START).assertions
    stated = read(START + "t $p |- p $= ? $.").assertions["t"]
    with pytest.raises(Refused, match="more than"):
        check(known, stated, ["wp"] * 100_000)
    doubling = ["(", "wi", ")", "A", *["ZCB"] * 10_000]
    with pytest.raises(Refused):
        check(known, stated, doubling)


def test_our_rules_are_proved_and_true() -> None:
    """Both: the kernel accepts their proofs, and truth tables say that the conclusions follow."""
    assert wrong_theorems(base()) == {}
    for rule in base().assertions.values():
        if rule.symbols[0] == "|-":
            premises = [" ".join(h.symbols[1:]) for h in rule.hypotheses if h.kind == "$e"]
            assert follows(premises, " ".join(rule.symbols[1:])), rule.label


@pytest.mark.external("metamath")
def test_metamath_accepts_our_rules() -> None:
    proved = [label for label, rule in base().assertions.items() if rule.proof is not None]
    (outcome,) = workers_of("metamath").map([{"database": base_text(), "theorems": proved}])
    assert outcome.result["proved"] == dict.fromkeys(proved, True)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.external("metamath")
def test_both_kernels_agree_on_damaged_proofs() -> None:
    """700 whole proofs: one step replaced, dropped, repeated or exchanged, or the goal or a hypothesis changed."""
    draw = random.Random(7)
    labels = [*base().assertions, "wp", "wq", "A", "B"]
    ours, jobs = [], []
    for number in range(700):
        spec = TASKS["metamath"].problem(Key(number, "damage"), level=1 + number % 4).spec
        hypotheses, goal = list(spec["hypotheses"]), spec["goal"]
        proof = list(completed(base(), theorem(hypotheses, goal), spec["witness"]))
        place = draw.randrange(len(proof))
        match number % 6:
            case 0:
                proof[place] = draw.choice(labels)
            case 1:
                del proof[place]
            case 2:
                proof.insert(place, proof[place])
            case 3:
                other = draw.randrange(len(proof))
                proof[place], proof[other] = proof[other], proof[place]
            case 4:
                goal = goal.replace("p", "q") if draw.random() < 0.5 else f"~ {goal}"
            case 5:
                hypotheses[0] = hypotheses[0].replace(*draw.choice([(">", "&"), ("p", "t"), ("~ ", ""), ("v", ">")]))
        try:
            check(base().assertions, theorem(hypotheses, goal), proof)
            ours.append(True)
            assert follows(hypotheses, goal)
        except Refused:
            ours.append(False)
        own = {label: f"h.{label}" for label, _ in zip("ABCDE", hypotheses, strict=False)}
        stated = " ".join(f"{own[label]} $e |- {h} $." for label, h in zip("ABCDE", hypotheses, strict=False))
        steps = " ".join(own.get(step, step) for step in proof)
        jobs.append({"database": f"{base_text()} {stated} thm $p |- {goal} $= {steps} $.", "theorems": ["thm"]})
    theirs = [outcome.result["proved"]["thm"] for outcome in workers_of("metamath").map(jobs)]
    assert theirs == ours
    assert 20 < sum(ours) < 350
