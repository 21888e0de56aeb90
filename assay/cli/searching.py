"""The arguments of `assay search`."""

from __future__ import annotations

from assay.cli.arguments import Argument
from assay.cli.problems import TASKS
from assay.cli.setups import OF_EXAMS
from assay.cli.verify import REWARD

ARGUMENTS: list[Argument] = [
    (("model",), {"metavar": "RUN", "help": "a run that trained a model with a value head beside the policy"}),
    *TASKS,
    *REWARD,
    *OF_EXAMS,
    (
        ("--guide",),
        {
            "default": "preference-model",
            "metavar": "NAME",
            "help": "the model of the run that scores steps and answers; default preference-model",
        },
    ),
    (("--width",), {"type": int, "default": 8, "help": "number of next steps that are tried at once; default 8"}),
    (("--rollouts",), {"type": int, "default": 8, "help": "number of walks through each tree; default 8"}),
    (("--problems",), {"type": int, "help": "number of problems; default 256, or all rows of --data"}),
    (("--max-new",), {"type": int, "help": "the most tokens of an answer; default: that of the run"}),
    (("--temperature",), {"type": float, "default": 1.0, "help": "the sampling temperature; default 1.0"}),
    (("--seed",), {"type": int, "default": 0, "help": "the seed of all random numbers; default 0"}),
]
