"""Assay: one engine and one laboratory for reinforcement learning with verifiable rewards.

import assay
run = assay.train("dapo", task="countdown", levels=(3, 4), steps=100)
print(run.scores())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assay.api.examining import evaluate, export, push, sample, verify
    from assay.api.pictures import Picture
    from assay.api.recipes import explain, plan
    from assay.api.records import Records
    from assay.api.results import Result
    from assay.api.runs import Run, resume
    from assay.api.sample_banks import Bank, bank
    from assay.api.studies import compare, study, sweep
    from assay.api.training import train
    from assay.errors import AssayError
    from assay.lab.world_check import check_world
    from assay.run.callbacks import (
        EndEvent,
        EpisodesEvent,
        EvaluationEvent,
        SampledAnswer,
        SaveEvent,
        StepEvent,
        Stop,
    )

__all__ = [
    "AssayError",
    "Bank",
    "EndEvent",
    "EpisodesEvent",
    "EvaluationEvent",
    "Picture",
    "Records",
    "Result",
    "Run",
    "SampledAnswer",
    "SaveEvent",
    "StepEvent",
    "Stop",
    "__version__",
    "bank",
    "check_world",
    "compare",
    "evaluate",
    "explain",
    "export",
    "plan",
    "push",
    "resume",
    "sample",
    "study",
    "sweep",
    "train",
    "verify",
]

PLACES = {
    **dict.fromkeys(("Bank", "bank"), "assay.api.sample_banks"),
    **dict.fromkeys(("evaluate", "export", "push", "sample", "verify"), "assay.api.examining"),
    **dict.fromkeys(("explain", "plan"), "assay.api.recipes"),
    **dict.fromkeys(("compare", "study", "sweep"), "assay.api.studies"),
    **dict.fromkeys(("Run", "resume"), "assay.api.runs"),
    "Picture": "assay.api.pictures",
    "Records": "assay.api.records",
    "Result": "assay.api.results",
    "train": "assay.api.training",
    "AssayError": "assay.errors",
    "check_world": "assay.lab.world_check",
}
"""Name -> the module that has it; the names that are missing here are those of callbacks. Nothing is imported before it
is used, so that a command of a moment stays one.
"""


if not TYPE_CHECKING:  # else every name would be taken for one of ours

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            from assay.errors import near

            nearest = near(name, __all__)
            hint = f" Did you mean '{nearest}'?" if nearest else ""
            raise AttributeError(f"module 'assay' has no attribute '{name}'.{hint}")
        from importlib import import_module

        return getattr(import_module(PLACES.get(name, "assay.run.callbacks")), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
