"""`assay new method|task|reward NAME`: writes a folder that trains and passes its tests as it is, and says what to fill
in.

The templates in `assay/lab/templates` are real code, which is linted and type checked there. The files that are written
differ from the templates only in names.
"""

from __future__ import annotations

import ast
import importlib.util
import keyword
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError, StorageError, UsageError, unknown
from assay.known import GROUPS, METHOD_OF, SLOTS, spelt
from assay.tasks import TASKS

TEMPLATES = Path(__file__).with_name("templates")
METHODS = Path("assay/methods")  # of a checkout: a folder for each group
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


@dataclass(frozen=True)
class Made:
    """The result of `assay new`: the files written, the files changed, and the commands to run next."""

    kind: str
    name: str
    files: tuple[Path, ...]
    changed: Mapping[Path, str]  # file -> the line that was added to it
    fill_in: tuple[Path, ...]
    next: tuple[str, ...]


def new(kind: str, name: str, folder: Path, *, group: str | None = None) -> Made:
    """Writes a method, a task or a reward of this name into `folder`. If `folder` is a checkout of Assay, a method
    becomes one of its methods, listed in `group`. Everywhere else a method is a package of its own. A task always is.

        new("method", "soft-gate", Path("."))
        assay new method soft-gate
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"'{name}' cannot be the name of a {kind}: expected lower-case words of letters and digits, joined by - or "
            "_, such as `soft-gate`; no keyword of Python."
        )
    name = name.replace("_", "-")
    inside = kind == "method" and (folder / METHODS).is_dir()
    if group is not None and not inside:
        raise UsageError(f"--group is for a method in a checkout of Assay, and {folder} is none. Leave --group out.")
    if taken := _taken(kind, name, inside):
        raise ConfigError(f"the name '{name}' is taken: {taken}. Choose another.")
    if inside:
        return _method_here(name, folder, group)
    return _reward(name, folder) if kind == "reward" else _package(kind, name, folder)


def _taken(kind: str, name: str, inside: bool) -> str:
    """What has the name already; '' if the name is free."""
    module = _module(name)
    if kind == "method" and (known := spelt(name)) is not None:
        return f"'{known}' is a recipe of {METHOD_OF[known]}"
    if kind == "method" and name in SLOTS["gate"]:
        return f"'gate:{name}' is a part of {SLOTS['gate'][name].__module__}"
    if kind == "task" and name in TASKS:
        return f"'{name}' is a task of {TASKS[name].check.__module__}"
    found = None if inside else importlib.util.find_spec(module)
    if found is not None:
        place = found.origin or ", ".join(found.submodule_search_locations or ())
        return f"Python imports the module '{module}' from {place}"
    return ""


def _method_here(name: str, root: Path, group: str | None) -> Made:
    module, group = _module(name), group or next(iter(GROUPS))
    if group not in GROUPS:
        raise unknown("group", group, GROUPS, "assay new --help")
    listing = listing_of(group, root)
    text, line = _with_line(listing.read_text(), module)
    place, tests = listing.parent / module, root / "tests/methods" / group / module
    source = TEMPLATES / "method"
    files = {
        place / "__init__.py": source / "my_method/__init__.py",
        place / "gate.py": source / "my_method/gate.py",
        tests / f"test_{module}.py": source / "tests/test_my_method.py",
    }
    _refuse_existing((place, place.with_suffix(".py"), tests))
    _write("method", name, files, f"assay.methods.{group}.{module}", first_party="assay")
    listing.write_text(text)
    return Made(
        "method",
        name,
        tuple(files),
        {listing: line},
        tuple(files),
        (
            shlex.join(["python", "-m", "pytest", str(tests)]),
            f"ASSAY_WRITE_GOLDEN=1 python -m pytest tests/test_configure.py -k {name}",
            f"assay explain {name}",
            f"assay show gate:{name}",
            f"assay train {name} --task countdown:3",
        ),
    )


def listing_of(group: str, root: Path) -> Path:
    """The file of a checkout that lists the methods of a group, a line for each."""
    return root / METHODS / group / "__init__.py"


def _with_line(text: str, module: str) -> tuple[str, str]:
    """The list of a group with this method at its end, and the line that was added."""
    names = next(node for node in ast.parse(text).body if isinstance(node, ast.Assign)).value
    line, lines = f'    "{module}",', text.splitlines(keepends=True)
    lines.insert((names.end_lineno or 0) - 1, f"{line}\n")
    return "".join(lines), line.strip()


def _package(kind: str, name: str, folder: Path) -> Made:
    module, root, source = _module(name), folder / name, TEMPLATES / kind
    files = {
        root / "pyproject.toml": source / "project.toml",
        root / "README.md": source / "README.md",
        root / module / "__init__.py": source / f"my_{kind}/__init__.py",
        root / "tests" / f"test_{module}.py": source / f"tests/test_my_{kind}.py",
    }
    if kind == "method":
        files[root / module / "gate.py"] = source / "my_method/gate.py"
    _refuse_existing((root,))
    _write(kind, name, files, module, first_party=module)
    asks = {
        "method": (f"assay explain {name}", f"assay show gate:{name}", f"assay train {name} --task countdown:3"),
        "task": (f"assay show {name}", f"assay train grpo --task {name}:4 --model MODEL"),
    }
    steps = (
        shlex.join(["pip", "install", "-e", f"{root}[dev]"]),
        shlex.join(["python", "-m", "pytest", str(root)]),
        *asks[kind],
    )
    code = tuple(path for path in files if path.suffix == ".py")
    return Made(kind, name, tuple(files), {}, code, steps)


def _reward(name: str, folder: Path) -> Made:
    module = _module(name)
    files = {folder / f"{module}.py": TEMPLATES / "reward/my_reward.py"}
    files[folder / f"test_{module}.py"] = TEMPLATES / "reward/test_my_reward.py"
    _refuse_existing(files)
    _write("reward", name, files, module, first_party=module)
    code, test = files
    steps = (
        shlex.join(["python", "-m", "pytest", str(test)]),
        shlex.join(["assay", "train", "grpo", "--task", "countdown:3", "--reward", f"{code}:{module}"]),
    )
    return Made("reward", name, tuple(files), {}, tuple(files), steps)


def _refuse_existing(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists() or path.is_symlink():
            raise StorageError(f"{path} is there already, and is not written over. Choose another name or --dir.")


def _write(kind: str, name: str, files: Mapping[Path, Path], module: str, *, first_party: str) -> None:
    for target, source in files.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        text = _filled(source.read_text(), kind, name, module)
        target.write_text(_sorted(text, first_party) if target.suffix == ".py" else text)


def _filled(text: str, kind: str, name: str, module: str) -> str:
    """The text of a template with this name in place of the template's."""
    spellings = {
        f"assay.lab.templates.{kind}.my_{kind}": module,
        f"my-{kind}": name,
        f"my_{kind}": _module(name),
        f"My{kind.capitalize()}": "".join(word.capitalize() for word in name.split("-")),
        f"MY_{kind.upper()}": _module(name).upper(),
    }
    for theirs, own in spellings.items():
        text = text.replace(theirs, own)
    return text


def _sorted(text: str, first_party: str) -> str:
    """The text with its imports in the order that the linter wants: imports of the own package last."""
    lines = text.splitlines(keepends=True)
    where = [i for i, line in enumerate(lines) if line.startswith(("import ", "from ")) and "__future__" not in line]
    sections: dict[int, list[str]] = {}
    for line in (lines[i] for i in where):
        module = line.split()[1]
        root = module.partition(".")[0]
        section = 3 if not root else 2 if root == first_party else 0 if root in sys.stdlib_module_names else 1
        sections.setdefault(section, []).append(line)
    blocks = [
        "".join(sorted(found, key=lambda line: (line.startswith("from "), line.split()[1])))
        for _, found in sorted(sections.items())
    ]
    return "".join([*lines[: where[0]], "\n".join(blocks), *lines[where[-1] + 1 :]]) if where else text


def _module(name: str) -> str:
    return name.replace("-", "_")
