"""The door: agents that are foreign programs play, and ask over OpenAI's interface for what the policy writes."""

from __future__ import annotations

from assay.worlds.door.play import MODEL, SCORE, DoorPlay, DoorSettings, world_of_door

__all__ = ["MODEL", "SCORE", "DoorPlay", "DoorSettings", "world_of_door"]
