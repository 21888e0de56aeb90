"""Programs of Python in steps that a policy wrote, run in the sandbox: which steps fail, and what the program holds.

Each step runs behind the steps before it. Steps reach no parser outside of the sandbox. Many programs share a process
there as long as all of them consist of plain assignments; any other runs in a process of its own, twice.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.sandbox import Execution, Limits, Ran, opened
from assay.sandbox.inside import stepped

TOGETHER = Limits(seconds=1.0, memory_mb=128, output_kb=2048)
ALONE = Limits(seconds=0.5, memory_mb=128, output_kb=64)
AGAIN = 2  # runs of a program in a process of its own
LONGEST, MOST = 160, 64  # characters of a step, and steps of a program; others fail, and are not run
_SHARING = 128  # programs of a process
_KEPT = 65_536  # programs whose outcomes are remembered


@dataclass(frozen=True)
class StepRan:
    """What became of a step: `StepRan(True, ("a", "b"), ("c",), plain=True)` for c=a+b."""

    ran: bool
    reads: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    plain: bool = False  # it assigns sums, products and the like, and does no more


@dataclass(frozen=True)
class ProgramRan:
    """What became of a program: its steps, and the whole number that each name stands for at its end."""

    steps: tuple[StepRan, ...]
    values: tuple[int | None, ...]  # None: it stands for nothing, or for another thing


Program = tuple[tuple[str, ...], tuple[str, ...]]  # the steps, and the names whose values are asked for
FAILED = StepRan(False)

_remembered: OrderedDict[Program, ProgramRan] = OrderedDict()


def outcomes(programs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[ProgramRan | None]:
    """What becomes of each program, `outcomes([(["a=3", "b=a+c"], ["a"])])`: its first step runs, its second one
    fails, and a is 3. None if the sandbox was lost, which says nothing about the program.

    A step at which a program comes to a limit fails, and so do all behind it. What two runs of a program do not agree
    on counts as failed.
    """
    keys: list[Program] = [(tuple(steps), tuple(names)) for steps, names in programs]
    new = [key for key in dict.fromkeys(keys) if key not in _remembered]
    by_program: dict[Program, ProgramRan | None] = {key: _remembered[key] for key in keys if key in _remembered}
    by_program |= _together(new)
    by_program |= _alone([key for key in new if key not in by_program])
    for key in dict.fromkeys(keys):
        if (outcome := by_program[key]) is not None:
            _remembered[key] = outcome
            _remembered.move_to_end(key)
    while len(_remembered) > _KEPT:
        _remembered.popitem(last=False)
    return [by_program[key] for key in keys]


def _together(programs: Sequence[Program]) -> dict[Program, ProgramRan | None]:
    """The outcomes of the programs that are plain, and whose process came to them before it came to a limit."""
    if not programs:
        return {}
    sandbox = opened()
    share = min(_SHARING, -(-len(programs) // sandbox.count))
    shares = [programs[at : at + share] for at in range(0, len(programs), share)]
    found: dict[Program, ProgramRan | None] = {}
    for members, ran in zip(shares, sandbox.map([_job(one, TOGETHER) for one in shares]), strict=True):
        for program, told in zip(members, _reports(ran, len(members)), strict=True):
            if told.end is not None:
                found[program] = _outcome(program, told)
    return found


def _alone(programs: Sequence[Program]) -> dict[Program, ProgramRan | None]:
    """The outcomes of these programs, each in a process of its own."""
    if not programs:
        return {}
    runs = opened().map([_job([program], ALONE) for program in programs for _ in range(AGAIN)])
    found: dict[Program, ProgramRan | None] = {}
    for number, program in enumerate(programs):
        mine = runs[number * AGAIN : (number + 1) * AGAIN]
        lost = any(ran.status == "lost" for ran in mine)
        found[program] = None if lost else _agreed([_outcome(program, _reports(ran, 1)[0]) for ran in mine])
    return found


def _job(programs: Sequence[Program], limits: Limits) -> Execution:
    told = [[[step for step in steps[:MOST] if len(step) <= LONGEST], names] for steps, names in programs]
    return Execution(stepped.source(), json.dumps([limits is TOGETHER, told]).encode(), limits)


@dataclass
class _Report:
    """What a process has reported of a program."""

    steps: list[StepRan]
    end: list[Any] | None = None  # the values of its names, once it came to its end


def _reports(ran: Ran, count: int) -> list[_Report]:
    """What a process has reported of each of so many programs. A program may have written there too, whatever it is."""
    reports = [_Report([]) for _ in range(count)]
    for line in ran.reply.split(b"\n"):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(told, list) or not told or type(told[0]) is not int or not 0 <= told[0] < count:
            continue
        report = reports[told[0]]
        if len(told) == 2 and isinstance(told[1], list):
            report.end = told[1]
        elif len(told) == 5 and all(isinstance(names, list) for names in told[2:4]):
            reads, binds = (tuple(name for name in names if isinstance(name, str)) for names in told[2:4])
            report.steps.append(StepRan(told[1] is True, reads, binds, told[4] is True))
    return reports


def _outcome(program: Program, report: _Report) -> ProgramRan:
    """The outcome that a report comes to. What it does not say has failed."""
    steps, names = program
    told = iter(report.steps)
    ran = [next(told, FAILED) if at < MOST and len(step) <= LONGEST else FAILED for at, step in enumerate(steps)]
    said = report.end if report.end is not None and len(report.end) == len(names) else [None] * len(names)
    return ProgramRan(tuple(ran), tuple(value if type(value) is int else None for value in said))


def _agreed(runs: Sequence[ProgramRan]) -> ProgramRan:
    """What all runs of a program have in common."""
    steps = [each[0] if len(set(each)) == 1 else FAILED for each in zip(*(ran.steps for ran in runs), strict=True)]
    values = [each[0] if len(set(each)) == 1 else None for each in zip(*(ran.values for ran in runs), strict=True)]
    return ProgramRan(tuple(steps), tuple(values))
