"""Assay: one engine and one laboratory for reinforcement learning with verifiable rewards.

import assay
run = assay.train("dapo", task="countdown", levels=(3, 4), steps=100)
print(run.scores())
"""

from __future__ import annotations

__version__ = "0.1.0"

from assay.api import Run, resume, train

__all__ = ["Run", "__version__", "resume", "train"]
