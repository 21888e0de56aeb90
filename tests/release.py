"""A wheel with the core and a source distribution: built, examined, installed, used as a person would. `make release`.

Each is installed into an environment of its own, in an empty folder outside of the checkout, with no compiler to be
found. A line is printed for each check, and a table at the end. docs/releases.md says what each check asks. The base
that the wheel's demo builds is kept for the source distribution, which does without the core and would take long.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

import licences
import packaged
from packaged import ROOT, Unfit, need
from variants import COMPILERS, path_without

import assay
from assay.view.text import columns

DIST = ROOT / "dist"
KINDS = ("wheel", "source")
HIDDEN = ("CC", "CXX", "CPP", "LD", "VIRTUAL_ENV")  # of the environment; and all names of Python's and ours
EXAMPLE_STEPS = 2
NO_COMPILER = "there is no C++ compiler"
PLOT = "import assay; assay.Run('runs/demo-1').plot('reward/mean', 'eval/valid/pass@1').save('curve.svg')"
CALLS, TRIES = 7, 40  # of a command whose start is timed: at least, and at most while other work slows it down


@dataclass
class Told:
    """What the checks said, in their order."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def ask(self, name: str, check: Callable[[], str]) -> bool:
        """Whether a check found nothing wrong; prints its line."""
        began = time.monotonic()
        try:
            state, says = "ok", check()
        except Unfit as error:
            state, says = "FAILED", str(error)
        except Exception as error:  # the other checks go on, and the table has this one
            traceback.print_exc()
            state, says = "FAILED", f"the check itself broke: {type(error).__name__}: {error}"
        seconds = f"{time.monotonic() - began:.0f} s"
        print(f"{state:<6}  {name}: {says} ({seconds})", flush=True)
        self.rows.append((name, state, seconds, says.partition("\n")[0]))
        return state == "ok"

    @property
    def failed(self) -> list[str]:
        return [name for name, state, *_ in self.rows if state != "ok"]


@dataclass(frozen=True)
class Place:
    """An environment of its own, the empty folder beside it in which commands run, and what they see of the machine."""

    kind: str  # of the package that is installed here
    folder: Path
    path: str  # without compilers

    @property
    def python(self) -> str:
        return str(self.folder / "venv/bin/python")

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def installed(self) -> list[Distribution]:
        (site,) = (self.folder / "venv/lib").glob("python*/site-packages")
        return list(distributions(path=[str(site)]))

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in HIDDEN and not k.startswith(("PYTHON", "ASSAY_"))}
        own = {"ASSAY_CACHE": str(self.folder.parent / "cache"), "ASSAY_STATE": str(self.folder / "state")}
        return kept | own | {"PATH": f"{self.folder / 'venv/bin'}{os.pathsep}{self.path}"}

    def run(self, *line: str) -> subprocess.CompletedProcess[str]:
        """What a command printed; Unfit with its last words where it failed."""
        done = subprocess.run(
            line, cwd=self.work, env=self.environment(), capture_output=True, text=True, check=False, timeout=1800
        )
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        command = " ".join([Path(line[0]).name, *line[1:]])
        need(done.returncode == 0, f"`{command}` ended with {done.returncode}:\n{last}")
        return done


def install(place: Place, package: Path) -> str:
    """Installs a package as a person would, with the torch of this environment: there are builds of many sizes."""
    place.work.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", str(place.folder / "venv")], check=True)
    pinned = place.folder / "constraints.txt"
    pinned.write_text(f"{(ROOT / 'constraints.txt').read_text()}\ntorch=={version('torch')}\n")
    place.run(
        place.python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", str(pinned), str(package)
    )
    place.run(place.python, "-m", "pip", "check")
    told = place.run("assay", "--version").stdout.strip()
    need(told == f"assay {assay.__version__}", f"`assay --version` says {told!r}")
    where = place.run(place.python, "-c", "import assay; print(assay.__file__)").stdout.strip()
    need(where.startswith(str(place.folder)), f"`import assay` reads {where}")
    names = {package.name: package for package in place.installed}
    own = [Path(str(file.locate())) for file in names["assay-rl"].files or () if "__pycache__" not in str(file)]
    size = packaged.within("package", packaged.megabytes(own))
    return f"{told}, {len(names)} packages with torch {names['torch'].version}; {size}"


def core(place: Place) -> str:
    """A wheel brings the core; a source distribution does without, and says why."""
    found = json.loads(place.run("assay", "doctor", "--json").stdout)["core"]["found"]
    expected = "from the package" if place.kind == "wheel" else NO_COMPILER
    need(expected in found, f"`assay doctor` should say '{expected}', and says: {found}")
    return found


def first_example(place: Place) -> str:
    """The first Python block of the README and of the page for the package index, which are one."""
    code = example()
    (place.work / "example.py").write_text(code)
    done = place.run(place.python, "example.py")
    written = sorted(path.name for path in (place.work / "runs").glob("*/report.html"))
    need(written, "no run with a report was written")
    need("'mean'" in done.stdout, f"the example printed no score: {done.stdout.strip()[-300:]}")
    need(place.kind == "wheel" or NO_COMPILER in done.stderr, "the run does not say that it does without the core")
    return f"{EXAMPLE_STEPS} steps, and a report"


def example() -> str:
    """The example with few steps; both pages must show the same one."""
    blocks = [
        re.search(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
        for page in ("README.md", "docs/package.md")
    ]
    codes = {block[1] for block in blocks if block is not None}
    need(len(codes) == 1, "README.md and docs/package.md have no first example in common")
    code, times = re.subn(r"steps=\d+", f"steps={EXAMPLE_STEPS}", codes.pop())
    need(times == 1, "the first example names no number of steps")
    return code


def demo(place: Place) -> str:
    """`assay demo` in an empty folder: a table, a curve and a report."""
    done = place.run("assay", "demo", "--json")
    outcome = json.loads(done.stdout)
    before, after = (outcome[when]["pass"]["1"]["mean"] for when in ("before", "after"))
    report = place.work / outcome["report"]
    need(report.stat().st_size > 50_000 and "reward/mean" in report.read_text(), f"{report} shows no curve")
    place.run(place.python, "-c", PLOT)
    drawn = " ".join(re.findall(r'<polyline points="([^"]*)"', (place.work / "curve.svg").read_text()))
    points = len(drawn.split())
    need(points > 100, f"the curve has {points} points")
    need("pass@1" in done.stderr and "intervals: 95 %" in done.stderr, "no table was printed")
    need(after > before, f"nothing was learned: pass@1 from {before:.3f} to {after:.3f}")
    seconds, where = outcome["seconds"]["all"], outcome["speed"]["place"]
    return f"pass@1 from {before:.3f} to {after:.3f} in {seconds:.0f} s on {where}; a table, a curve and a report"


def licensed(place: Place) -> str:
    """Whatever came along may come along."""
    unfit = list(licences.unfit(place.installed))
    need(not unfit, f"not among the licences of tests/release.toml: {', '.join(unfit)}")
    return f"{len(place.installed)} packages"


def licensed_extras() -> str:
    """What extras bring, as far as it is in the environment of the tests."""
    extras = packaged.project()["optional-dependencies"]
    found, absent = packaged.packages_of(line for lines in extras.values() for line in lines)
    unfit = list(licences.unfit(found))
    need(not unfit, f"not among the licences of tests/release.toml: {', '.join(unfit)}")
    return f"{len(found)} packages of {len(extras)} extras; not here, and not looked at: {', '.join(absent) or 'none'}"


def quick(place: Place) -> str:
    """The fastest of several calls, after one that writes what later ones read."""
    limits = packaged.LIMITS["seconds"]
    took = {words: fastest(functools.partial(_seconds, place, words), most) for words, most in limits.items()}
    says = ", ".join(f"`assay {words}` {seconds:.2f} s of at most {limits[words]:g}" for words, seconds in took.items())
    need(all(seconds <= limits[words] for words, seconds in took.items()), f"too slow: {says}")
    return says


def fastest(call: Callable[[], float], most: float) -> float:
    """The least of several times. Where all are above the limit it is tried on: what else runs here may pause."""
    took = [call() for _ in range(CALLS)]
    while min(took) > most and len(took) < TRIES:
        took.append(call())
    return min(took)


def _seconds(place: Place, words: str) -> float:
    began = time.perf_counter()
    place.run("assay", *words.split())
    return time.perf_counter() - began


def build_both(told: Told) -> dict[str, Path]:
    """The packages, which lie in dist/ alone; none of what does not build."""
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("assay_rl-*"):
        old.unlink()
    made: dict[str, Path] = {}

    def build(kind: str, core: str) -> str:
        path = made[kind] = packaged.built(DIST, "wheel" if kind == "wheel" else "sdist", core=core)
        return f"{path.name}; {packaged.within(kind, packaged.megabytes([path]))}"

    told.ask("build wheel", functools.partial(build, "wheel", "1"))
    told.ask("build source", functools.partial(build, "source", ""))
    return made


def examine(told: Told, made: dict[str, Path]) -> None:
    """What can be said of the packages without installing them."""
    wheel = made["wheel"]
    told.ask("files", lambda: packaged.files_of(wheel))
    told.ask("metadata", lambda: packaged.described(wheel))
    told.ask("page", lambda: packaged.shown(wheel))
    with tempfile.TemporaryDirectory() as scratch:
        told.ask("source", lambda: packaged.same_from_source(wheel, made["source"], Path(scratch)))


def use(told: Told, place: Place, package: Path) -> None:
    """Installs a package and uses it. Of one that cannot be installed nothing more is asked."""
    if not told.ask(f"{place.kind}: installed", lambda: install(place, package)):
        return
    checks = {"core": core, "demo": demo, "first example": first_example, "licences": licensed, "start": quick}
    if place.kind == "source":  # its steps are the same, and take torch many times as long
        del checks["demo"]
    for name, check in checks.items():
        told.ask(f"{place.kind}: {name}", functools.partial(check, place))


def main() -> int:
    told = Told()
    told.ask("tree", packaged.uncommitted)
    told.ask("versions", packaged.versions_agree)
    told.ask("licences of extras", licensed_extras)
    made = build_both(told)
    if set(made) == set(KINDS):
        examine(told, made)
        with path_without(COMPILERS) as path, tempfile.TemporaryDirectory() as folder:
            for kind in KINDS:
                use(told, Place(kind, Path(folder) / kind, path), made[kind])
    print("\n" + "\n".join(columns([("check", "result", "took", "what was found"), *told.rows])))
    for package in made.values():
        print(f"{hashlib.sha256(package.read_bytes()).hexdigest()}  {package.relative_to(ROOT)}")
    print(f"\n{len(told.rows) - len(told.failed)} passed, {len(told.failed)} failed")
    if told.failed:
        print(f"no release: {', '.join(told.failed)}")
    return 1 if told.failed else 0


if __name__ == "__main__":
    sys.exit(main())
