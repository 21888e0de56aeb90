"""The program of a process that runs plays and does not keep to the way in which it is spoken with: it answers twice,
under another's ticket, in half a line, with noise, or what cannot be read. `LYING_HOST` says how.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, BinaryIO

from assay.collect import play_host

NOISE = b"x" * (1 << 20)
SEEN: dict[int, list[Any]] = {}  # play -> its last answer


class Lying:
    """Where answers are written. Those of a start are left as they are, so that every play begins."""

    def __init__(self, pipe: BinaryIO, how: str) -> None:
        self.pipe, self.how = pipe, how

    def write(self, line: bytes) -> None:
        data = json.loads(line)
        lies = isinstance(data, list) and isinstance(data[2], dict) and SEEN.get(data[1]) is not None
        if isinstance(data, list):
            SEEN[data[1]] = data
        self.pipe.write(self.altered(line, data) if lies else line)

    def flush(self) -> None:
        self.pipe.flush()
        if self.how == "half":
            self.how = "plain"

    def altered(self, line: bytes, data: list[Any]) -> bytes:
        ticket, play, made = data
        others = [other for other in SEEN if other != play]
        lies = {
            "twice": line + line,
            "later ticket": _line([ticket + 1000, play, made]),
            "ticket of another": _line([SEEN[others[0]][0] if others else -1, play, made]),
            "play of another": _line([ticket, others[0] if others else -1, made]),
            "noise": NOISE + b"\n" + line,
            "no UTF-8": b'["\xff\xfe", 1, 2]\n' + line,
            "nested": b"[" * 100_000 + b"\n",
            "no list": b"7\n",
            "words": _line([str(ticket), play, made]),
            "no reply": _line([ticket, play, 7]),
            "no ask": _line([ticket, play, {"ask": {"say": 3}}]),
            "no field": _line([ticket, play, {"ask": None, "nothing": 1}]),
        }
        if self.how in ("half", "half and end"):
            self.pipe.write(line[: len(line) // 2])
            self.pipe.flush()
            if self.how == "half and end":
                os._exit(0)
            time.sleep(600)
        return lies[self.how]


def _line(data: Any) -> bytes:
    return json.dumps(data).encode() + b"\n"


def main() -> None:
    plain, how = play_host.pipes, os.environ["LYING_HOST"]
    play_host.pipes = lambda: (lambda orders, answers: (orders, Lying(answers, how)))(*plain())  # type: ignore
    play_host.main()


if __name__ == "__main__":
    main()
