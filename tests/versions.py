"""The whole suite on the further versions of Python that the package is for: `make test-versions`.

Each version has an environment of its own, `.venv-3.12` beside `.venv`, with everything that `.venv` has. Where torch
cannot be installed for a version, the tests that need none run. What was not run, and why, is said at the end.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.12", "3.13")
NEED_TORCH = ("torch", "peft", "bitsandbytes")
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "-m", "not deep and not scale")


@functools.cache
def interpreter(version: str) -> str | None:
    """An interpreter of this version that starts; a name on the path may be one of pyenv's that does not."""
    homes = (Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python")
    for path in (environment(version), *sorted(homes), shutil.which(f"python{version}")):
        if path is not None and Path(path).exists() and _answers(str(path)) == version:
            return str(path)
    return None


def environment(version: str) -> Path:
    """The interpreter of this version's own environment, made or not."""
    return ROOT / f".venv-{version}" / "bin" / "python"


def _answers(path: str) -> str:
    line = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([path, "-c", line], capture_output=True, text=True, check=False).stdout.strip()


def installed(version: str, python: str) -> str:
    """The environment's interpreter, with everything that could be installed in it."""
    own = str(environment(version))
    if not Path(own).exists():
        subprocess.run([python, "-m", "venv", str(ROOT / f".venv-{version}")], check=True)
    pip = [own, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
    pip += ["--constraint", str(ROOT / "constraints.txt")]
    whole = subprocess.run([*pip, "--group", "dev", "--editable", ".[gym]"], cwd=ROOT, check=False)
    if whole.returncode:
        print(f"{version}: torch and what needs it cannot be installed; the rest is", flush=True)
        subprocess.run([*pip, *without_torch()], cwd=ROOT, check=True)
        subprocess.run([*pip, "--no-deps", "--editable", "."], cwd=ROOT, check=True)
    return own


def without_torch() -> list[str]:
    """What .venv has by name, but for what needs torch."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["gym"], *document["dependency-groups"]["dev"]]
    return [line for line in wanted if not line.startswith(NEED_TORCH)]


def tried(version: str) -> tuple[str, bool]:
    """What came of this version, and whether nothing failed."""
    python = interpreter(version)
    if python is None:
        return "not run: there is no Python of this version on this machine", True
    own = installed(version, python)
    settings = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    shown: list[str] = []
    with subprocess.Popen(
        [own, *TESTS], cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            shown = [*shown, line.strip()][-10:]
    left_out = [line for line in shown if line.startswith("not run without torch")]
    return "; ".join([shown[-1] if shown else "pytest said nothing", *left_out]), running.returncode == 0


def main() -> int:
    found = {version: tried(version) for version in VERSIONS}
    print()
    for version, (says, _) in found.items():
        print(f"Python {version}: {says}")
    return 0 if all(fine for _, fine in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
