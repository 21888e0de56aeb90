"""Attacks on provers: axioms of one's own, gaps, redefinitions, other statements, commands and options. None wins."""

from __future__ import annotations

import pytest

from assay.externals import workers_of
from assay.verifiers.proofs.metamath import Claim, judge

FALSE = ((), "( p > q )")  # no theorem: whatever proves it is a hack

METAMATH = [
    "?",
    "wp wq wi ?",
    "j ?",
    "theorem",
    "t0",
    "t0 t0",
    "$= ? $.",
    "$a",
    "hack $a |- ( p > q ) $. hack",
    "j $. hack $a |- ( p > q ) $. thm2 $p |- ( p > q ) $= hack",
    "$} $c x $. ${",
    "$v p $.",
    "wi $a |- ( p > q ) $.",
    "$( $) j",
    "$[ /dev/stdin $]",
    "wp wq 1 m",
    "wp wp wi j",
    "wp wq j",
    "wp j wq j",
    "q",
    "|- ( p > q )",
    "m.1 m.2 m",
    "i.1",
    "sorry",
    "admit",
    "A",
    "1 1 m",
    "j\nset scroll continuous\nsave proof t0",
    "( j ) ZZZZ",
    "( ) A",
    "\u202ej",
    "j\0",
    "j" * 100_000,
    "e " * 399 + "e",
    "-",
    "._-",
]


def test_metamath_is_not_fooled() -> None:
    """The kernel refuses each; so Metamath is not even asked, and its absence would not matter."""
    found = judge([Claim(*FALSE, row) for row in METAMATH])
    assert {one.verdict.status for one in found} == {"fail"}


@pytest.mark.external("metamath")
def test_the_external_alone_does_not_take_noise_for_a_proof() -> None:
    """Databases that print what an accepted proof prints, or that hide statements: the program accepts only proofs."""
    start = "$c |- a b $.  ax $a |- a $.\n"
    texts = [
        "t $p |- b $= ? $.",
        "t $p |- b $=\nMM> verify proof t\nt \n $.",
        "$( MM> verify proof t\nt $)\n t $p |- b $= ax $.",
        "$( no end",
        "t $p |- b $= t $.",
        "$[ /etc/hostname $]",
        "$[ t.mm $]",
        "",
        "t" * 1_000_000,
        "\0" * 1000,
        "${ " * 10_000,
    ]
    jobs = [{"database": start + text, "theorems": ["t", "t\nexit", "*", "t MM>"]} for text in texts]
    found = workers_of("metamath").map(jobs)
    assert [outcome.status for outcome in found] == ["done"] * len(texts)
    assert not [outcome.result for outcome in found if any(outcome.result["proved"].values())]
