"""Reward functions by name: parses `FILE.py:FUNCTION=WEIGHT` or `package.module:FUNCTION`, and imports the function."""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.errors import ConfigError, DataError, UsageError
from assay.rng import digest
from assay.verifiers.functions.adapting import adapted
from assay.verifiers.functions.calling import file_of, line_in, told

NAMELESS = "<python>"  # stands for the file of a function that exists only in the calling program
TAKEN = ("mean", "std", "accuracy", "verifier_failed", "logged")  # every run has metrics `reward/...` of these names
FORM = "FILE.py:FUNCTION or FILE.py:FUNCTION=WEIGHT"


@dataclass(frozen=True)
class RewardName:
    """The name of a reward function, as `--reward` gives it.

    Example:
        parse("rewards.py:accuracy=0.5")  # RewardName("/home/.../rewards.py", "accuracy", 0.5)
        parse("my_package.rewards:accuracy")  # RewardName("my_package.rewards", "accuracy", 1.0)
    """

    place: str  # a file, a module, or NAMELESS
    function: str
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.place}:{self.function}" + (f"={self.weight!r}" if self.weight != 1 else "")


def parse(text: str) -> RewardName:
    """The parts of `FILE.py:FUNCTION=WEIGHT`."""
    place, colon, rest = text.rpartition(":")
    function, equals, weight = rest.partition("=")
    if not colon or not place or not function:
        raise UsageError(f"--reward {text}: say which function: {FORM}.{_functions_there(text.partition('=')[0])}")
    try:
        number = float(weight) if equals else 1.0
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"--reward {text}: a weight is a finite number, not '{weight}'.")
    if is_file(place):
        place = str(Path(place).expanduser().resolve())
    return RewardName(place, function, number)


def names(wishes: Sequence[RewardName]) -> tuple[str, ...]:
    """A name for each reward function: its own name.

    The name of its file is put before it if two functions have the same name,
    or if a metric of every run has that name.
    """
    plain = [wish.function.rpartition(".")[2] for wish in wishes]
    found = tuple(
        name if plain.count(name) == 1 and name not in TAKEN else f"{Path(wish.place).stem}.{name}"
        for name, wish in zip(plain, wishes)
    )
    if twice := [name for name in found if found.count(name) > 1]:
        raise UsageError(f"the reward function '{twice[0]}' is named twice; give it once, with a weight.")
    return found


def named(call: Callable[..., Any]) -> RewardName:
    """The name by which a Python function can be loaded again; its place is NAMELESS if there is no such file."""
    name = getattr(call, "__qualname__", None) or type(call).__name__
    place = NAMELESS
    module = sys.modules.get(getattr(call, "__module__", "") or "")
    path = getattr(module, "__file__", None)
    if module is not None and path and "." not in name and getattr(module, name, None) is call:
        quiet = module.__name__ != "__main__" or _loads_quietly(Path(path))
        place = str(Path(path).resolve()) if quiet and Path(path).suffix == ".py" else NAMELESS
    name = name.replace("<lambda>", "lambda").replace("<locals>.", "").replace(":", "_").replace("=", "_")
    return RewardName(place, name)


def _loads_quietly(path: Path) -> bool:
    """Whether importing a program does not run it: it only defines things, and the rest is behind `if __name__`."""
    defines = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.parse(path.read_text()).body:
        guard = isinstance(node, ast.If) and "__name__" in ast.dump(node.test)
        value = isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) and not any(
            isinstance(part, ast.Call | ast.Await) for part in ast.walk(node)
        )
        if not (isinstance(node, defines) or guard or value):
            return False
    return True


def ready(call: Any, name: str) -> Callable[..., Any]:
    """The reward as something that can be called: of a class, an instance is made, and a function of another system's
    signature is called as that system does.
    """
    if inspect.isclass(call):
        try:
            call = call()
        except TypeError as error:
            raise ConfigError(
                f"the reward '{name}' is a class that cannot be made without arguments ({error}). "
                "Name an instance of it, or a function."
            ) from None
    if not callable(call):
        raise ConfigError(f"the reward '{name}' is {_article(type(call).__name__)}, which cannot be called.")
    return adapted(call)


def source_digest(wish: RewardName, call: Callable[..., Any]) -> str:
    """A digest of the function's whole file, because the function may call others of the file."""
    try:
        return digest(Path(wish.place if is_file(wish.place) else file_of(call)).read_bytes())
    except OSError:
        return ""


# --- importing ------------------------------------------------------------------------------------------------


def find(wish: RewardName) -> Callable[..., Any]:
    """Imports the reward function of this name into this process."""
    return ready(imported(wish), wish.function)


def imported(wish: RewardName) -> Any:
    """What stands under this name in its file or module, which is imported into this process."""
    module = _from_file(Path(wish.place)) if is_file(wish.place) else _from_package(wish.place)
    found: Any = module
    for part in wish.function.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{wish.place} has no '{wish.function}'.{_nearest(wish.function, _public(module))}")
        found = getattr(found, part)
    return found


def is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place


def _from_file(path: Path) -> ModuleType:
    """The file as a module. It can import other modules from its own folder."""
    if not path.is_file():
        beside = sorted(p.name for p in path.parent.glob("*.py")) if path.parent.is_dir() else []
        raise DataError(f"there is no file {path}.{_nearest(path.name, beside)}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    name = f"assay_reward_{path.stem}_{digest(path)[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ConfigError(f"{path}, line {error.lineno}: {error.msg}. Mend the file; nothing was started.") from None
    except (Exception, SystemExit) as error:  # a user's file may raise anything when it is imported
        raise ConfigError(
            f"{path}{line_in(error, str(path))}: it raised {told(error)} while it was imported. "
            "A file of reward functions only defines them; put the rest behind `if __name__ == '__main__':`."
        ) from error
    return module


def _from_package(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"no module named '{error.name}' can be imported, here or from {here}. "
            f"A file is named with its ending: {name.replace('.', '/')}.py:FUNCTION."
        ) from None
    except (Exception, SystemExit) as error:
        raise ConfigError(f"importing {name} raised {told(error)}.") from error


def _functions_there(text: str) -> str:
    path = Path(text)
    if not (text.endswith(".py") and path.is_file()):
        return ""
    try:
        nodes = ast.parse(path.read_text()).body
    except (SyntaxError, UnicodeDecodeError):
        return ""
    found = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return f" {path.name} has {', '.join(found[:8])}." if found else ""


def _public(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def _nearest(name: str, there: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, there, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"{hint} There {'is' if len(there) == 1 else 'are'} {', '.join(there[:8])}." if there else hint


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}" if name in dir(builtins) else f"of type {name}"
