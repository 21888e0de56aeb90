"""Sample banks: what is kept of an answer, files that cannot be read, and estimates worked out by hand."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from banked import CUT, FIRST, LOST, OTHER, RIGHT, SMALL, WRONG, episode, flips, made, problem

from assay.errors import DataError
from assay.rng import digest
from assay.scoring.bank import bank as counted
from assay.scoring.bank_reports import DEPENDS, compared, parity, shown
from assay.scoring.samples import CHECK, MARK, SampleBank
from assay.types import Finish, Verdict

# --- files --------------------------------------------------------------------------------------------------


def test_a_bank_survives_its_file_with_all_that_was_asked(tmp_path: Path) -> None:
    bank = made({**SMALL, "c": [RIGHT, LOST, WRONG, CUT]}, temperature=0.7, system="Be brief.", judge=("f.py:f 12",))
    bank.write(tmp_path / "one.parquet")
    again = SampleBank.read(tmp_path / "one.parquet")
    assert again.asked == bank.asked and again.asked.digest == bank.asked.digest
    assert again.table.equals(bank.table)
    again.write(tmp_path / "two.parquet")
    assert (tmp_path / "two.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()


def test_a_row_holds_the_answer_its_verdict_and_how_likely_it_was() -> None:
    rows = made(SMALL).table.to_pylist()
    assert rows[3] == {
        "problem": problem("a").id,
        "task": "toy",
        "level": 3,
        "sample": 3,
        "ids": [5, 6],
        "text": "an answer",
        "answer": None,
        "status": "fail",
        "kind": "truncated",
        "correct": False,
        "finish": "length",
        "tokens": 2,
        "logp": -0.75,
        "turns": None,
    }
    unknown = SampleBank.of(made({"a": [1]}).asked, [episode("a", 0, RIGHT, old=None)])
    assert unknown.table["logp"].to_pylist() == [None]
    half = SampleBank.of(made({"a": [1]}).asked, [episode("a", 0, RIGHT, old=(-0.5, math.nan))])
    assert half.table["logp"].to_pylist() == [None]


def test_counts_are_those_of_the_episodes() -> None:
    verdicts = {**SMALL, "c": [RIGHT, LOST, WRONG, CUT]}
    rows = [episode(name, i, RIGHT) for name in verdicts for i in range(4)]
    flat = [verdict if isinstance(verdict, Verdict) else WRONG for row in verdicts.values() for verdict in row]
    ends: list[Finish] = ["length" if verdict.kind == "truncated" else "stop" for verdict in flat]
    judged = [dataclasses.replace(e, verdict=v, finish=f) for e, v, f in zip(rows, flat, ends, strict=True)]
    assert made(verdicts).counts().to_json() == counted(judged, answers=True).to_json()


def test_problems_are_selected_in_the_order_asked_for() -> None:
    a, b = problem("a").id, problem("b").id
    bank = made(SMALL).select([b, a])
    assert list(bank.asked.problems) == [b, a]
    assert bank.counts().correct.tolist() == [0, 2]
    assert made(SMALL).select([a]).counts().problems == (a,)
    with pytest.raises(DataError, match="no problem nowhere"):
        bank.select(["nowhere"])


def test_halves_are_the_even_and_the_odd_samples() -> None:
    even, odd = made({"a": [1, 0, 1, 0, 1], "b": [0, 1, 0, 1, 0]}).halves()
    assert (even.asked.samples, odd.asked.samples) == (3, 2)
    assert even.counts().correct.tolist() == [3, 0] and odd.counts().correct.tolist() == [0, 2]
    with pytest.raises(DataError, match="halves need two"):
        made({"a": [1]}).halves()


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with other values in the entry that says what was asked."""
    table = pq.read_table(path)
    said = json.loads(table.schema.metadata[MARK]) | changes
    document = json.dumps(said).encode()
    pq.write_table(table.replace_schema_metadata({MARK: document, CHECK: digest(document).encode()}), path)
    return path


def test_files_that_are_no_bank_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no bank .*assay bank sample MODEL"):
        SampleBank.read(tmp_path / "nowhere.parquet")
    (tmp_path / "text.parquet").write_text("problem,answer")
    with pytest.raises(DataError, match=r"damaged, or a file of another kind.* write it again"):
        SampleBank.read(tmp_path / "text.parquet")
    pq.write_table(pa.table({"prompt": ["1+1"]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="a table, but no bank"):
        SampleBank.read(tmp_path / "rows.parquet")


ZSTD = b"(\xb5/\xfd"  # how a compressed page of a column begins


def test_a_changed_bit_or_a_lost_end_is_seen(tmp_path: Path) -> None:
    """In a page of a column, in what was asked, and in the last byte of the file."""
    path = tmp_path / "bank.parquet"
    made(SMALL).write(path)
    whole = path.read_bytes()
    for where in (whole.index(ZSTD) + len(ZSTD) + 8, whole.index(b"make a") + 5):
        path.write_bytes(whole[:where] + bytes([whole[where] ^ 1]) + whole[where + 1 :])
        with pytest.raises(DataError, match=r"damaged.*write it again"):
            SampleBank.read(path)
    path.write_bytes(whole[:-1])
    with pytest.raises(DataError, match=r"damaged.*write it again"):
        SampleBank.read(path)


def test_a_later_format_asks_for_a_later_assay(tmp_path: Path) -> None:
    path = tmp_path / "bank.parquet"
    made(SMALL).write(path)
    with pytest.raises(DataError, match=r"written by a later Assay, 9\.1: it has format 7.*Upgrade"):
        SampleBank.read(rewritten(path, format=7, version="9.1"))
    with pytest.raises(DataError, match="what was asked cannot be read"):
        SampleBank.read(rewritten(path, format=1, problems=None))
    made(SMALL).write(path)
    with pytest.raises(DataError, match="5 different samples of each of 2 problems were expected"):
        SampleBank.read(rewritten(path, samples=5))
    made(SMALL).write(path)
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["logp"]), path)
    with pytest.raises(DataError, match="other columns"):
        SampleBank.read(path)


# --- estimates ----------------------------------------------------------------------------------------------


def test_the_estimates_of_one_bank_by_hand() -> None:
    """n = 4 of two problems, c = 2 and 0; the answers of the first are 24, 24, 23 and none."""
    found = shown(made(SMALL))
    passes = found["pass"]
    assert [passes[k]["mean"] for k in ("1", "2", "4")] == pytest.approx([1 / 4, (1 - 1 / 6) / 2, 1 / 2])
    # v = q_k^2 - q_2k: of the first problem (1/2)^2 - 1/6 = 1/12 at k = 1 and (1/6)^2 - 0 at k = 2; of the second 0
    assert passes["1"]["error_samples"] == pytest.approx(math.sqrt(1 / 12) / 2)
    assert passes["2"]["error_samples"] == pytest.approx(1 / 12)
    assert passes["4"]["error_samples"] is None
    assert passes["1"]["error_problems"] == pytest.approx(math.sqrt(1 / 8) / math.sqrt(2))
    assert found["avg"] == passes["1"]
    assert [found["all"][k]["mean"] for k in ("1", "2", "4")] == pytest.approx([1 / 4, 1 / 12, 0])
    assert found["maj"]["4"]["mean"] == pytest.approx(1 / 2)
    assert found["posterior"]["mean"] == pytest.approx((3 / 6 + 1 / 6) / 2)
    a, b = found["fitted"]["a"], found["fitted"]["b"]

    def missed(wrong: int) -> float:
        """E (1 - p)^8 under Beta(a + 4 - wrong, b + wrong)."""
        logs = (math.lgamma(b + wrong + 8), -math.lgamma(b + wrong), math.lgamma(a + b + 4), -math.lgamma(a + b + 12))
        return math.exp(sum(logs))

    assert found["fitted"]["beyond"]["8"] == pytest.approx(1 - (missed(2) + missed(4)) / 2)
    assert found["area"] == pytest.approx(((1 / 4 + 5 / 12) / 2 + (5 / 12 + 1 / 2) / 2) / 2)
    assert found["unsolved"] == {"problems": [problem("b").id], "bound": pytest.approx(1 - 0.05**0.25)}
    assert found["truncated"] == 1 / 8 and found["invalid_share"] == 0 and not found["incomplete"]


def test_samples_without_a_verdict_are_told_and_not_averaged() -> None:
    found = shown(made({"a": [1, 1, 0, LOST], "b": [LOST] * 4}))
    assert found["avg"]["mean"] == pytest.approx(2 / 3)
    assert (found["invalid"], found["invalid_share"], found["unjudged"]) == (5, 5 / 8, 1) and found["incomplete"]
    with pytest.raises(DataError, match="none of the 2 samples has a verdict"):
        shown(made({"a": [LOST, LOST]}))


def test_the_comparison_of_two_banks_by_hand() -> None:
    found = compared(made(FIRST), made(OTHER, model="trained", seed=1), worth=1.0)
    assert found["pass"]["1"] == [1 / 2, 5 / 8] and found["pass"]["2"] == [3 / 4, 3 / 4]
    assert found["difference"]["pass"]["1"]["mean"] == pytest.approx(1 / 8)
    # solved by the halves: of the first even b d, odd c d; of the other even a d, odd a c d
    assert found["changed"] == {
        "gained": 1,
        "lost": 1,
        "halves": {"gained": (2 + 1) / 2, "lost": (1 + 1) / 2, "by_luck": [(1 + 1) / 2, (1 + 0) / 2]},
    }
    # omega^2 = var(1, -1/2, 0, 0) - 1/8 - 1/16 = 19/48 - 9/48, sigma^2 = 1/4 and 1/8; of two k the factor is
    # (2.241 + 0.842)^2 = 9.504
    assert found["settle"] == {"worth": 1.0, "problems": math.ceil(9.504 * 19 / 48), "samples": 2}
    assert found["difference"]["family"] == "2 differences between the banks, one for each k"
    assert compared(made(FIRST), made(OTHER), worth=0.5)["settle"]["samples"] is None
    assert not found["same_seed"] and found["left_out"] == [0, 0]


def test_random_numbers_that_two_banks_share_hide_no_spread() -> None:
    """Of 4 samples the even ones of one bank are held against the odd ones of the other: -1 and 1, so omega^2 = 2."""
    same = {"a": [1, 0, 1, 0], "b": [0, 1, 0, 1]}
    settle = compared(made(same), made(same), worth=1.0)["settle"]
    # sigma^2 = 4/12 of both; all four samples together would say that omega^2 is 0; of three k: (2.394 + 0.842)^2
    assert settle["problems"] == math.ceil(10.4697 * (2 + (1 / 3 + 1 / 3) / 4))


def test_the_chance_that_the_other_is_better_has_the_side_of_the_counts() -> None:
    many = {f"{i}": [int(i % 4 == 0)] * 4 for i in range(12)}
    better = {f"{i}": [int(i % 4 != 0)] * 4 for i in range(12)}
    assert compared(made(many), made(better))["better"]["chance"] > 0.95
    assert compared(made(better), made(many))["better"]["chance"] < 0.05


def test_banks_that_were_asked_otherwise_are_refused_by_name() -> None:
    first, other = made(FIRST), made(OTHER, temperature=0.6, max_new=16)
    assert not first.same_decoding(other) and first.same_decoding(made(OTHER, system="Hello."))
    with pytest.raises(DataError, match=r"temperature is 1\.0 and 0\.6; max_new is 8 and 16.*--differ"):
        compared(first, other)
    with pytest.raises(DataError, match=r"system is '' and 'Hello\.'"):
        compared(first, made(OTHER, system="Hello."))
    assert compared(first, other, differ=True)["unlike"] == {"temperature": [1.0, 0.6], "max_new": [8, 16]}
    with pytest.raises(DataError, match="share no problem"):
        compared(first, made({"x": [0, 1], "y": [0, 1]}))
    with pytest.raises(DataError, match="two problems and two samples of each; the banks share 1, with 2"):
        compared(first, made({"a": [0, 1], "y": [0, 1]}))
    assert compared(first, made({**OTHER, "y": [0, 1]}))["left_out"] == [0, 1]


def test_parity_says_where_a_conclusion_depends_on_the_temperature() -> None:
    found = parity("base", "child", flips, [1])["pass"]["1"]
    assert found["equal"]["word"] == "BETTER" and found["equal"]["temperatures"] == [1.0, 1.0]
    assert found["own"]["word"] == "WORSE" and found["own"]["temperatures"] == [0.4, 0.8]
    assert found["own"]["mean"] == -1.0
    assert found["conclusion"] == DEPENDS

    def steady(model: str, heat: float, split: str) -> SampleBank:
        return made({f"{split}{i}": [int(model == "child")] * 2 for i in range(20)}, temperature=heat)

    agreed = parity("base", "child", steady, [1, 2])["pass"]
    assert [agreed[k]["conclusion"] for k in ("1", "2")] == ["BETTER", "BETTER"]
    assert agreed["1"]["own"]["temperatures"] == [1.0, 1.0], "of equal temperatures the highest"


def test_parity_refuses_models_that_are_not_asked_alike() -> None:
    def spoken(model: str, heat: float, split: str) -> SampleBank:
        return made({"a": [0, 1], "b": [1, 1]}, temperature=heat, system="Think." if model == "child" else "")

    with pytest.raises(DataError, match=r"system is '' and 'Think\.'.*--system"):
        parity("base", "child", spoken, [1])
