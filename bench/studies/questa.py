"""The base of the study of QuestA: it goes on from a hint."""

from __future__ import annotations

import dataclasses

from assay.methods.exploration.questa.partial_solution import CutAnywhere
from assay.run.bases import BASES

BASES["countdown-hinted"] = dataclasses.replace(
    BASES["countdown"],
    name="countdown-hinted",
    summary="expressions that reach a target, some with the beginning of one in the prompt, cut anywhere",
    ask=(CutAnywhere(share=0.4),),
)
