"""What a run writes: its folder, its checkpoints, its metrics and rollouts."""

from assay.record.checkpoint import Best, Checkpoint
from assay.record.folder import RunFolder
from assay.record.lock import RunLocked
from assay.record.rollouts import rollout_table
from assay.record.signals import StopFlag

__all__ = ["Best", "Checkpoint", "RunFolder", "RunLocked", "StopFlag", "rollout_table"]
