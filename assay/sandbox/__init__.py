"""The sandbox: runs programs that a model wrote. A program and its input go in; a status and its output come out.

What is expected of a program never goes in.
"""

from assay.sandbox.levels import chosen, forget, opened, probed
from assay.sandbox.limits import Chain, Execution, Limits, Ran
from assay.sandbox.pool import Sandbox
from assay.sandbox.probe import Probed, probe
from assay.sandbox.session import CellOutcome, Session

__all__ = [
    "CellOutcome",
    "Chain",
    "Execution",
    "Limits",
    "Probed",
    "Ran",
    "Sandbox",
    "Session",
    "chosen",
    "forget",
    "opened",
    "probe",
    "probed",
]
