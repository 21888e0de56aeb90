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
from assay.part import KINDS
from assay.tasks import TASKS

TEMPLATES = Path(__file__).with_name("templates")
TEMPLATE_OF_METHODS = "assay.lab.templates.method"
METHODS = Path("assay/methods")  # of a checkout: a folder for each group
PLACES = {  # slot -> what the recipe changes, and what it imports for that
    **{slot: (f'"mechanism.{slot}": MyMethod()', "") for slot in ("source", "credit")},
    **{slot: (f'"mechanism.{slot}": (MyMethod(),)', "")
       for slot in ("ask", "expand", "collect", "curate", "forwards", "shape", "remember")},
    **{slot: (f'"mechanism.objective.{slot}": MyMethod()', "") for slot in ("ratio", "gate", "aggregate")},
    **{slot: (f'"mechanism.objective.{slot}": (MyMethod(),)', "")
       for slot in ("keep", "correct", "regularise", "extra")},
    "reward": ('"mechanism.reward": (Outcome(), MyMethod())', "from assay.reward import Outcome\n"),
    "over": (
        '"mechanism.objective.regularise": (Entropy(weight=0.001, over=MyMethod()),)',
        "from assay.objective import Entropy\n",
    ),
    "when": (
        """
        "stages": (
            Stage("first", share=0.5),
            Stage("then", share=0.5, when=MyMethod()),
        ),
    """,
        "from assay.recipe import Like, Stage\n",
    ),
    "whole": (
        """
        "mechanism.objective.whole": MyMethod(),
        "mechanism.objective.ratio": NoRatio(),
        "mechanism.objective.gate": Open(),
        "mechanism.objective.regularise": (),
    """,
        "from assay.objective import NoRatio, Open\n",
    ),
}  # fmt: skip
DEFAULT_SLOT = "gate"
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


def new(kind: str, name: str, folder: Path, *, group: str | None = None, slot: str | None = None) -> Made:
    """Writes a method, a task, a world or a reward of this name into `folder`. A method has a part of its own for
    `slot`. If `folder` is a checkout of Assay, the method becomes one of its methods, listed in `group`, with an oracle
    beside its tests. Everywhere else a method is a package of its own. A task or a world always is.

        new("method", "soft-gate", Path("."), slot="gate")
        assay new method soft-gate --slot gate
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
    if slot is not None and kind != "method":
        raise UsageError(f"--slot is for a method: it says what the method's own part is. A {kind} has none.")
    slot = slot or DEFAULT_SLOT
    if slot not in PLACES:
        raise unknown("slot", slot, PLACES, "assay list parts")
    if taken := _taken(kind, name, inside, slot):
        raise ConfigError(f"the name '{name}' is taken: {taken}. Choose another.")
    if inside:
        return _method_here(name, folder, group, slot)
    return _reward(name, folder) if kind == "reward" else _package(kind, name, folder, slot)


def _taken(kind: str, name: str, inside: bool, slot: str) -> str:
    """The present owner of the name, in words; '' if the name is free."""
    module = _module(name)
    if kind == "method" and (known := spelt(name)) is not None:
        return f"'{known}' is a recipe of {METHOD_OF[known]}"
    if kind == "method" and name in SLOTS[slot]:
        return f"'{slot}:{name}' is a part of {SLOTS[slot][name].__module__}"
    if kind in ("task", "world") and name in TASKS:
        return f"'{name}' is a task of {TASKS[name].checker.check.__module__}"
    found = None if inside else importlib.util.find_spec(module)
    if found is not None:
        place = found.origin or ", ".join(found.submodule_search_locations or ())
        return f"Python imports the module '{module}' from {place}"
    return ""


def _method_here(name: str, root: Path, group: str | None, slot: str) -> Made:
    module, group = _module(name), group or next(iter(GROUPS))
    if group not in GROUPS:
        raise unknown("group", group, GROUPS, "assay new --help")
    listing = listing_of(group, root)
    text, line = _with_line(listing.read_text(), module)
    path, tests = listing.parent / module, root / "tests/methods" / group / module
    source = TEMPLATES / "method"
    oracle = source / f"oracle/{slot}.py"
    files = {
        **_code(path, slot),
        tests / "oracle.py": oracle if oracle.is_file() else source / "oracle/unchanged.py",
        **_tests(tests, module, slot),
    }
    _refuse_existing((path, path.with_suffix(".py"), tests))
    _write("method", name, files, f"assay.methods.{group}.{module}", first_party="assay", slot=slot)
    listing.write_text(text)
    return Made(
        "method",
        name,
        tuple(files),
        {listing: line},
        tuple(files),
        (
            f"make method NAME={name}",
            f"assay explain {name}",
            f"assay show {slot}:{name}",
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


def _code(place: Path, slot: str) -> dict[Path, Path]:
    """The files of a method in its folder, and the templates that they are made from."""
    source = TEMPLATES / "method"
    return {
        place / "__init__.py": source / "my_method/__init__.py",
        place / f"{slot}.py": source / f"parts/{_written_for(slot)}.py",
    }


def _written_for(slot: str) -> str:
    """The slot for which the template of its kind is written: the first that the kind has."""
    return next(kind.slots[0] for kind in KINDS if slot in kind.slots)


def _tests(place: Path, module: str, slot: str) -> dict[Path, Path]:
    source = TEMPLATES / "method/tests"
    return {
        place / f"test_{module}.py": source / "test_my_method.py",
        place / f"test_{module}_{slot}.py": source / f"formulas/test_{_written_for(slot)}.py",
    }


def _package(kind: str, name: str, folder: Path, slot: str) -> Made:
    module, root, source = _module(name), folder / name, TEMPLATES / kind
    files = {root / "pyproject.toml": source / "project.toml", root / "README.md": source / "README.md"}
    if kind == "method":
        files |= _code(root / module, slot) | _tests(root / "tests", module, slot)
    else:
        files[root / module / "__init__.py"] = source / f"my_{kind}/__init__.py"
        files[root / "tests" / f"test_{module}.py"] = source / f"tests/test_my_{kind}.py"
    _refuse_existing((root,))
    _write(kind, name, files, module, first_party=module, slot=slot)
    asks = {
        "method": (f"assay explain {name}", f"assay show {slot}:{name}", f"assay train {name} --task countdown:3"),
        "task": (f"assay show {name}", f"assay train grpo --task {name}"),
        "world": (f"assay show {name}", f"assay train grpo --task {name}:5 --model MODEL"),
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


def _write(
    kind: str, name: str, files: Mapping[Path, Path], module: str, *, first_party: str, slot: str = DEFAULT_SLOT
) -> None:
    for target, source in files.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        text = _filled(source.read_text(), kind, name, module, slot)
        target.write_text(_sorted(text, first_party) if target.suffix == ".py" else text)


def _filled(text: str, kind: str, name: str, module: str, slot: str) -> str:
    """The text of a template with this name and slot in place of the template's."""
    change, more = PLACES[slot]
    template = f"{TEMPLATE_OF_METHODS}.parts"
    if more and "from assay.recipe import Like\n" in text:
        kept = "" if "assay.recipe" in more else "from assay.recipe import Like\n"
        text = text.replace("from assay.recipe import Like\n", more + kept)
    spellings = {
        PLACES[DEFAULT_SLOT][0]: change,
        f"{template}.{DEFAULT_SLOT}": f"{template}.{slot}",
        f"{template}.{_written_for(slot)}": f"{template}.{slot}",
        f"{template}.": f"{module}.",
        f"my_method/{DEFAULT_SLOT}.py": f"my_method/{slot}.py",
        f"{DEFAULT_SLOT}:my-method": f"{slot}:my-method",
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
    """The text with its imports, and those for the type checker, in the order that the linter wants."""
    for indent in ("", "    "):
        text = _sorted_at(text, first_party, indent)
    return text


def _sorted_at(text: str, first_party: str, indent: str) -> str:
    """The imports at this indent in sections, those of the own package last."""
    lines, begins = text.splitlines(keepends=True), (f"{indent}import ", f"{indent}from ")
    where = [i for i, line in enumerate(lines) if line.startswith(begins) and "__future__" not in line]
    sections: dict[int, list[str]] = {}
    for line in (lines[i] for i in where):
        module = line.split()[1]
        root = module.partition(".")[0]
        section = 3 if not root else 2 if root == first_party else 0 if root in sys.stdlib_module_names else 1
        sections.setdefault(section, []).append(line)
    blocks = [
        "".join(sorted(found, key=lambda line: (line.startswith(begins[1]), line.split()[1])))
        for _, found in sorted(sections.items())
    ]
    return "".join([*lines[: where[0]], "\n".join(blocks), *lines[where[-1] + 1 :]]) if where else text


def _module(name: str) -> str:
    return name.replace("-", "_")
