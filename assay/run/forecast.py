"""How long a run will take, from the time that the answers of the probe took."""

from __future__ import annotations

from assay.run.experiment import Experiment

WORTH = 15.0  # minutes: a run that may take longer says so before it starts
LEARNING = 2.5  # seconds of learning for each second of sampling, where every group teaches


def forecast(experiment: Experiment, answers: int, seconds: float, *, place: str) -> str | None:
    """A sentence on a run that may take more than a quarter of an hour, where `answers` took so many seconds on a
    processor; None for a shorter one. It is a bound: a group whose answers are all right, or all wrong, is not learnt
    from, and takes the time of sampling alone. On a GPU a few answers take as long as many, and say nothing.
    """
    if not answers or not place.startswith("cpu"):
        return None
    scale, plan, each = experiment.recipe.scale, experiment.evaluation, seconds / answers
    step = (1 + LEARNING) * each * scale.num_prompts * scale.oversample * scale.group_size
    during = scale.num_steps // plan.every if plan.every else 0
    exam = each * plan.final_problems * plan.final_samples
    between = each * plan.num_problems * plan.num_samples
    minutes = (scale.num_steps * step + 2 * exam + during * between) / 60
    if minutes <= WORTH:
        return None
    exams = f"exams of {exam:.0f} s before and after" + (f", {during} of {between:.0f} s between" if during else "")
    return (
        f"this run may take up to {_time(minutes)}: {scale.num_steps} steps of up to {step:.0f} s, {exams}, as "
        f"{answers} answers took {seconds:.1f} s. It is shorter with --steps, --scale.num-prompts, --scale.max-new and "
        "--evaluation.final-problems"
    )


def _time(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
