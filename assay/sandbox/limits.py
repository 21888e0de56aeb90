"""The limits of an untrusted program, the runs that a sandbox is asked for, and their outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from assay.errors import UsageError

LONGEST_PROGRAM = 256 << 10  # bytes
LONGEST_INPUT = 64 << 20  # bytes
LEAST_MEMORY = 64  # MiB: the interpreter alone maps half of it

Level = Literal["L2", "L1"]  # with namespaces, and without them
Status = Literal["exit", "signal", "compile", "time", "memory", "output", "size", "lost"]


@dataclass(frozen=True)
class Limits:
    """The limits of one run: `Limits(seconds=2.0, memory_mb=256)`.

    A program has one process and can write no file, unless these limits say otherwise. The seconds count the time that
    the program works or waits, and not the time that it is ready and the machine gives it no processor: a busy machine
    changes no outcome.
    """

    seconds: float = 4.0
    memory_mb: int = 512
    output_kb: int = 1024  # of standard output, of standard error and of the reply, each
    processes: int = 1  # more need level L2, and a sandbox of their own for each run
    files_mb: int = 0  # in a folder /tmp of the run's own; as `processes`

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and 0 < self.seconds <= 3600):
            raise UsageError(f"a program can be given more than 0 and at most 3600 seconds, not {self.seconds}.")
        if self.memory_mb < LEAST_MEMORY:
            raise UsageError(f"a program needs at least {LEAST_MEMORY} MiB, not {self.memory_mb}: Python takes most.")
        if self.output_kb < 1 or self.processes < 1 or self.files_mb < 0:
            raise UsageError(
                f"limits are at least 1 KiB of output, 1 process and 0 MiB of files, not {self.output_kb}, "
                f"{self.processes} and {self.files_mb}."
            )

    @property
    def narrow(self) -> bool:
        """Whether a run can leave nothing behind, so that the next run may use the same sandbox."""
        return self.processes == 1 and self.files_mb == 0


@dataclass(frozen=True)
class Execution:
    """A Python program with the bytes of its standard input: `Execution("print(int(input()) + 1)", b"41")`."""

    program: str | bytes
    input: bytes = b""
    limits: Limits = Limits()

    @property
    def source(self) -> bytes:
        if isinstance(self.program, bytes):
            return self.program
        return self.program.encode("utf-8", errors="surrogatepass")


@dataclass(frozen=True)
class Chain:
    """Runs that follow each other: `Chain((Execution(program, b"1"), Execution(program, b"2")), seconds=8.0)`.

    All of them together have `seconds`, beside the limits of each. After each run but the last `goes_on` says, from
    its number and its outcome, whether the next one is wanted.
    """

    runs: tuple[Execution, ...]
    seconds: float = math.inf
    goes_on: Callable[[int, Ran], bool] = lambda number, ran: True


@dataclass(frozen=True)
class Ran:
    """The outcome of a run. `Ran("exit", 0, output=b"42\\n")` says that the program ended, and not that it is right.

    `exit`: it ended with `code`; `signal`: it was ended by signal `code`; `compile`: it is no program; `time`,
    `memory`, `output`: it reached that limit; `size`: the program or its input is too long, and was not run; `lost`:
    the sandbox failed, which says nothing about the program.
    """

    status: Status
    code: int = 0
    output: bytes = b""
    errors: bytes = b""
    reply: bytes = b""  # its output to descriptor 3, which drivers use for their answers
    processor: float = 0.0  # seconds
    worked: float = 0.0  # seconds that it computed or waited, without those in which the machine gave it no processor
    detail: str = ""
