"""Reports on sample banks with the name of who found their answers right."""

from __future__ import annotations

from typing import Any

from assay.record.turns import told_of_turns
from assay.scoring.bank_reports import compared, shown
from assay.scoring.samples import SampleBank
from assay.view.bank_tables import compared_table, shown_table
from assay.view.judged import name_of_one, spoken
from assay.view.plays import PLAYS, play_lines

Told = tuple[dict[str, Any], str]
"""A report, and its table for a person."""


def show(bank: SampleBank, ks: list[int]) -> Told:
    """What one bank says of its model."""
    told = plays_in(bank)
    found = shown(bank, ks) | ({PLAYS: told} if told else {})
    return with_judge(found, "\n".join([shown_table(found), *play_lines(found)]), judge_of(bank))


def plays_in(bank: SampleBank) -> dict[str, int | float]:
    """What a bank says of the worlds that replied, as exams do; empty where nobody replied."""
    names = ("turns", "status", "kind")
    rows = [row for row in bank.table.select(names).to_pylist() if row["turns"] is not None]
    lost = sum((row["status"], row["kind"]) == ("invalid", "world") for row in rows)
    return told_of_turns([row["turns"] for row in rows], lost)


def compare(first: SampleBank, other: SampleBank, ks: list[int], *, worth: float, differ: bool) -> Told:
    """How the model of the other bank differs from that of the first."""
    found = compared(first, other, ks, worth=worth, differ=differ)
    judges = dict.fromkeys(map(judge_of, (first, other)))
    return with_judge(found, compared_table(found), " and ".join(judges))


def judge_of(bank: SampleBank) -> str:
    """Who found the answers of a bank right."""
    functions = [text.rpartition("=")[0] for text in bank.asked.judge[:-1]]  # the last says from where on one is right
    return name_of_one([str(share["task"]) for share in bank.asked.pool["shares"]], functions)


def with_judge(found: dict[str, Any], table: str, judge: str) -> Told:
    """A report and its table, with the name of the judge."""
    return found | {"judged_by": judge}, f"{table}\njudged by {spoken(judge)}"
