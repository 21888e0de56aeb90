"""`assay serve`: its arguments, and a server until it is stopped."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument, one_of
from assay.cli.problems import SYSTEM
from assay.errors import ConfigError, UsageError
from assay.host import terminal
from assay.host.cache import state_folder

if TYPE_CHECKING:
    from assay.lab.serving import Serving

VARIABLE = "ASSAY_SERVE_TOKEN"
ARGUMENTS: list[Argument] = [
    (
        ("--host",),
        {"default": "127.0.0.1", "help": "the address to listen at; default 127.0.0.1, this machine alone"},
    ),
    (("--port",), {"type": int, "default": 0, "help": "the port to listen at; default 0, any free one"}),
    (
        ("--token",),
        {
            "help": f"what clients must name as their API key, which others here may see; default: {VARIABLE} of the "
            "environment, or one that is made and written to a private file",
        },
    ),
    (
        ("--max-new",),
        {
            "type": int,
            "help": "the most tokens of an answer if a request names none; default: what the context holds",
        },
    ),
    SYSTEM,
    (
        ("--precision",),
        one_of(
            "precision",
            ("auto", "fp32", "bf16"),
            see="assay serve --help",
            default="auto",
            help="the format of the numbers; fp32 rounds least; default auto, bf16 where the machine has it",
        ),
    ),
]


def run_serve(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A document when the server listens; it answers until it is stopped."""
    from assay.lab.serving import serving

    if not 0 <= arguments.port < 1 << 16:
        raise UsageError(f"--port is a number from 0 to 65535, not {arguments.port}.")
    if arguments.max_new is not None and arguments.max_new < 1:
        raise UsageError(f"--max-new must be at least 1, not {arguments.max_new}.")
    given = os.environ.get(VARIABLE) if arguments.token is None else arguments.token
    if given is not None and not re.fullmatch(r"[!-~]+", given):
        raise ConfigError("a token is ASCII without blanks, and not empty: `openssl rand -hex 32` makes one.")
    how = {"max_new": arguments.max_new, "system": arguments.system, "precision": arguments.precision}
    with (
        serving(arguments.model, host=arguments.host, port=arguments.port, token=given, **how) as door,
        ExitStack() as end,
    ):
        file = None
        if given is None:
            file = _private(door.token, door.server.server_address[1])
            end.callback(file.unlink, missing_ok=True)
        stopped = end.enter_context(_until_stopped())
        _tell(door, file)
        yield {"address": door.address, "model": door.model, "token_file": file and str(file), "pid": os.getpid()}
        stopped.wait()
    terminal.say("stopped.")


def _private(token: str, port: int) -> Path:
    """The file that holds a token, which this user alone can read."""
    folder = state_folder() / "serve"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"token-{port}"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token + "\n")
    return path


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set."""
    stopped = threading.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in numbers]
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _tell(door: Serving, file: Path | None) -> None:
    token = f'"$(cat {shlex.quote(str(file))})"' if file else "TOKEN"
    for line in (
        f"{door.model} is served at {door.base_url}; Ctrl-C ends it.",
        f"the token is in {file}." if file else "the token is the one that was given.",
        f"curl {door.base_url}/models -H Authorization:\\ Bearer\\ {token}",
    ):
        terminal.say(line)
    if not door.address.startswith(("http://127.", "http://localhost:")):
        terminal.say("warning: others can reach this address, and what they send and read is not encrypted.")
