"""`assay bank sample`: samples a model into a file by portions, so that a kill loses one portion at the most."""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.host import terminal
from assay.lab.sample import answer_length, asked_with, check_sampling, exam, how_many, open_engine, sampling_of
from assay.record import disk
from assay.record.lock import Lock
from assay.record.panel import duration
from assay.rng import Key
from assay.run.ancestry import origin
from assay.run.configure import to_data
from assay.run.external_needs import require_externals
from assay.run.grader import Grader
from assay.scoring.bank import answer, questions
from assay.scoring.samples import Asked, SampleBank, told
from assay.tasks.data import is_data
from assay.tasks.versions import verifier_versions

if TYPE_CHECKING:
    from assay.source import Pool
    from assay.tasks.task import Split
    from assay.types import Problem

PORTION = 16  # problems that are sampled together and stored at once
SAMPLES = 256  # default number of answers to each problem


@dataclass(frozen=True)
class Wish:
    """The wanted contents of a bank, beside its model and pool. None: the choice of `assay eval`."""

    samples: int = SAMPLES
    problems: int | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    max_new: int | None = None
    split: Split = "test"
    seed: int = 0
    system: str | None = None


def sample_bank(
    model: str, pool: Pool, into: Path, wish: Wish, *, grader: Grader | None = None, quiet: bool = False
) -> SampleBank:
    """Samples a model into the file `into`, and returns its bank.

    Each portion of problems is stored in a folder beside the file, so that the same command goes on where it was
    stopped. A file that holds this very bank is read and not sampled again.
    """
    grader = grader or Grader()
    count = how_many(pool, wish.problems, wish.samples, split=wish.split)
    check_sampling(max_new=wish.max_new, temperature=wish.temperature, top_p=wish.top_p)
    if wish.temperature == 0:
        raise UsageError(
            "the samples of a bank are independent, and temperature 0 gives the same answer each time: "
            "`assay eval --temperature 0 --n 1` scores it."
        )
    _require_place(into)
    ask, asked, problems = _prepared(model, pool, wish, count, grader)
    if into.exists():
        _there(into, asked)  # a refusal leaves no folder behind
    parts = into.with_name(f"{into.name}.parts")
    parts.mkdir(exist_ok=True)
    lock = Lock(parts / "lock")
    lock.acquire()
    try:
        if into.exists():
            bank = _there(into, asked)
            terminal.say(f"{into} holds this bank already; nothing is sampled")
        else:
            bank = _sampled(ask, asked, problems, parts, quiet=quiet)
            bank.write(parts / "whole")  # not beside FILE, where a kill would leave a temporary file for good
            disk.rename(parts / "whole", into, point="samples")
            disk.fsync_folder(into.parent, point="samples")
        disk.remove(parts, point="samples")
    finally:
        lock.release()
    return bank


def asked_alike(child: str, pool: Pool, wish: Wish) -> Wish:
    """The wish for a base that is compared with a child: the child's answer length and system message on this pool."""
    run = origin(child)
    system = run.system if run is not None and wish.system is None else wish.system
    length = answer_length(child, pool) if wish.max_new is None else wish.max_new
    return dataclasses.replace(wish, max_new=length, system=system or None)


def require_two_sets(pool: Pool) -> None:
    if any(is_data(share.task) for share in pool.shares):
        raise UsageError(
            "parity chooses temperatures on the split valid and tests on another, which rows of a data file do not "
            "have: name generated tasks with --task."
        )


Ask = Callable[[list["Problem"], Asked], SampleBank]


def _prepared(model: str, pool: Pool, wish: Wish, count: int, grader: Grader) -> tuple[Ask, Asked, list[Problem]]:
    """The function that samples some problems, all that is asked, and the problems."""
    from assay.policy import fingerprint

    policy, engine = open_engine(model, system=wish.system)
    problems, max_new = exam(model, pool, policy, count=count, split=wish.split, max_new=wish.max_new)
    sampling = sampling_of(model, policy.codec, max_new, wish.temperature, wish.top_p)
    worded, codec, key = asked_with(model, policy.codec), policy.codec, Key(wish.seed)("eval")

    def ask(portion: list[Problem], asked: Asked) -> SampleBank:
        requests = questions(portion, samples=wish.samples, sampling=sampling, codec=codec)
        answers = answer(engine, worded(requests), key=key, codec=codec, verify=grader.exam)
        return SampleBank.of(asked, answers, decode=codec.decode)

    asked = Asked(
        model=model,
        weights=fingerprint(policy),
        pool=to_data(pool),
        split=wish.split,
        samples=wish.samples,
        temperature=wish.temperature,
        top_p=wish.top_p,
        max_new=max_new,
        seed=wish.seed,
        system=codec.chat.system or "",
        judge=_graders(grader),
        problems=told(problems),
        verifiers=_verifiers(pool, grader),
        max_replies=sampling.max_replies,
        longest_reply=sampling.longest_reply,
    )
    return ask, asked, problems


def _verifiers(pool: Pool, grader: Grader) -> dict[str, str]:
    """The verifiers, foreign programs and Python that decide about the answers, each with its version."""
    foreign = require_externals(pool, () if grader.grading is None else _graders(grader))
    return {**verifier_versions(share.task for share in pool.shares), **foreign, "Python": platform.python_version()}


def _graders(grader: Grader) -> tuple[str, ...]:
    if grader.grading is None:
        return ()
    functions = (f"{one.name}={one.weight:g} {one.digest}" for one in grader.grading.functions)
    return (*functions, f"right from {grader.grading.right_from:g}")


def _require_place(into: Path) -> None:
    """Refuses a file that cannot be written, before anything is sampled."""
    if into.suffix != ".parquet":
        raise UsageError(f"--into {into}: a bank is a parquet file; name it {into.with_suffix('.parquet')}.")
    if into.is_dir():
        raise UsageError(f"--into {into} is a folder: name a new file.")
    into.parent.mkdir(parents=True, exist_ok=True)


def _there(into: Path, asked: Asked) -> SampleBank:
    """The bank of a file that exists; UsageError unless it holds what is asked."""
    bank = SampleBank.read(into)
    if bank.asked.digest == asked.digest:
        return bank
    mine, theirs = asked.to_json(), bank.asked.to_json()
    others = ", ".join(name for name in mine if mine[name] != theirs[name])
    raise UsageError(f"{into} holds another bank, with other {others}: name a new file, or remove it.")


def _sampled(ask: Ask, asked: Asked, problems: list[Problem], parts: Path, *, quiet: bool) -> SampleBank:
    """The bank of all problems: portions that are stored already are read, the others are sampled and stored."""
    portions = [problems[start : start + PORTION] for start in range(0, len(problems), PORTION)]
    paths = [parts / f"{asked.digest}-{number:05d}.parquet" for number in range(len(portions))]
    strange = [path for path in parts.glob("*.parquet") if path not in paths]
    if strange:
        terminal.say(f"{parts} holds {len(strange)} portions of another bank; they are removed when this one is done")
    if (stored := sum(path.exists() for path in paths)) and not quiet:
        terminal.say(f"going on: {stored} of {len(paths)} portions are there already")
    banks, began, sampled, right, valid = [], time.monotonic(), 0, 0, 0
    for number, (path, portion) in enumerate(zip(paths, portions, strict=True), start=1):
        if new := not path.exists():
            ask(portion, asked.of(portion)).write(path)
        bank = SampleBank.read(path)
        banks.append(bank)
        counts = bank.counts()
        right, valid, sampled = right + int(counts.correct.sum()), valid + int(counts.n.sum()), sampled + new
        if new and not quiet:
            spent = time.monotonic() - began
            left = spent / sampled * sum(not later.exists() for later in paths[number:])
            share = f"{right / valid:.1%} right" if valid else "none verified"
            more = f", about {duration(left)} left" if left else ""
            done = min(number * PORTION, len(problems))
            terminal.say(f"{done} of {len(problems)} problems  {share}  {duration(spent)}{more}")
    return SampleBank.joined(asked, banks)
