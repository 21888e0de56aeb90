"""Commands that are killed at a line of the program, each in a forked child of one process that never computes itself.

Run as a program with a cache folder: reads jobs as JSON lines {"commands", "within", "at", "record"} and writes a line
for each, [[exit code, lines], ...]. All commands of a job run at once. The first is killed when it comes to line `at`
of those that it runs within the named files; without `at` its lines are counted. `record` holds the fields of a
pretrained model that the commands know beside their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

KILLED = -signal.SIGKILL


class Lines:
    """Counts the lines that run within some files, and kills this process at one of them."""

    def __init__(self, within: Sequence[str], at: int | None) -> None:
        self.within, self.at, self.count = tuple(within), at, 0

    def entered(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename.endswith(self.within) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


def child(command: Sequence[str], within: Sequence[str], at: int | None, told: int) -> None:
    """What a forked child does: the command, and then it writes how many lines it counted."""
    import torch

    from assay.cli.main import main

    torch.set_num_threads(1)
    lines, code = Lines(within, at), 1
    try:
        sys.settrace(lines.entered if within else None)
        code = main(list(command))
        sys.settrace(None)
        os.write(told, str(lines.count).encode())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_job(job: dict[str, Any]) -> list[tuple[int, int]]:
    from assay.run import pretrained
    from assay.run.configure import from_data

    if record := job.get("record"):
        pretrained.PRETRAINED[record["name"]] = from_data(pretrained.Pretrained, record)
    begun = []
    for place, command in enumerate(job["commands"]):
        heard, told = os.pipe()
        if (pid := os.fork()) == 0:
            os.dup2(2, 1)  # standard output is for results
            first = place == 0
            child(command, job.get("within", ()) if first else (), job.get("at") if first else None, told)
        os.close(told)
        begun.append((pid, heard))
    done = []
    for pid, heard in begun:
        _, status = os.waitpid(pid, 0)
        with os.fdopen(heard, "rb") as pipe:
            done.append((os.waitstatus_to_exitcode(status), int(pipe.read() or 0)))
    return done


class Server:
    """The program, started: `server.run(["get", "tiny"], within=["run/fetch.py"], at=7)`."""

    def __init__(self, cache: Path, log: Path, program: str = __file__) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(Path(__file__).parents[1])
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, program, str(cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                text=True,
            )

    def run(self, *commands: Sequence[object], **job: Any) -> list[tuple[int, int]]:
        """(exit code, lines counted) of each command; the exit code of one that was killed is `KILLED`."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"commands": [[*map(str, c)] for c in commands], **job}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, self.log.read_text()
        return [(code, lines) for code, lines in json.loads(answer)]

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def main() -> None:
    import assay.cli.verbs
    import assay.engine.native.engine
    import assay.loop
    import assay.policy
    import assay.run.fetch
    import assay.run.recorder  # noqa: F401 - once here instead of in every child
    from assay.run import pretrained

    pretrained.cache_folder = lambda: Path(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(run_job(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
