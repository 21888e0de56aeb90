"""The program of an agent: a process that is given a problem and an address, and asks there for what it writes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

TOLD = 400  # characters of what a program said last, in messages
LONGEST = 1 << 20  # bytes of the end of an output that are read
# The kernel ends the program with the process that started it, also if that one is killed.
GUARD = (
    "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, signal.SIGKILL) if sys.platform == 'linux' else 0; "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
APART = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH")  # of this environment: a program may live in another


class AgentProgram:
    """A running agent.

    agent = AgentProgram(["python", "agent.py"], problem, address="http://127.0.0.1:41201/plays/4f/v1", token="...")
    """

    def __init__(
        self, command: Sequence[str], problem: Mapping[str, Any], *, address: str, token: str, model: str
    ) -> None:
        told = json.dumps(problem, ensure_ascii=False)
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # they are closed with the program
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        line = [sys.executable, "-I", "-S", "-c", GUARD, *command]
        names = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": token, "OPENAI_MODEL": model}
        self.process = subprocess.Popen(
            line,
            env=_environment() | names,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=self._err,
        )
        assert self.process.stdin is not None
        self._problem = told.encode() + b"\n"

    def tell(self) -> None:
        """Writes the problem to the program's input, and closes it; returns when it was read, or the program ended."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, or does not read
            self.process.stdin.write(self._problem)
            self.process.stdin.close()

    def wait(self) -> int:
        return self.process.wait()

    def end(self) -> None:
        """Ends the program, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self.end()
        self._out.close()
        self._err.close()

    def failure(self) -> str:
        """Why a program that has ended did not end well; "" if it did."""
        code = self.process.returncode
        if code == 0:
            return ""
        last = _end_of(self._err).strip().splitlines()[-1:]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        return f"the agent {how}" + (f": {last[0][-TOLD:]}" if last else "")

    def reward(self) -> float | None:
        """The number in the last line that a program wrote, `{"reward": 0.5}`; None if it is none."""
        last = _end_of(self._out).strip().splitlines()[-1:]
        try:
            said = json.loads(last[0]) if last else None
        except (ValueError, RecursionError):
            return None
        value = said.get("reward") if isinstance(said, dict) else None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            return None
        return float(value)


def _environment() -> dict[str, str]:
    """That of this process, without what would lead a program to this one's packages, or past this machine."""
    here = ("127.0.0.1", "localhost")
    kept = {name: value for name, value in os.environ.items() if name not in APART}
    beside = {name: ",".join(filter(None, (kept.get(name, ""), *here))) for name in ("NO_PROXY", "no_proxy")}
    return kept | beside


def _end_of(file: Any) -> str:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - LONGEST))
    return file.read().decode("utf-8", "replace")
