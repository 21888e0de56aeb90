"""The driver's side of the ranks: starts their processes, tells them what to do, and waits for them with a deadline."""

from __future__ import annotations

import pickle
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.engine.cluster.launcher import Here, Launcher, Needs, Placed
from assay.engine.sharded.rank import PROGRAM
from assay.errors import AssayError, ProcessLost
from assay.host import terminal
from assay.host.child import listen

GRACE = 2.0  # seconds after a rank's failure in which the death of another rank, its cause, may still show
TURN = 0.5  # seconds of one look at the channels


class RankLost(ProcessLost):
    """A rank of the learner died or hangs. The group is gone with it, and may be started again."""


class RankFailed(AssayError):
    """A rank of the learner raised an error of its own, which it would raise again. The group is gone with it."""


@dataclass(frozen=True)
class RankLayout:
    """How many ranks there are, and how they divide the work.

    RankLayout(size=8, replicate=2, device="cuda", threads=4, deadline=600)
    """

    size: int
    replicate: int = 1  # copies of the sharded weights; size / replicate ranks share each copy
    device: str = "cpu"
    threads: int = 1  # of each rank
    deadline: float = 600.0  # seconds of silence after which a rank is given up, and seconds for a collective

    @property
    def shards(self) -> int:
        return self.size // self.replicate


class Ranks:
    """The processes of a group of ranks.

    with Ranks(RankLayout(size=2)) as ranks:
        ranks.call("build", "policy", spec)                        # the same on every rank
        ranks.each("do", [("policy", "forward", ...), (...)])      # something else on each rank
    """

    def __init__(self, group: RankLayout, launcher: Launcher | None = None) -> None:
        """The ranks are processes of this machine, or run where `launcher` starts them."""
        self.group = group
        needs = Needs(cpus=group.threads, gpus=int(group.device.startswith("cuda")))
        launcher = launcher or Here()
        self._asking = threading.Lock()  # the thread that writes a checkpoint beside the loop asks, too
        self.meeting = launcher.meeting()
        self.children = self._started(launcher, needs)
        self.heard = [time.monotonic()] * group.size
        self.lost: AssayError | None = None
        try:
            host, meeting = self.children[0].host, str(self.meeting)
            about = {
                "replicate": group.replicate,
                "device": group.device,
                "threads": group.threads,
                "deadline": group.deadline,
            }
            calls = [("join", (rank, group.size, host, meeting), about) for rank in range(group.size)]
            self.facts = self._ask(calls, of=range(group.size))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def place(self) -> str:
        """The group in words, for run.json and for checkpoints: all that can change the bits of a gradient."""
        group, facts = self.group, self.facts[0]
        return f"{group.size} ranks, {group.replicate} x {group.shards}, {facts['backend']}"

    def call(self, method: str, *arguments: Any, **named: Any) -> list[Any]:
        """Makes the same call on every rank. Returns the results in the order of the ranks."""
        return self._ask([(method, arguments, named)] * self.group.size, of=range(self.group.size))

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]], **named: Any) -> list[Any]:
        """Makes a call on every rank, with arguments of its own. Returns the results in the order of the ranks."""
        return self._ask([(method, given, named) for given in arguments], of=range(self.group.size))

    def close(self) -> None:
        """Ends all processes of the group at once."""
        for child in self.children:
            child.close(now=True)
        shutil.rmtree(self.meeting, ignore_errors=True)

    def _started(self, launcher: Launcher, needs: Needs) -> Sequence[Placed]:
        try:
            return launcher.start(PROGRAM, self.group.size, needs)
        except BaseException:
            shutil.rmtree(self.meeting, ignore_errors=True)
            raise

    def _ask(self, calls: Sequence[tuple[Any, ...]], *, of: Sequence[int]) -> list[Any]:
        with self._asking:
            return self._asked(calls, of)

    def _asked(self, calls: Sequence[tuple[Any, ...]], of: Sequence[int]) -> list[Any]:
        if self.lost is not None:
            raise self.lost
        frame, last = b"", None
        for rank, call in zip(of, calls, strict=True):
            if call is not last:
                frame, last = pickle.dumps(call, protocol=5), call
            self.children[rank].line.send(frame)
        now = time.monotonic()
        for rank in of:
            self.heard[rank] = max(self.heard[rank], now)
        return self._answers(list(of))

    def _answers(self, of: Sequence[int]) -> list[Any]:
        answers: dict[int, tuple[str, Any]] = {}
        rank_of = {id(child): rank for rank, child in enumerate(self.children)}
        failed: float | None = None
        while len(answers) < len(of):
            for child, frame in listen(self.children, TURN):
                rank = rank_of[id(child)]
                self.heard[rank] = time.monotonic()
                reply = pickle.loads(frame)
                if reply[0] != "alive":
                    answers[rank] = reply
                if reply[0] == "failed":
                    failed = failed or time.monotonic()
            if (lost := self._lost()) is not None:
                self._give_up(lost)
            if failed is not None and time.monotonic() - failed > GRACE:
                break
        for rank, (kind, what) in sorted(answers.items()):
            if kind == "failed":
                terminal.tell(what)
                self._give_up(f"rank {rank} of {self.group.size} failed: {what.splitlines()[0]}", RankFailed)
        for kind, what in answers.values():
            if kind == "refused":
                raise what
        return [answers[rank][1] for rank in of]

    def _lost(self) -> str | None:
        """How a rank ended, or that ranks have fallen silent, in words; None if all live."""
        for rank, child in enumerate(self.children):
            if child.gone:
                return f"rank {rank} of {self.group.size}{child.where} {child.ending()}"
        now = time.monotonic()
        silent = [rank for rank, when in enumerate(self.heard) if now - when > self.group.deadline]
        if silent:
            named = ", ".join(f"{rank}{self.children[rank].where}" for rank in silent)
            seconds = self.group.deadline
            return f"rank {named} of {self.group.size} has not answered for {seconds:g} s (machine.deadline)"
        return None

    def _give_up(self, why: str, kind: type[AssayError] = RankLost) -> None:
        self.lost = kind(f"the learner is gone: {why}")
        self.close()
        raise self.lost
