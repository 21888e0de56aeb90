"""The tools of worlds that are spoken in the chat template's own way: the template tells the model of them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from assay.policy.conversation import Chat
from assay.source import Pool
from assay.tasks import task
from assay.worlds import Tool


def with_tools(chat: Chat, pool: Pool) -> Chat:
    """The chat settings with the tools of the pool's worlds; settings that name tools stay as they are."""
    known = [world for share in pool.shares if (world := task(share.task).world) is not None]
    worlds = [world.spoken(pool.wording) for world in known]
    tools = [tool for world in worlds if world.speech and world.speech.templated for tool in world.tools]
    if chat.tools or not tools:
        return chat
    return dataclasses.replace(chat, tools=json.dumps([described(tool) for tool in tools]))


def described(tool: Tool) -> dict[str, Any]:
    """A tool as chat templates and OpenAI's interface have it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.about, "parameters": dict(tool.schema)},
    }
