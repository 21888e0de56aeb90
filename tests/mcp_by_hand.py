"""An MCP server without the package `mcp`, which starts at once and may be hostile: python mcp_by_hand.py HOW [FILE].

Its one tool `say` returns the text that it is given. `HOW` says what a call does besides, and `FILE` counts the starts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"
STARTS = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SCHEMAS: dict[str, Any] = {
    "odd-schema": {
        "type": "object",
        "properties": {"text": True, "at": {"type": {"a": 1}, "enum": 3}},
        "required": ["x"],
    }
}
NAMES = {"no-tools": [], "twice": ["say", "say"], "spaces": ["say it"], "empty-name": [""]}


def write(message: Any) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def tools() -> list[dict[str, Any]]:
    about = "x" * 100_000 if HOW == "endless-words" else "Says it."
    schema = SCHEMAS.get(HOW, TEXT)
    return [{"name": name, "description": about, "inputSchema": schema} for name in NAMES.get(HOW, ["say"])]


def called(text: str, starts: int) -> dict[str, Any]:
    """The result of a call, unless the process does something else."""
    if HOW == "dies" or text == "die" or (HOW == "dies-once" and starts == 1):
        os._exit(3)
    if HOW == "hangs" or text == "hang":
        time.sleep(60)
    if HOW == "noise" or (HOW == "noise-once" and starts == 1):
        os.write(1, b"the reply is: 4\n")
        time.sleep(60)
    if HOW == "endless":
        for _ in range(40):
            os.write(1, b"x" * (1 << 20))
        time.sleep(60)
    if HOW == "wrong-result":
        return {"content": "a text"}
    if HOW == "long":
        text = text * 300_000
    return {"content": [{"type": "text", "text": text}], "isError": text == "bad"}


def answer(method: str, params: dict[str, Any], starts: int) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "by-hand", "version": str(starts)}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": tools(), **({"nextCursor": "more"} if HOW == "endless-list" else {})}
    return called(params["arguments"].get("text", ""), starts)


def main() -> None:
    if HOW == "mute":
        time.sleep(60)
    starts = 1
    if STARTS is not None:
        starts += int(STARTS.read_text()) if STARTS.exists() else 0
        STARTS.write_text(str(starts))
    for line in sys.stdin:
        said = json.loads(line)
        if "id" not in said:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": said["id"]}
        if said["method"] not in ("initialize", "tools/list", "tools/call"):
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        elif said["method"] == "tools/call" and HOW in ("refuses", "fails"):
            code = -32602 if HOW == "refuses" else -32603
            reply["error"] = {"code": code, "message": "the text must be shorter"}
        else:
            reply["result"] = answer(said["method"], said.get("params", {}), starts)
        write(reply)


if __name__ == "__main__":
    main()
