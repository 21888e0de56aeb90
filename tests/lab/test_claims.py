"""Claim cards: every check of the gate can fail, what was done is not done again, and a card without its checks is
silent.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import SIZES, Shell, make_model

from assay.errors import ClaimError, DataError, UsageError
from assay.lab import claims
from assay.lab.claims import constructed, estimators, gate, page, planted, repeats
from assay.lab.claims.card import Card, Check, Finding, Work, at_most
from assay.run import session
from assay.scoring.boundary import Counts, expansion
from assay.scoring.conclusion import Conclusion, Estimate, Family, Stated, conclude
from assay.scoring.discovery import Boundary, sharpen_or_discover
from assay.scoring.inference import Effect, effect
from assay.scoring.intervals import Interval, Needed, OverProblems, intervals


def silent(_: str) -> None:
    """Tells nobody."""


def work(folder: Path | None = None) -> Work:
    return Work(folder or Path("unused"), silent)


# Checks by simulation, with the instrument and with a broken one


def half_wide(values: np.ndarray, key: Any, **how: Any) -> list[Interval]:
    found = intervals(values, key, **how)
    return [Interval(i.mean, (i.low + i.mean) / 2, (i.high + i.mean) / 2) for i in found]


def half_sure(values: np.ndarray, **how: Any) -> Effect:
    """An effect whose standard error is half of what it should be."""
    found = effect(values, **how)
    spread = {"low": (found.low + found.mean) / 2, "high": (found.high + found.mean) / 2}
    return dataclasses.replace(found, **spread, of_seeds=found.of_seeds / 4, of_problems=found.of_problems / 4)


def hasty(estimate: Estimate, stated: Stated, family: Family) -> Conclusion:
    """A verdict that asks for no interval."""
    word = "EQUAL" if abs(estimate.mean) < stated.worth else "BETTER" if estimate.mean > 0 else "WORSE"
    return dataclasses.replace(conclude(estimate, stated, family), word=word)


def alone(estimate: Estimate, stated: Stated, family: Family) -> Conclusion:
    """A verdict that does not know of the others in its family."""
    return conclude(estimate, stated, Family(family.name, 1))


def never(estimate: Estimate, stated: Stated, family: Family) -> Conclusion:
    return dataclasses.replace(conclude(estimate, stated, family), word="UNDECIDED")


def half_the_seeds(found: Effect, size: float, level: float) -> Needed:
    needed = found.needed(size, level)
    return Needed(seeds=(needed.seeds if needed and needed.seeds else 4) // 2)


def half_the_problems(found: OverProblems, size: float, level: float) -> Needed:
    needed = found.needed(size, level)
    return Needed(problems=(needed.problems if needed and needed.problems else 4) // 2)


CHECKS: list[tuple[Callable[..., Finding], int, dict[str, Any]]] = [
    (estimators.passes_unbiased, 300, {"estimator": estimators.plug_in}),
    (estimators.problem_intervals_cover, 120, {"intervals": half_wide}),
    (estimators.seed_intervals_cover, 150, {"effect": half_sure}),
    (estimators.families_hold, 40, {"conclude": alone}),
    (estimators.equality_errs_seldom, 150, {"conclude": hasty}),
    (estimators.equality_errs_seldom, 50, {"conclude": never}),
    (estimators.power_is_as_promised, 200, {"of_seeds": half_the_seeds}),
    (estimators.power_is_as_promised, 200, {"of_problems": half_the_problems}),
]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(("check", "replications", "broken"), CHECKS)
def test_a_check_sees_a_broken_instrument(
    check: Callable[..., Finding], replications: int, broken: dict[str, Any]
) -> None:
    seen = check(work(), replications=replications, **broken)
    assert not seen.holds, seen.came


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "replications"),
    [
        (estimators.passes_unbiased, 400),
        (estimators.equality_errs_seldom, 150),
        (estimators.power_is_as_promised, 400),
        (planted.studies_tell, 4),
        (planted.runs_tell, 1),
        (planted.banks_tell, 1),
    ],
)
def test_a_check_lets_the_instrument_pass(check: Callable[..., Finding], replications: int) -> None:
    seen = check(work(), replications=replications)
    assert seen.holds, seen.came


@pytest.mark.slow
def test_intervals_that_cover_too_much_do_not_hold_either() -> None:
    wide = estimators.seed_intervals_cover(
        work(), replications=60, effect=lambda values: dataclasses.replace(effect(values), low=-1.0, high=1.0)
    )
    assert not wide.holds and "100.0% to 100.0% in 4 cases; outside: S=3, S=5, S=6, S=9" in wide.came


def test_simulated_studies_have_the_effect_and_the_spread_that_they_say() -> None:
    study = estimators.Studies(shift=0.05, seeds=400, problems=400, samples=64, spread=0.04)
    found = study.differences(estimators.key_of("test"))
    assert found.mean() == pytest.approx(0.05, abs=0.012)
    noise = 2 * 0.22 / 64 / 400  # of the samples, in the mean of a seed
    assert found.mean(axis=1).std(ddof=1) == pytest.approx(math.sqrt(0.04**2 + noise), rel=0.12)


def test_a_share_within_three_standard_errors_agrees_with_its_bound() -> None:
    error = math.sqrt(0.05 * 0.95 / 400)
    assert at_most(0.05 + 2.9 * error, 0.05, 400) and not at_most(0.05 + 3.1 * error, 0.05, 400)


# A recipe against itself


def runs_of_one_method(seeds: int = 12, problems: int = 120) -> np.ndarray:
    rng = np.random.default_rng(11)
    chances = np.clip(rng.beta(1, 4, problems) + rng.normal(0, 0.02, (seeds, 1)), 0, 1)
    return rng.binomial(16, chances) / 16


@pytest.mark.slow
def test_runs_of_one_method_are_not_called_different() -> None:
    seen = repeats.agreement(runs_of_one_method(), conclude=conclude, effect=effect, splits=150)
    assert seen.holds and "6 pairs" in seen.came and seen.figures["significant splits"] <= 0.1
    assert seen.figures["spread of pairs"] == pytest.approx(0.03, abs=0.015), "0.02 x sqrt 2, and the samples' noise"


def test_a_hasty_verdict_and_an_interval_too_short_are_seen_by_runs_of_one_method() -> None:
    scores = runs_of_one_method()
    assert not repeats.agreement(scores, conclude=hasty, effect=effect, splits=10).holds
    seen = repeats.agreement(scores, conclude=conclude, effect=half_sure, splits=150)
    assert not seen.holds and seen.figures["significant splits"] > 0.1


@pytest.mark.slow
def test_repeats_are_trained_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(tmp_path / "model")
    settings = {**{name: str(value) for name, value in SIZES.items()}, "evaluation.every": "0"}
    study = dataclasses.replace(
        repeats.STUDY,
        model=str(model),
        settings=settings,
        budget=dataclasses.replace(repeats.STUDY.budget, amount=1),
    )
    lines: list[str] = []
    first = repeats.repeats_agree(Work(tmp_path / "work", lines.append), study=study, splits=5)
    done = [line for line in lines if " of 12 " in line]
    assert len(done) == 12 and "12 of 12" in done[-1]
    monkeypatch.setattr(session, "start", lambda *_, **__: pytest.fail("a finished run was run again"))
    assert repeats.repeats_agree(work(tmp_path / "work"), study=study, splits=5) == first


# Constructed cases

CHANCES = np.concatenate([np.random.default_rng(7).beta(0.4, 3.0, 500), np.random.default_rng(8).beta(0.05, 3.0, 500)])


def drawn(p: np.ndarray, n: int, seed: int) -> Counts:
    return Counts(np.full(len(p), n), np.random.default_rng(seed).binomial(n, p))


CHILDREN = {
    "sharpened": 1 - (1 - CHANCES) ** 4,
    "taught": np.where(np.arange(1000) >= 500, np.maximum(CHANCES, 0.15), CHANCES),
    "resampled": CHANCES,
}


def uncorrected(base: Counts, child: Counts, *, n: int, **how: Any) -> Boundary:
    """A protocol that sets equal samples beside each other."""
    found = sharpen_or_discover(base, child, n=n, draws=50)
    reached = expansion(base, child, n=n).above > 0.05
    return dataclasses.replace(found, word="discovery" if reached else "undetermined")


@pytest.mark.slow
@pytest.mark.parametrize("case", CHILDREN)
def test_the_protocol_recognises_what_was_constructed(case: str) -> None:
    base, child = drawn(CHANCES, 320, 1), drawn(CHILDREN[case], 160, 2)
    seen = constructed.calls(case, base, child, n=40, protocol=sharpen_or_discover, bootstraps=6)
    assert seen.holds and seen.figures["share"] == 1.0, seen.came


def test_a_protocol_that_forgets_the_samples_takes_compression_for_discovery() -> None:
    base, child = drawn(CHANCES, 320, 1), drawn(CHILDREN["sharpened"], 160, 2)
    seen = constructed.calls("sharpened", base, child, n=40, protocol=uncorrected, bootstraps=4)
    assert not seen.holds and seen.came.startswith("discovery")


@pytest.mark.slow
def test_banks_are_sampled_once_and_the_best_of_some_samples_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {name: str(value) for name, value in SIZES.items()}
    cases = constructed.Cases(
        str(make_model(tmp_path / "model")), {3: 3, 4: 2}, n=2, tries=2, settings=settings, steps=1
    )
    assert [problem.level for problem in cases.problems()] == [3, 3, 3, 4, 4]
    base, child = constructed.pair("sharpened", cases, work(tmp_path))
    assert base.n.tolist() == [16] * 5 and child.n.tolist() == [2] * 5
    _, taught = constructed.pair("taught", cases, work(tmp_path))
    assert taught.n.tolist() == [2] * 5 and (tmp_path / "imitation" / "run.json").exists()
    monkeypatch.setattr(constructed, "open_engine", lambda *_: pytest.fail("a kept bank was sampled again"))
    again = constructed.pair("sharpened", cases, work(tmp_path))
    assert again[1].c.tolist() == child.c.tolist()
    with pytest.raises(DataError, match="no case is named 'sharp': sharpened, taught"):
        constructed.pair("sharp", cases, work(tmp_path))


def test_a_group_of_samples_is_right_if_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rows:
        right = ((True, False, False, False, False), (False, True, True, False, True))

    class Policy:
        codec = None

    cases = constructed.Cases("countdown", {3: 2}, n=2, tries=2, settings={}, steps=1)
    monkeypatch.setattr(constructed, "open_engine", lambda _: (Policy, None))
    monkeypatch.setattr(constructed.bank, "evaluate", lambda *_, **__: Rows)
    found = constructed.sampled("countdown", cases, 2, estimators.key_of("test"), 2)
    assert found.n.tolist() == [2, 2] and found.c.tolist() == [1, 2], "the fifth sample belongs to no pair"


# The gate


def card_of(*checks: Check, id: str = "CC-00") -> Card:
    return Card(id, "what is known", metric="the checks", rule="each by its own", checks=checks)


def check_of(name: str, holds: bool = True, **more: Any) -> Check:
    return Check(name, f"{name} holds", lambda _: Finding(f"{name} was seen", holds, {"share": 0.5}), **more)


TEST_CARD = Card("CC-TEST", "cards are refused", metric="none", rule="none", needs=("families", "repeats"))


def test_a_card_speaks_where_all_that_it_needs_holds_with_this_code(tmp_path: Path) -> None:
    checks = check_of("families"), check_of("repeats"), check_of("power", False)
    _, path = gate.run(tmp_path, card=card_of(*checks), tell=silent)
    claims.require(TEST_CARD, path)


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        (
            (check_of("families"), check_of("repeats", False)),
            "CC-TEST may not report: repeats does not hold. Expected: repeats holds. Came: repeats was seen",
        ),
        ((check_of("families"),), "CC-TEST may not report: its check repeats was not run"),
        ((check_of("families"), check_of("repeats", trains=True)), "its check repeats was not run"),
    ],
)
def test_a_card_is_refused_by_the_name_of_what_it_lacks(
    tmp_path: Path, checks: tuple[Check, ...], message: str
) -> None:
    _, path = gate.run(tmp_path, card=card_of(*checks), quick=True, tell=silent)
    with pytest.raises(ClaimError, match=message):
        claims.require(TEST_CARD, path)


def test_a_gate_of_other_code_or_none_refuses_every_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClaimError, match=r"the gate was not run. `assay claims run CC-00 --into .*` runs it"):
        claims.require(TEST_CARD, tmp_path / "CC-00.json")
    _, path = gate.run(tmp_path, card=card_of(check_of("families"), check_of("repeats")), tell=silent)
    claims.require(TEST_CARD, path)
    monkeypatch.setattr(gate, "mark", lambda: "other")
    with pytest.raises(ClaimError, match=r"was run with other code \(.*, now other\)"):
        claims.require(TEST_CARD, path)
    path.write_text("{}")
    with pytest.raises(DataError, match="is not what the gate came to"):
        claims.require(TEST_CARD, path)
    unknown = dataclasses.replace(TEST_CARD, needs=("family",))
    with pytest.raises(ClaimError, match="CC-TEST needs family, which is no check of the gate: pass-at-k, "):
        claims.require(unknown, path)


def test_a_killed_gate_goes_on_and_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    tried: list[str] = []

    def counted(name: str, stops: bool = False) -> Check:
        def measure(_: Work) -> Finding:
            tried.append(name)
            if stops and tried.count(name) == 1:
                raise KeyboardInterrupt
            return Finding("came", True)

        return Check(name, "expected", measure)

    card = card_of(counted("first"), counted("second", stops=True), counted("third"))
    with pytest.raises(KeyboardInterrupt):
        gate.run(tmp_path, card=card, tell=silent)
    record, path = gate.run(tmp_path, card=card, tell=silent)
    assert tried == ["first", "second", "second", "third"] and not record.failed and not record.missing
    assert gate.Record.read(path) == record
    gate.run(tmp_path, card=card, tell=silent)
    assert len(tried) == 4


def test_the_digest_of_the_gate_is_of_what_turns_banks_into_words() -> None:
    package = Path(gate.assay.__file__).parent
    files = [path.relative_to(package).as_posix() for path in gate.said_by(package)]
    assert {"lab/seeds.py", "lab/compare.py", "scoring/conclusion.py", "lab/claims/planted.py"} <= set(files)
    assert len(gate.mark()) == 12 and "lab/claims/page.py" not in files and files == sorted(files)
    assert all((package / place).exists() for place in gate.SAY), "a file of the list that was moved is lost"


def test_the_checks_of_the_gate_have_names_of_their_own_and_are_listed() -> None:
    names = [check.name for check in gate.CC_00.checks]
    assert len(set(names)) == len(names) and {"repeats", *constructed.CALLED} <= set(names)
    assert {check.name for check in gate.CC_00.checks if check.trains} == {"repeats", *constructed.CALLED}


def test_the_committed_gate_is_of_this_code_and_holds() -> None:
    """`assay claims run CC-00 --into bench/results/claims` brings it up to date, in minutes."""
    folder = Path(__file__).parents[2] / "bench" / "results" / "claims"
    record = gate.Record.read(folder / "CC-00.json")
    assert [one.name for one in record.outcomes] == [check.name for check in gate.CC_00.checks]
    assert record.code == gate.mark(), f"the record is void: run `{gate.command(folder / 'CC-00.json')}`"
    assert not record.missing and not record.failed


def test_a_page_shows_all_outcomes_without_scripts(tmp_path: Path) -> None:
    shares = {"S=5": 0.94, "S=9": 0.95}
    covered = Check("intervals-over-seeds", "few", lambda _: Finding("few", True, shares))
    card = card_of(covered, check_of("<b>second</b>", False), check_of("third", trains=True))
    record, path = gate.run(tmp_path, card=card, quick=True, tell=silent)
    made = page.write(card, record, path).read_text()
    assert "<script" not in made and "&lt;b&gt;second&lt;/b&gt;" in made and "https://" not in made
    assert made.count("<svg") == 1 and "intervals-over-seeds: 0.94 to 0.95" in made
    assert page.conclusion(record) == (
        "1 of 3 checks hold; <b>second</b> does not hold; third was not run. Cards that need what does not hold, or "
        "was not run, are refused."
    )


# The command


def test_the_command_lists_shows_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(capsys)
    assert [row["id"] for row in shell("claims", "list", "--json").document] == ["CC-00"]
    assert "resampled" in shell("claims", "show", "CC-00").out
    monkeypatch.setitem(claims.CARDS, "CC-00", card_of(check_of("first"), check_of("second", trains=True)))
    reply = shell("claims", "run", "CC-00", "--into", tmp_path, "--quick")
    assert reply.code == 0 and "1 of 2  first  holds" in reply.err and "second was not run" in reply.out
    assert (tmp_path / "CC-00.html").exists()
    reply = shell("claims", "run", "CC-00", "--into", tmp_path, "--json")
    assert reply.document["outcomes"][1]["holds"] is True
    assert json.loads((tmp_path / "CC-00.json").read_text()) == reply.document
    monkeypatch.setitem(claims.CARDS, "CC-00", card_of(check_of("first"), check_of("third", False)))
    reply = shell("claims", "run", "CC-00", "--into", tmp_path)
    assert reply.code == ClaimError.exit_code and "third of CC-00 did not hold" in reply.err
    assert "does not hold" in reply.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("run",), "say which card"),
        (("run", "CC-0"), "no card named 'CC-0'. Did you mean 'CC-00'"),
        (("list", "CC-00"), "lists all cards"),
        (("show", "CC-00", "--quick"), "--quick is an option of `assay claims run`"),
        (("list", "--into", "x"), "--into is an option"),
    ],
)
def test_lines_that_cannot_be_meant_are_refused(
    line: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = Shell(capsys)("claims", *line)
    assert reply.code == UsageError.exit_code and message in reply.err
