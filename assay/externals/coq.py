"""Coq: proofs by tactics in a persistent session, and whole files compiled and checked a second time.

A session takes 0.4 s to start and some milliseconds a tactic, so a worker keeps one. After each theorem it goes back to
its first state; a session that does not is replaced. Whether a sentence succeeded is read from the number of the state
in the prompt, not from words that a goal may contain too.

The answer of a session must not depend on earlier questions. So its messages about its own work, such as that it loads
something, are left out; and if a used session runs out of memory, a fresh one is asked.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.externals.external import External
from assay.externals.process import Limits, run, start, stop
from assay.externals.versions import of_program

Json = Any

SECONDS = 2.0  # of processor time, of a theorem
LIFE = 500  # theorems of a session
SHOWN = 4000  # characters of the goals that an open proof has
CLOSED = "Closed under the global context"
PREAMBLES = {
    "": (),  # what `coqtop` loads by itself
    # `lia` keeps what it has found in a file, which a session may not write
    "library": ("Require Import Arith Lia List.", "Import ListNotations.", "Unset Lia Cache.", "Unset Nia Cache."),
}
"""What a session has loaded before a theorem, by the name that a job gives it."""
OF_LIBRARY = "Coq.ssr.ssrunder.Under_rel."
"""How the axioms begin that `coqchk` names of the library: those of a module type, which no theorem of ours uses."""
_NAME = "theorem_of_ours"
_WALL = 15  # times SECONDS, by the clock
_OUTPUT = 4 << 20
_PROMPT = re.compile(rb"<prompt>[^<]*< (\d+) \|([^|]*)\| \d+ < </prompt>")
_TOLD = re.compile(r"<(infomsg|warning)>.*?</\1>", re.DOTALL)  # marks of -emacs around text beside goals and answers
_SPENT = ("Out of memory", "Stack overflow")  # errors of a used session that a fresh one may not have
_NONE = re.compile(r"\* [^:\n]*:\s*<none>")


class _Ended(Exception):
    """The session can answer no more: `time`, `output`, `starved`, `lost`, or `crash` if the program ended itself."""


def answered(said: str) -> str:
    """The answer of a session to a sentence, without its messages about its own work."""
    return _TOLD.sub("", said)


class _Session:
    def __init__(self, preamble: str) -> None:
        limits = Limits(seconds=int(SECONDS * LIFE), memory_mb=2048, file_mb=0)
        self.program = start(["sh", "-c", "exec coqtop -q -emacs 2>&1"], limits)
        self.process = self.program.process
        self.theorems = 0
        self.ended = False
        self.pending = b""
        self.began, self.spent = time.monotonic(), 0.0
        _, self.first, _ = self._read()
        for sentence in PREAMBLES[preamble]:
            printed, after, _ = self._say(sentence)
            if after <= self.first:
                raise RuntimeError(f"coq does not load '{sentence}': {printed[-300:]}")
            self.first = after

    def prove(self, statement: str, tactics: list[str]) -> Json:
        """Tries to prove the theorem; the status is `proved`, `statement`, `tactic`, `open` or `assumptions`.

        A proof that is `open` has `goals`, which the last of its tactics left, as the session printed them.
        """
        self.theorems += 1
        self.began, self.spent = time.monotonic(), self._processor_time()
        state, printed, goals = self.first, "", ""
        sentences = [f"Theorem {_NAME} : {statement}.", "Proof.", *tactics, "Qed."]
        for number, sentence in enumerate(sentences):
            printed, after, proving = self._say(sentence)
            if after <= state or (proving != _NAME) == (number < len(sentences) - 1):
                kind = "statement" if number < 2 else "open" if number == len(sentences) - 1 else "tactic"
                left = {"goals": self._goals(goals)} if kind == "open" else {}
                return self._reset({"status": kind, "place": number - 1, "said": printed[-500:], **left})
            state, goals = after, printed
        printed, _, _ = self._say(f"Print Assumptions {_NAME}.")
        status = "proved" if printed.strip() == CLOSED else "assumptions"
        return self._reset({"status": status, "place": len(tactics), "said": printed[-500:]})

    def _goals(self, printed: str) -> str:
        """The goals that the last tactic printed. One that changed nothing prints nothing, and they are asked for."""
        return (printed if printed.strip() else self._say("Show.")[0])[:SHOWN]

    def gave_up(self) -> bool:
        """Whether the program has ended, and nobody killed it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        return self.process.returncode not in (None, -signal.SIGKILL)

    def _reset(self, found: Json) -> Json:
        _, state, proving = self._say(f"BackTo {self.first}.")
        if state != self.first or proving:
            raise _Ended("lost")
        return found

    def _say(self, sentence: str) -> tuple[str, int, str]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(sentence.replace("\n", " ").encode() + b"\n")
        except BrokenPipeError:
            raise _Ended("lost") from None
        return self._read()

    def _read(self) -> tuple[str, int, str]:
        """(what was printed, the number of the state, the theorem that is being proved) up to the next prompt."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not (prompt := _PROMPT.search(self.pending)):
                if selector.select(0.2):
                    data = os.read(self.process.stdout.fileno(), 1 << 16)
                    self.pending += data
                    if not data:
                        raise _Ended("lost")
                    if len(self.pending) > _OUTPUT:
                        raise _Ended("output")
                if self._processor_time() - self.spent > SECONDS:
                    raise _Ended("time")
                if time.monotonic() - self.began > _WALL * SECONDS:
                    raise _Ended("starved")
        printed = answered(self.pending[: prompt.start()].decode(errors="replace"))
        self.pending = self.pending[prompt.end() :]
        return printed, int(prompt[1]), prompt[2].decode(errors="replace").strip()

    def _processor_time(self) -> float:
        """Seconds that the program has used."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended, which the reader notices
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_sessions: dict[str, _Session] = {}


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"statement": text, "tactics": [sentence, ...]} -> {"status", "place", "said"}, open proofs with "goals" too; or
    {"theorems": [[statement, [sentence, ...]], ...]} -> {"status", "said"} of all of them in one file, compiled and
    checked. Both may name a "preamble".
    """
    preamble = job.get("preamble", "")
    if "theorems" in job:
        return _checked(job["theorems"], preamble)
    session = _sessions.get(preamble)
    if session is None or session.theorems >= LIFE:
        session = _opened(preamble)
    outcome = _proved(session, job)
    used_up = session.theorems > 1 and any(words in outcome["said"] for words in _SPENT)
    if used_up or outcome["status"] in ("lost", "crash"):
        session = _opened(preamble)
        outcome = _proved(session, job)
    if session.ended:
        _close(preamble)
    return outcome


def _opened(preamble: str) -> _Session:
    """A fresh session, in place of the one that there may be."""
    _close(preamble)
    session = _sessions[preamble] = _Session(preamble)
    return session


def _proved(session: _Session, job: Json) -> Json:
    try:
        return session.prove(job["statement"], job["tactics"])
    except _Ended as ended:
        session.ended = True
        status = "crash" if str(ended) == "lost" and session.gave_up() else str(ended)
        return {"status": status, "place": -1, "said": ""}


def _close(preamble: str) -> None:
    session = _sessions.pop(preamble, None)
    if session is not None:
        stop(session.program)


def _checked(theorems: list[tuple[str, list[str]]], preamble: str) -> Json:
    """`checked` if `coqc` compiles the file, all assumptions are closed, and `coqchk` says <none> four times. The files
    of the library, which take it 20 s, are taken as checked, and their own axioms may be named.
    """
    parts = list(PREAMBLES[preamble])
    for i, (statement, tactics) in enumerate(theorems):
        name = f"{_NAME}_{i}"
        parts += [f"Theorem {name} : {statement}.", "Proof.", *tactics, "Qed.", f"Print Assumptions {name}.", ""]
    text = "\n".join(parts)
    module = "-norec Job.job" if preamble else "Job.job"
    command = f"coqc -q -Q . Job job.v && echo checking && coqchk -silent -o -Q . Job {module}"
    limits = Limits(seconds=30, memory_mb=4096, output_mb=4, file_mb=64)
    ended = run(["sh", "-c", command], {"job.v": text}, limits)
    if ended.status != "done":
        return {"status": ended.status, "said": ""}
    compiled, checking, _ = ended.output.partition("checking\n")
    summary = _without_library(ended.errors.partition("CONTEXT SUMMARY")[2], preamble)
    closed = compiled.split("\n") == [CLOSED] * len(theorems) + [""]
    sound = ended.code == 0 and bool(checking) and len(_NONE.findall(summary)) == 4 and summary.count("* ") == 5
    status = "checked" if closed and sound else "refused"
    return {"status": status, "said": (ended.errors + ended.output)[-1500:]}


def _without_library(summary: str, preamble: str) -> str:
    """The summary of the checker, without the axioms of the library that was loaded."""
    if not preamble:
        return summary
    lines = [line for line in summary.splitlines() if not line.strip().startswith(OF_LIBRARY)]
    return re.sub(r"\* Axioms:\s*\n\s*\n", "* Axioms: <none>\n\n", "\n".join(lines))


COQ = External(
    name="coq",
    purpose="proofs by tactics",
    install="apt-get install coq",
    version=lambda: of_program(["coqtop", "--version"], r"version (\S+)"),
    answer="assay.externals.coq:answer",
    passes={"statement": "forall P Q : Prop, P /\\ Q -> Q", "tactics": ["intros P Q H.", "destruct H.", "assumption."]},
    fails={"statement": "forall P Q : Prop, P \\/ Q -> Q", "tactics": ["intros P Q H.", "admit."]},
    accepts=lambda result: result["status"] == "proved",
    deadline=60.0,
    memory_mb=4096,
    keeps=True,
)
