"""Types, checked by pyright wherever its answer may have changed: in files that changed since they passed, and in all
that import them, directly or through others. What passed stands in `build/types.json`; without it everything is asked.

    python tests/type_check.py          # `make check`
    python tests/type_check.py --all

Another pyright, other settings and other installed packages ask everything anew.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED = ROOT / "build" / "types.json"
PLACES = ("assay", "bench", "tests")
MEMORY = "--max-old-space-size=8192"  # with node's own limit pyright forgets what it knows some thirty times
MOST = 400  # files that are named one by one; of more it is as quick to ask everything


@dataclass(frozen=True)
class Source:
    """A file as it was when it passed, and the names of all modules that it may import."""

    digest: str
    imports: tuple[str, ...]


def surroundings() -> str:
    """A digest of all else that decides what pyright says."""
    packages = sorted(f"{one.name} {one.version}" for one in metadata.distributions())
    settings = (ROOT / "pyproject.toml").read_text()
    return hashlib.sha256("\n".join((sys.version, settings, *packages)).encode()).hexdigest()


def files(root: Path) -> list[Path]:
    return sorted([*root.glob("*.py"), *(path for place in PLACES for path in (root / place).rglob("*.py"))])


def module_of(path: str) -> str:
    """The name by which others import a file; those below `tests` are imported by their own names."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return parts[-1] if parts[0] == "tests" else ".".join(parts)


def imported(path: str, text: str) -> Iterator[str]:
    """The modules that a file may import: of `from a import b` both `a` and `a.b`, and whatever they lie in."""
    package = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if not path.endswith("/__init__.py"):
        package = package[:-1]
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def read(root: Path, before: Mapping[str, Source]) -> dict[str, Source]:
    """All files as they are now. Only those that changed are parsed."""
    found = {}
    for file in files(root):
        path, content = file.relative_to(root).as_posix(), file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        known = before.get(path)
        same = known is not None and known.digest == digest
        found[path] = known if known and same else Source(digest, tuple(sorted({*imported(path, content.decode())})))
    return found


def affected(before: Mapping[str, Source], now: Mapping[str, Source]) -> set[str]:
    """The files about which pyright may say something else than before: the changed ones and all that import them, or
    something that came or went.
    """
    changed = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
    importing: dict[str, set[str]] = {}
    for path, source in now.items():
        for name in source.imports:
            importing.setdefault(name, set()).add(path)
    reached, left = set(changed), list(changed)
    while left:
        for path in importing.get(module_of(left.pop()), set()) - reached:
            reached.add(path)
            left.append(path)
    return reached & now.keys()


def kept(surrounded: str) -> dict[str, Source]:
    """What passed in these surroundings; nothing in others."""
    if not PASSED.exists():
        return {}
    data = json.loads(PASSED.read_text())
    if data["surroundings"] != surrounded:
        return {}
    return {path: Source(digest, tuple(imports)) for path, (digest, imports) in data["files"].items()}


def keep(surrounded: str, now: Mapping[str, Source]) -> None:
    told = {path: (source.digest, source.imports) for path, source in now.items()}
    PASSED.parent.mkdir(exist_ok=True)
    PASSED.write_text(json.dumps({"surroundings": surrounded, "files": told}))


def pyright(paths: Iterable[str]) -> int:
    """Pyright's exit code over these files; over all that the settings name if there are none."""
    options = f"{os.environ.get('NODE_OPTIONS', '')} {MEMORY}".strip()
    line = [sys.executable, "-m", "pyright", *paths]
    return subprocess.run(line, cwd=ROOT, env=os.environ | {"NODE_OPTIONS": options}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="ask about every file")
    everything = parser.parse_args().all
    surrounded = surroundings()
    before = {} if everything else kept(surrounded)
    now = read(ROOT, before)
    asked = affected(before, now)
    if not asked:
        print(f"types: none of {len(now)} files has changed since they passed")
        return 0
    few = bool(before) and len(asked) <= MOST
    print(f"types: {len(asked) if few else len(now)} of {len(now)} files", flush=True)
    code = pyright(sorted(asked) if few else ())
    if code == 0:
        keep(surrounded, now)
    return code


if __name__ == "__main__":
    sys.exit(main())
