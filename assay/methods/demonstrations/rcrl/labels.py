"""The label of each step by its worth, under which the step is learnt."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from assay.ask import Codec
from assay.ask.prompts import rendered
from assay.curate.parts import leave_out
from assay.methods.demonstrations.rcrl.completions import COMPLETION, place_of, step_ends
from assay.methods.demonstrations.rcrl.condition import BAD, GOOD, LABELS, labelled
from assay.part import Curator
from assay.prompt import Prompt
from assay.types import Problem, Row, by_group

Span = tuple[int, int]


def label_steps(rows: Sequence[Row], *, codec: Codec, threshold: float) -> list[Row]:
    """Replaces each answer by a row for each of its labels. Completions do not train, nor do steps without a judged
    completion.
    """
    groups = by_group([row for row in rows if _completes(row) and row.in_group])
    rights = {name: [row.right for row in group.members] for name, group in groups.items()}
    found = [{} if _completes(row) or not row.in_loss else _earned(row, rights, codec, threshold) for row in rows]
    counts = {label: sum(len(spans[label]) for spans in found if label in spans) for label in LABELS}
    result: list[Row] = []
    for row, spans in zip(rows, found, strict=True):
        result += [_under(row, label, spans[label], counts, codec) for label in LABELS if label in spans]
        result += [] if spans else leave_out([row], {0})
    return result


class LabelSteps(Curator):
    """Labels each step good or bad and trains each answer once under each label, on the steps with that label.

    A step is good if the share of right completions after it is above `threshold`; the last step goes by the verdict.
    The good and the bad steps of a step of the run have equal total weight, counted in steps of answers.

        curate=(LabelSteps(threshold=0.5),)
        --mechanism.curate label-steps --mechanism.curate.0.threshold 0.5
    """

    writes = ("rows",)

    threshold: float = 0.5
    does = label_steps
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return [labelled(prompt, label) for label in LABELS]


def _completes(row: Row) -> bool:
    return row.episode.request.tag == COMPLETION


def _earned(row: Row, rights: Mapping[str, Sequence[bool]], codec: Codec, threshold: float) -> dict[str, list[Span]]:
    """Label -> the places of the steps that earned it."""
    ends = step_ends(row.episode, codec)
    values = [rights.get(place_of(row.episode, at), ()) for at in ends[:-1]] + [[row.right]]
    spans: dict[str, list[Span]] = {}
    for start, end, value in zip([0, *ends], ends, values, strict=False):
        if len(value):
            spans.setdefault(GOOD if np.mean(value) > threshold else BAD, []).append((start, end))
    return spans


def _under(row: Row, label: str, spans: Sequence[Span], counts: Mapping[str, int], codec: Codec) -> Row:
    """The answer to the question with this label; only the given steps train."""
    episode, keep = row.episode, np.zeros(len(row.episode), bool)
    for start, end in spans:
        keep[start:end] = True
    context = rendered(labelled(episode.request.prompt, label), codec)
    weight = sum(counts.values()) / (2 * counts[label]) if all(counts.values()) else 1.0
    return row.mark(episode=dataclasses.replace(episode, context=context), keep=keep, weight=weight, tag=label)
