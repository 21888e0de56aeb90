"""A program as an MCP server: a line of JSON is a message. What is no message ends the connection.

The program stays in the process group of whoever starts it, so that it ends with a process of plays that is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyio.abc import Process

LONGEST = 16 << 20  # bytes of a message; a program that writes more without an end is ended
TOLD = 2000  # bytes of its error stream that are kept, for a message
GRACE = 1.0  # seconds in which a program may end by itself when its input is closed
HIDDEN = ("PYTHONPATH", "PYTHONHOME")  # of the environment: they would put packages of ours before those of a program


class Spoken:
    """What a program has said beside its answers, and why no more is read of it."""

    def __init__(self) -> None:
        self.why = ""
        self.lost = False  # nobody waits for it any more: it is killed without grace
        self._end: deque[bytes] = deque(maxlen=8)

    def note(self, chunk: bytes) -> None:
        self._end.append(chunk[-TOLD:])

    def __str__(self) -> str:
        lines = b"".join(self._end)[-TOLD:].decode(errors="replace").strip().splitlines()
        return "; ".join(filter(None, [self.why, *lines[-1:]]))


@contextlib.asynccontextmanager
async def pipes(words: list[str], spoken: Spoken) -> AsyncIterator[tuple[Any, Any]]:
    """Streams of the messages of a program that is started, as `mcp.Client` takes them."""
    import anyio

    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    process = await anyio.open_process(words, stderr=subprocess.PIPE, env=environment)
    heard, read = anyio.create_memory_object_stream[Any](16)
    write, written = anyio.create_memory_object_stream[Any](16)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_hear, process, heard, spoken)
        tasks.start_soon(_say, process, written)
        tasks.start_soon(_overhear, process, spoken)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await _ended(process, 0.0 if spoken.lost else GRACE)
            for stream in (heard, read, write, written):
                stream.close()
            tasks.cancel_scope.cancel()


async def _hear(process: Process, heard: Any, spoken: Spoken) -> None:
    """Hands on the messages of the program. It stops at what is none, and the session hears that nothing follows."""
    import anyio
    from mcp import types
    from mcp.shared.message import SessionMessage

    assert process.stdout is not None
    rest = bytearray()
    with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while not spoken.why:
            chunk = await process.stdout.receive()
            rest += chunk
            if len(rest) > LONGEST:
                spoken.why = f"it wrote more than {LONGEST >> 20} MiB without an end"
            if spoken.why or b"\n" not in chunk:
                continue
            *lines, rest = rest.split(b"\n")
            for line in filter(bytearray.strip, lines):
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    spoken.why = f"it wrote what is no message: {bytes(line[:60])!r}"
                    break
                await heard.send(SessionMessage(message))
    if not spoken.why:
        spoken.why = "it ended, or closed its output"
    heard.close()


async def _say(process: Process, written: Any) -> None:
    """Writes what the client says. The program may have ended: whoever hears it then says so."""
    import anyio

    assert process.stdin is not None
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for message in written:
            await process.stdin.send(
                message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            )


async def _overhear(process: Process, spoken: Spoken) -> None:
    """Reads the error stream, so that a program which writes much there is not held up."""
    import anyio

    assert process.stderr is not None
    with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            spoken.note(await process.stderr.receive())


async def _ended(process: Process, grace: float) -> None:
    """Closes the input of the program, and kills it if it does not end by that within so many seconds."""
    import anyio

    assert process.stdin is not None
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        await process.stdin.aclose()
    with anyio.move_on_after(grace):
        while process.returncode is None:
            await anyio.sleep(0.01)
    if process.returncode is None:  # not `process.kill`, which would reap it before the event loop can
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    with anyio.move_on_after(GRACE):
        await process.aclose()
