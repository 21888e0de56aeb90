"""Reports on sample banks with the name of who found their answers right."""

from __future__ import annotations

from typing import Any

from assay.scoring.bank_reports import compared, shown
from assay.scoring.samples import SampleBank
from assay.view.bank_tables import compared_table, shown_table
from assay.view.judged import name_of_one, spoken

Told = tuple[dict[str, Any], str]
"""A report, and its table for a person."""


def show(bank: SampleBank, ks: list[int]) -> Told:
    """What one bank says of its model."""
    found = shown(bank, ks)
    return with_judge(found, shown_table(found), judge_of(bank))


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
