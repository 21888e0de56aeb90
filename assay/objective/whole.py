"""Losses that replace ratio, gate and advantage: ordinary differentiable functions of the log-probs of whole rows.

A loss whose rows do not know of each other is computed chunk by chunk. One that compares rows has the scope of the
step: it sees all rows of the optimiser step at once, its derivative is a coefficient per token, and the chunks then
take the likelihood weighted by these. So no group has to fit into a chunk.
"""

from __future__ import annotations

from assay.objective.groups import PACS, RAPID, pacs, rapid
from assay.objective.preferences import DPO, IPO, KTO, dpo, ipo, kto
from assay.objective.propagated import Propagated, propagated
from assay.objective.regress import FlowRL, Rover, flowrl, rover
from assay.objective.regularised import RegularisedReinforce, regularised_reinforce
from assay.part import Registry

WHOLES: Registry = {
    "pacs": (PACS, pacs),
    "rapid": (RAPID, rapid),
    "rover": (Rover, rover),
    "flowrl": (FlowRL, flowrl),
    "propagated": (Propagated, propagated),
    "regularised-reinforce": (RegularisedReinforce, regularised_reinforce),
    "dpo": (DPO, dpo),
    "ipo": (IPO, ipo),
    "kto": (KTO, kto),
}
"""Functions (view, *, weight, ...) -> the loss, denominators included; `weight` [M] is that of the aggregation."""
