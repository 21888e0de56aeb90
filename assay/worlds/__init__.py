"""Worlds: what answers back while a policy writes. Tools, searches, provers, users and opponents are such.

A world says what it wants next from whom, and never calls a model. The collector asks it, lets the seat that it named
write, and hands back what was written.

    from assay.worlds import Ask, Reply, World, check_world, tools
"""

from __future__ import annotations

from assay.worlds.play import Act, Ask, Call, Line, Numbers, Play, Reply, Seat, Spec, Tool, World
from assay.worlds.speech import CHAT, COMPACT, FENCE, JSON, TAGS, Speech
from assay.worlds.tools import Scene, ToolError, takes_text, tools

__all__ = [
    "CHAT",
    "COMPACT",
    "FENCE",
    "JSON",
    "TAGS",
    "Act",
    "Ask",
    "Call",
    "Line",
    "Numbers",
    "Play",
    "Reply",
    "Scene",
    "Seat",
    "Spec",
    "Speech",
    "Tool",
    "ToolError",
    "World",
    "takes_text",
    "tools",
]
