"""The record of a foreign program, and the two questions before any use: is it there, and does it verify as it should?

A foreign program (a solver, a prover, a simulator, a database) is never imported by the trainer. Its module has a
function of type `workers.Answer`, which runs in worker processes of its own: no two externals share a process, because
some of their libraries cannot be loaded together. Everything that a verifier asks of it is a job of plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError
from assay.host.workers import Outcome, Workers

Json = Any


@dataclass(frozen=True)
class External:
    """A foreign program that verifies or answers.

    Example:
        External("metamath", "proofs in Metamath databases", install="apt-get install metamath", version=version,
                 answer="assay.externals.metamath:answer", passes={"proof": "ax-mp"}, fails={"proof": "?"},
                 accepts=lambda result: result["proved"])
    """

    name: str
    purpose: str  # the questions that it decides or answers, in a few words
    install: str  # the line that installs it
    version: Callable[[], str | None]  # the version that is installed; None if it is missing
    answer: str  # `module:function` of type `workers.Answer`
    passes: Json  # a job that it must accept
    fails: Json  # a job that it must refuse
    accepts: Callable[[Json], bool]  # whether the result of a job says yes
    tells: Callable[[Json], str] | None = None  # facts that decide verdicts too, from the case that passed
    deadline: float = 10.0  # processor seconds of a job, with those of the programs that it runs to their end
    memory_mb: int = 1024  # of one of its processes
    processes: int = 0  # at most; 0: as many as this machine has processors
    keeps: bool = False  # whether its process keeps a session from job to job
    loads: tuple[str, ...] = ()  # modules that its first job imports

    def workers(self) -> Workers:
        return Workers(
            self.answer,
            count=self.processes,
            deadline=self.deadline,
            memory_mb=self.memory_mb,
            keeps=self.keeps,
            loads=self.loads,
        )


@dataclass(frozen=True)
class Found:
    """The state of an external on this machine: `Found("missing", advice="apt-get install metamath")`."""

    state: Literal["ok", "missing", "broken"]
    version: str = ""
    problem: str = ""  # of one that is broken: what the self-test showed
    advice: str = ""


def examine(external: External, workers: Workers | None = None) -> Found:
    """Looks whether the external is installed, and lets it verify the two cases of its record.

    It does so in processes that end afterwards, or in the `workers` that are given.
    """
    version = external.version()
    if version is None:
        return Found("missing", advice=external.install)
    with nullcontext(workers) if workers else external.workers() as used:
        try:
            outcomes = used.map([external.passes, external.fails])
        except ConfigError as error:  # a process that does not start: a library that cannot be loaded
            return Found("broken", version, str(error).rstrip("."), external.install)
    if problem := _problem(external, outcomes):
        return Found("broken", version, problem, external.install)
    return Found("ok", f"{version}, {external.tells(outcomes[0].result)}" if external.tells else version)


def _problem(external: External, outcomes: Sequence[Outcome]) -> str:
    for outcome, wanted in zip(outcomes, (True, False), strict=True):
        case = "the case that must pass" if wanted else "the case that must fail"
        if outcome.status != "done":
            return f"{case} ended without an answer ({outcome.status}{': ' if outcome.detail else ''}{outcome.detail})"
        if external.accepts(outcome.result) != wanted:
            return f"{case} was {'refused' if wanted else 'accepted'}: {outcome.result}"
    return ""
