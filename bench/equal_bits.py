"""Shows that the mathematics of no recipe changed between two trees: what both compute is compared bit for bit.

    python -m bench.equal_bits OLD                        # a commit against the working tree
    python -m bench.equal_bits OLD NEW                    # each a commit, or a folder that holds `assay`
    python -m bench.equal_bits OLD --recipes grpo,dapo --only fixed

For every recipe, on both engines: two steps of every stage on rows made from a seed (`fixed`: every stream of the
batches that credit gives, every loss and every gradient), and five steps of `assay train` with a small model (`runs`:
weights, moments and critics of the checkpoint, metrics of the last step). The trees run one after the other in
processes of their own, on one thread each, with compiled cores of their own. What is done stands in `build/equal_bits`
and is not done again while the tree, the probe, the libraries and the machine are the same. The exit status is 1 if
anything differs, if a recipe went away, or if one tree refuses or fails at what the other computes.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.machine import describe

ROOT = Path(__file__).parents[1]
PROBE = Path(__file__).with_name("equal_bits_probe.py")
KEEP = ROOT / "build" / "equal_bits"
KINDS, ENGINES = ("fixed", "runs"), ("native", "torch")
PLAIN = ("mod-chain-7:1,2",)
TASKS = {  # where another task is asked for, and where replies of a tool are told from what was written
    "azr": ("dsl-deduction:2 dsl-abduction:2 dsl-induction:2",),
    **dict.fromkeys(("r-zero", "sqlm"), ("dsl-deduction:2",)),
    **dict.fromkeys(
        ("arpo", "rstar2", "rorecomp", "gfpo", "gfpo-efficiency", "gfpo-adaptive"), (*PLAIN, "calculator:2")
    ),
    **dict.fromkeys(("grpo", "l1-exact", "len-kimi", "rew-qwen"), (*PLAIN, "calculator:2")),
}
SHOWN = 4  # names of arrays in a line

Job = tuple[str, str, str, str]  # kind, recipe, engine, task
Found = dict[str, Any]  # {"digests": {array: digest}}, {"refused": why}, {"failed": why} or {"absent": True}


@dataclass(frozen=True)
class Tree:
    """One side of the comparison."""

    side: str  # old or new
    said: str  # how it was named
    folder: Path
    keep: Path

    @functools.cached_property
    def code(self) -> str:
        """Of what the tree consists, and of all else that decides what it computes."""
        total = hashlib.sha256()
        package = self.folder / "assay"
        for path in (PROBE, *sorted(p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts)):
            name = path.relative_to(package).as_posix() if package in path.parents else path.name
            total.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
        about = [describe(), *(version(name) for name in ("torch", "numpy"))]
        return hashlib.sha256((total.hexdigest() + json.dumps(about)).encode()).hexdigest()[:16]

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-P", str(PROBE), *map(str, arguments)]

    @property
    def environment(self) -> dict[str, str]:
        own = {"PYTHONPATH": str(self.folder), "ASSAY_CACHE": str(self.keep / f"cache-{self.code}")}
        own |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        # each job is a process that imports what the one before it compiled
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | own

    def recipes(self) -> list[str]:
        """The names of its recipes; it must be this tree that is imported, and no installed one."""
        found = json.loads(self._output("list"))
        if not Path(found["place"]).is_relative_to(self.folder):
            raise SystemExit(f"{self.said} was not imported but {found['place']}: is PYTHONPATH ignored?")
        return found["recipes"]

    def make_model(self, folder: Path) -> Path:
        """The small model that both trees train, made by one of them."""
        if not (folder / "model").exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                self._output("model", scratch)
                folder.mkdir(exist_ok=True)
                (Path(scratch) / "model").rename(folder / "model")
        return folder / "model"

    def _output(self, *arguments: object) -> str:
        done = subprocess.run(self.command(*arguments), env=self.environment, capture_output=True, text=True, cwd="/")
        if done.returncode:
            raise SystemExit(f"{self.said}, {arguments[0]}: {done.stderr.strip()[-2000:]}")
        return done.stdout


@contextlib.contextmanager
def tree(side: str, said: str | None, keep: Path) -> Iterator[Tree]:
    """The package of a commit, or of a folder, in a folder of its own: the other may be edited meanwhile."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        if said is None or Path(said).is_dir():
            shutil.copytree(Path(said or ROOT) / "assay", folder / "assay")
        else:
            done = subprocess.run(["git", "-C", str(ROOT), "archive", said, "assay"], capture_output=True)
            if done.returncode:
                why = done.stderr.decode().strip()
                raise SystemExit(f"{said} is no folder, and no commit of this repository: {why}")
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as package:
                package.extractall(folder, filter="data")
        yield Tree(side, said or "the working tree", folder, keep)


# What a tree computes


def digests_of(tree: Tree, jobs: Sequence[Job], model: Path, *, processes: int, again: bool) -> dict[Job, Found]:
    """All jobs, those that were done before aside; each is kept as soon as it is done."""
    weights = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    path = tree.keep / f"{tree.side}-{tree.code}-{weights[:8]}.jsonl"
    if again:
        path.unlink(missing_ok=True)
    done = {tuple(r.pop("job")): r for r in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    left, lock = [job for job in jobs if job not in done], threading.Lock()

    def share(part: int) -> None:
        mine = left[part::processes]
        log = path.with_suffix(f".{part}.log")
        with tempfile.TemporaryDirectory() as scratch, log.open("w") as told, path.open("a") as kept:
            command = tree.command("digests", model, scratch)
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": told, "text": True}
            with subprocess.Popen(command, env=tree.environment, cwd=scratch, **pipes) as process:
                assert process.stdin is not None and process.stdout is not None
                for job in mine:
                    try:
                        print(json.dumps(job), file=process.stdin, flush=True)
                    except BrokenPipeError:
                        break
                    if not (line := process.stdout.readline()):
                        break
                    with lock:
                        found = json.loads(line)
                        done[tuple(found.pop("job"))] = found
                        kept.write(line)
                        kept.flush()
                        say(f"{tree.side} {sum(job in done for job in jobs)}/{len(jobs)}  {' '.join(job)}")
                process.stdin.close()
        if lost := [job for job in mine if job not in done]:
            raise SystemExit(f"{tree.said}: the probe ended at {' '.join(lost[0])}; see {log}")

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(share, range(min(processes, len(left)))))
    return {job: done[job] for job in jobs}


def jobs_of(recipes: Sequence[str], kinds: Sequence[str], engines: Sequence[str]) -> list[Job]:
    """Fixed rows have no task of their own: the first will do."""
    return [
        (kind, name, engine, task)
        for name in recipes
        for kind in kinds
        for engine in engines
        for task in (TASKS.get(name, PLAIN) if kind == "runs" else TASKS.get(name, PLAIN)[:1])
    ]


# The comparison


def compared(job: Job, old: Found, new: Found) -> dict[str, Any]:
    """What became of a job: equal, differs, lost, added, refused or failed, with the names of arrays or the reason."""
    said = dict(zip(("kind", "recipe", "engine", "task"), job, strict=True))
    reasons = {
        f"{side}: {found[how]}"
        for side, found in (("old", old), ("new", new))
        for how in ("refused", "failed")
        if how in found
    }
    if "absent" in old or "absent" in new:
        came = "nowhere" if "absent" in old and "absent" in new else "added" if "absent" in old else "lost"
        return said | {"came": came, "reason": f"{came} between the trees" if came != "nowhere" else "in neither tree"}
    if reasons:
        alike = "refused" in old and "refused" in new
        return said | {"came": "refused" if alike else "failed", "reason": "; ".join(sorted(reasons))}
    one, two = old["digests"], new["digests"]
    alone = one.keys() ^ two.keys()
    # what is measured may grow, and what parts of one method tell each other may be kept elsewhere
    apart = {name for name in alone if name.startswith("metric ") or "/weight " in name}
    unlike = sorted({name for name in one.keys() & two.keys() if one[name] != two[name]} | (alone - apart))
    return said | {
        "came": "differs" if unlike else "equal",
        "arrays": len(one.keys() | two.keys()) - len(apart),
        "unlike": unlike,
        "apart": sorted(apart),
    }


BAD = ("differs", "lost", "failed", "nowhere")


def told(found: Sequence[dict[str, Any]]) -> str:
    """The comparison for a person."""
    lines = []
    for one in found:
        place = f"{one['recipe']:<20} {one['kind']:<5} {one['engine']:<6} {one['task']}"
        if one["came"] == "differs":
            names = ", ".join(one["unlike"][:SHOWN]) + (", ..." if len(one["unlike"]) > SHOWN else "")
            lines.append(f"{place}: {len(one['unlike'])} of {one['arrays']} differ: {names}")
        elif one["came"] != "equal":
            lines.append(f"{place}: {one['came']}: {one['reason']}")
    names = {re.sub(r"\d+", "N", name.split("/weight ")[-1]) for one in found for name in one.get("apart", ())}
    if apart := sorted(names):
        lines.append(f"kept or measured in one tree alone: {', '.join(apart)}")
    count = {
        came: sum(one["came"] == came for one in found) for came in ("equal", "differs", "refused", "added", *BAD[1:])
    }
    equal = {one["recipe"] for one in found} - {one["recipe"] for one in found if one["came"] != "equal"}
    arrays = sum(one["arrays"] - len(one["unlike"]) for one in found if "arrays" in one)
    counts = ", ".join(f"{number} {came}" for came, number in count.items() if number)
    return "\n".join([*lines, f"{len(found)} comparisons: {counts}; {len(equal)} recipes and {arrays} arrays equal"])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="a commit, or a folder that holds `assay`")
    parser.add_argument("new", metavar="NEW", nargs="?", help="likewise; default: the working tree")
    parser.add_argument(
        "--recipes", type=lambda text: text.split(","), metavar="A,B", help="default: all of both trees"
    )
    parser.add_argument("--only", choices=KINDS, help="default: both")
    parser.add_argument(
        "--engines", type=lambda text: text.split(","), default=list(ENGINES), help="default native,torch"
    )
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2, help="that share a tree's work; default 2")
    parser.add_argument("--keep", type=Path, default=KEEP, help="folder for what is done; default build/equal_bits")
    parser.add_argument("--again", action="store_true", help="compute what was done before too")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = parsed(arguments)
    keep = given.keep.resolve()
    keep.mkdir(parents=True, exist_ok=True)
    with tree("old", given.old, keep) as old, tree("new", given.new, keep) as new:
        names = list(dict.fromkeys([*old.recipes(), *new.recipes()]))
        jobs = jobs_of(given.recipes or names, [given.only] if given.only else KINDS, given.engines)
        say(f"{len(jobs)} comparisons of {old.said} and {new.said}")
        model = old.make_model(keep / f"model-{old.code}")
        settings = {"processes": given.processes, "again": given.again}
        before, after = (digests_of(side, jobs, model, **settings) for side in (old, new))
    found = [compared(job, before[job], after[job]) for job in jobs]
    if given.json:
        print(json.dumps({"old": old.said, "new": new.said, "machine": describe(), "comparisons": found}))
    else:
        print(told(found))
    return int(any(one["came"] in BAD for one in found) or not any(one["came"] == "equal" for one in found))


if __name__ == "__main__":
    sys.exit(main())
