"""Forgetting in a run through several tasks: the score of each task after each stage, and the loss of it.

from assay.lab.forgetting import measured
measured(Path("runs/continual-1"))["forgotten"]  # {"countdown": 0.12, "mod-chain": 0.0}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError

Scores = Mapping[str, float]
"""Task -> its score."""


def forgotten(after: Sequence[Scores]) -> dict[str, float]:
    """f_t = max_{s < S} R_{s,t} - R_{S,t}, with R_{s,t} the score of task t after stage s and S the last one
    (1801.10112). Below 0: the last stage has raised even the best score.
    """
    if len(after) < 2:
        raise DataError(
            f"forgetting is what a later stage loses: expected scores after 2 stages or more, not {len(after)}."
        )
    return {task: max(scores[task] for scores in after[:-1]) - after[-1][task] for task in after[-1]}


def after_stages(evals: Sequence[Mapping[str, Any]], ends: Sequence[int], *, k: str = "1") -> list[dict[str, float]]:
    """The pass@k of each task of the validation problems after each stage. `ends` are the steps after the stages.

    Of each stage the last evaluation within it counts. A stage without one is refused.
    """
    scores, begin = [], 0
    for number, end in enumerate(ends, start=1):
        within = [
            evaluation for evaluation in evals if evaluation["set"] == "valid" and begin < evaluation["step"] <= end
        ]
        if not within:
            raise DataError(
                f"no evaluation fell into stage {number} (steps {begin + 1} to {end}). Set --evaluation.every to the "
                "length of a stage, or to a number that divides it."
            )
        last = max(within, key=lambda evaluation: evaluation["step"])
        scores.append({task: told["pass"][k]["mean"] for task, told in last["tasks"].items()})
        begin = end
    return scores


def measured(run: Path) -> dict[str, Any]:
    """The scores of each task after each stage of a run, and the loss by forgetting of each task."""
    from assay.record.folder import RunFolder
    from assay.run.configure import from_data
    from assay.run.experiment import Experiment

    folder = RunFolder.read_only(run)
    recipe = from_data(Experiment, folder.experiment).recipe
    shares = np.cumsum([stage.share for stage in recipe.stages])
    ends = np.round(shares / shares[-1] * recipe.scale.num_steps).astype(int).tolist()
    after = after_stages(folder.read("evals"), ends)
    stages = [stage.name for stage in recipe.stages]
    return {"stages": stages, "after": after, "forgotten": forgotten(after)}
