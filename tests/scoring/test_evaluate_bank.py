"""Banks: what is counted, what is left out, and that the estimates survive a round trip through JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tiny import TINY

import assay.tasks
from assay.ask import Sampling
from assay.engine.interface import Generation
from assay.errors import AssayError, DataError
from assay.rng import Key
from assay.scoring.bank import Bank, common, difference, entry, evaluate, examined, powers, scores, summary
from assay.types import Finish, Problem, Segment, Verdict
from assay.view.results import eval_table

END = (99,)


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two tasks that these problems say they are of."""
    for name in ("toy", "other"):
        monkeypatch.setitem(assay.tasks.TASKS, name, replace(TINY, name=name))


class Parrot:
    """An engine whose sample number s of a problem is the token `level + s`; long answers hit the limit."""

    def __init__(self, finish: Finish = "stop"):
        self.finish: Finish = finish
        self.asked = []

    def generate(self, requests, key, *, done):
        self.asked += list(requests)
        ids = [np.array([r.problem.level + r.sample, *END], dtype=np.int32) for r in requests]
        made = [Generation(Segment(i, np.zeros(len(i), np.int8)), self.finish) for i in ids]
        for place, one in enumerate(made):
            done(place, one)
        return made


def problem(level: int, task: str = "toy") -> Problem:
    return Problem(task, "?", {}, f"{task}{level}", level=level)


def even(episodes):
    """Right where the number is even; an error of ours where it is 9."""
    return [_even(episode.text) for episode in episodes]


def _even(text: str) -> Verdict:
    if text == "9":
        return Verdict.invalid("bug")
    return Verdict.ok(text) if int(text) % 2 == 0 else Verdict.fail("wrong", answer=text)


class Digits:
    """A tokenizer whose tokens are numbers."""

    end_ids = frozenset(END)
    stops: tuple[str, ...] = ()

    def render(self, prompt):
        return np.array([1, 2], dtype=np.int32)

    encode = render

    def decode(self, ids):
        return " ".join(str(token) for token in ids)


PARROT: Any = Parrot()  # as much of an engine
CODEC: Any = Digits()  # as much of a codec as an evaluation asks for


def run(problems, *, samples=4, engine: Any = PARROT, temperature=1.0, answers=False):
    return evaluate(
        engine,
        problems,
        samples=samples,
        key=Key(0),
        sampling=Sampling(max_new=3, temperature=temperature),
        codec=CODEC,
        verify=even,
        answers=answers,
    )


def test_counts_by_problem_and_requests_carry_their_group():
    engine = Parrot()
    bank = run([problem(0), problem(1)], samples=5, engine=engine, temperature=0.7, answers=True)
    assert bank.correct.tolist() == [3, 2]  # 0..4 and 1..5
    assert bank.n.tolist() == [5, 5]
    assert bank.tokens.tolist() == [10, 10]  # the end token counts, and is not text
    assert bank.answers == (("0", "1", "2", "3", "4"), ("1", "2", "3", "4", "5"))
    assert bank.temperature == 0.7
    assert len({request.id for request in engine.asked}) == 10
    assert all(r.group == r.problem.id and r.max_new == 3 and r.temperature == 0.7 for r in engine.asked)


def test_errors_of_ours_are_counted_and_not_averaged():
    bank = run([problem(0), problem(6)])  # 6 7 8 and 9, which is spoilt
    assert bank.n.tolist() == [4, 3]
    assert bank.invalid.tolist() == [0, 1]
    found = summary(bank, [1, 3])
    assert found["invalid"] == 1
    assert found["pass"]["1"]["mean"] == pytest.approx((2 / 4 + 2 / 3) / 2)
    with pytest.raises(DataError, match="k <= 3"):
        summary(bank, [1, 4])


def test_a_lost_verdict_costs_an_evaluation_its_problem_and_no_more():
    bank = run([problem(0), problem(1), problem(6)])  # 9 is spoilt, one of the answers to the last
    found = examined(bank, [1, 4])
    assert (found["problems"], found["unjudged"], found["invalid"]) == (2, 1, 1)
    assert found["pass"]["1"]["mean"] == 0.5 and found["pass"]["4"]["mean"] == 1.0
    assert examined(bank, [1, 2])["unjudged"] == 0, "three verdicts are enough for pass@2"
    assert "failed on 1 answers; 1 problems" in eval_table(found)
    assert "failed" not in eval_table(examined(run([problem(0)]), [1]))
    with pytest.raises(DataError, match="no problem has so many: the verifier failed on 4 of 4 answers"):
        examined(run([problem(0)], engine=Parrot("error")), [1])


def test_a_sampler_that_failed_is_no_wrong_answer():
    bank = run([problem(0)], engine=Parrot("error"))
    assert bank.invalid.tolist() == [4]
    assert bank.n.tolist() == [0]
    with pytest.raises(DataError):
        summary(bank, [1])


def test_truncation_is_counted():
    assert summary(run([problem(0), problem(2)], engine=Parrot("length")), [1])["truncated"] == 1.0


def test_summary_by_task_and_level():
    found = summary(run([problem(0), problem(1), problem(1, "other")], samples=1), [1])
    assert found["pass"]["1"]["mean"] == pytest.approx(1 / 3)
    assert found["tasks"]["toy"]["pass"]["1"]["mean"] == 0.5
    assert found["tasks"]["toy"]["levels"]["0"]["pass"]["1"]["mean"] == 1.0
    assert found["tasks"]["other"]["levels"]["1"]["pass"]["1"] == {"mean": 0.0, "low": None, "high": None}


def test_majority_is_reported_where_answers_are_kept():
    bank = replace(run([problem(0)], samples=3), answers=(("7", "7", "8"),), right=((False, False, True),))
    assert summary(bank, [1, 3])["maj"]["3"]["mean"] == 0.0
    assert "maj" not in summary(run([problem(0)]), [1, 3])


@pytest.mark.parametrize("answers", [False, True])
def test_json_round_trip(answers):
    bank = run([problem(0), problem(6), problem(3, "other")], answers=answers)
    record = json.loads(json.dumps(entry(bank, step=12, set="test", ks=[1, 2]), allow_nan=False))
    again = Bank.from_json(record["bank"])
    assert entry(again, step=12, set="test", ks=[1, 2]) == record
    assert scores(record)["eval/test/pass@1"] == record["pass"]["1"]["mean"]
    assert scores(record)["eval/test/invalid"] == 1.0


def test_scores_are_means_over_the_samples_to_which_they_apply():
    """Level 1 answers 1, 2, 3, 4 and level 2 answers 2, 3, 4, 5: half of each, and of even ones alone 1."""

    def judge(episodes):
        numbers = [int(episode.text) for episode in episodes]
        told = [{"half": n / 2, "even": None if n % 2 else 1.0, "never": None} for n in numbers]
        return [Verdict("ok", scores=scores) for scores in told]

    problems = [problem(1), problem(2)]
    parrot: Any = Parrot()
    bank = evaluate(parrot, problems, samples=4, key=Key(0), sampling=Sampling(4), codec=CODEC, verify=judge)
    assert bank.scores["half"].tolist() == [1.25, 1.75] and bank.scores["even"].tolist() == [1.0, 1.0]
    assert np.isnan(bank.scores["never"]).all()
    record = json.loads(json.dumps(bank.to_json(), allow_nan=False))
    assert Bank.from_json(record).to_json() == bank.to_json()
    found = entry(bank, step=0, set="valid")
    assert found["scores"]["half"]["mean"] == 1.5 and "never" not in found["scores"]
    assert scores(found)["eval/valid/reward/half"] == 1.5
    assert bank.select([1]).scores["half"].tolist() == [1.75]


def test_a_record_of_another_shape_is_refused():
    record = run([problem(0)]).to_json()
    del record["invalid"]
    with pytest.raises(DataError, match="invalid"):
        Bank.from_json(record)


def counts(ids, n, correct) -> Bank:
    M = len(ids)
    zero = np.zeros(M, dtype=np.int64)
    return Bank(tuple(ids), ("toy",) * M, zero, np.full(M, n), np.array(correct), zero, zero, zero, max_new=1)


def test_difference_is_paired_by_problem_whatever_the_order():
    before = counts("abcd", 4, [0, 1, 2, 3])
    after = counts("dcba", 4, [4, 3, 2, 1])
    found = difference(before, after, [1])
    assert found["problems"] == 4
    assert found["pass"]["1"]["mean"] == pytest.approx(0.25)
    unseen = 1 - 0.05 ** (1 / 4)  # all four rose by one of four samples; a share of others might fall by one whole
    assert found["pass"]["1"]["low"] == pytest.approx(0.25 - unseen * 1.25)
    one, other = common(before, after.select([1, 0]))
    assert one.problems == other.problems == ("c", "d")


def test_no_shared_problem_no_difference():
    with pytest.raises(DataError, match="share no problem"):
        difference(counts("ab", 2, [0, 1]), counts("cd", 2, [0, 1]), [1])


def test_bad_sets_are_refused():
    with pytest.raises(DataError, match="empty"):
        run([])
    with pytest.raises(DataError, match="twice"):
        run([problem(0), problem(0)])
    with pytest.raises(DataError, match="samples"):
        run([problem(0)], samples=0)


def test_powers():
    assert powers(1) == [1]
    assert powers(64) == [1, 2, 4, 8, 16, 32, 64]
    assert powers(63)[-1] == 32


def test_entry_asks_for_the_k_that_every_problem_can_answer():
    bank = run([problem(0), problem(6)])  # one of the second four is spoilt
    assert list(entry(bank, step=0, set="valid")["pass"]) == ["1", "2"]


def test_a_problem_that_is_wholly_spoilt_enters_no_estimate():
    bank = run([problem(0), problem(9)], samples=1)
    found = entry(bank, step=0, set="valid")
    assert (found["problems"], found["unjudged"], found["invalid"]) == (1, 1, 1)
    assert found["pass"]["1"]["mean"] == 1.0
    assert len(Bank.from_json(found["bank"])) == 2
    assert difference(bank, run([problem(9), problem(0)], samples=1), [1])["problems"] == 1
    with pytest.raises(AssayError, match="all 1 samples"):
        entry(run([problem(9)], samples=1), step=0, set="valid")
