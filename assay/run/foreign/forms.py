"""The forms in which settings of other trainers are written: YAML, TOML, and shell scripts that start a trainer."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ConfigError, DataError
from assay.host.files import read_bytes
from assay.run.foreign import shell
from assay.run.foreign.keys import SYSTEMS, keys_of

LARGEST = 1 << 20  # bytes of a file of settings
YAML, SCRIPT = (".yaml", ".yml"), (".sh", ".bash", ".args", ".txt")
FORMS = (*YAML, ".toml", *SCRIPT)  # endings of files of settings


@dataclass(frozen=True)
class Written:
    """The settings of another trainer's file by flat key, and remarks on what of the file was not read."""

    system: str  # of SYSTEMS
    values: Mapping[str, Any]
    remarks: Sequence[str] = ()


def read(path: Path) -> Written | None:
    """The settings of a file of another trainer; None if it is one of ours."""
    if path.suffix in SCRIPT:
        script = shell.read(text(path), path)
        return Written(_system(script.values, path), _clean(script.values), script.remarks)
    data = mapping(path)
    if path.suffix not in YAML and not any(key in data for key in ("orchestrator", "trainer")):
        return None
    values = dict(_flat(data))
    known = _counts(values)
    return None if not any(known.values()) else Written(_system(values, path), _clean(values))


def mapping(path: Path) -> dict[str, Any]:
    """The content of a TOML or YAML file."""
    if not path.exists():
        raise DataError(f"there is no file {path}.")
    return _yaml(path) if path.suffix in YAML else _toml(path)


def text(path: Path) -> str:
    """The text of a file of settings."""
    try:
        return read_bytes(path, most=LARGEST).decode()
    except (OSError, AssayError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as settings: {error}") from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path, most=LARGEST).decode())
    except (OSError, AssayError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read as TOML: {error}") from error


def _yaml(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise ConfigError(
            f"{path} is YAML, which needs the package pyyaml: `pip install 'assay-rl[yaml]'`, or write the file as "
            "TOML."
        ) from None
    try:
        data = yaml.safe_load(text(path))
    except (yaml.YAMLError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise DataError(f"{path} must hold settings as `key: value`, and holds {type(data).__name__}.")
    return dict(data)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(flat key, value) of each setting; an item of a list of tables has its place in its key."""
    whole = path and keys_of("trl").row(path) is not None  # of TRL, whose keys are flat
    if isinstance(value, Mapping) and value and not whole:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list) and value and not whole and all(isinstance(item, Mapping) for item in value):
        for place, item in enumerate(value):
            yield from _flat(item, f"{path}.{place}")
    else:
        yield path, shell.UNKNOWN if isinstance(value, str) and "${" in value else value


def _clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without the names of classes that hydra reads."""
    return {key: value for key, value in values.items() if not key.endswith("_target_")}


def _counts(values: Mapping[str, Any]) -> dict[str, int]:
    """System -> how many of the keys it has."""
    return {name: sum(keys_of(name).row(key) is not None for key in values) for name in SYSTEMS}


def _system(values: Mapping[str, Any], path: Path) -> str:
    """The system that has most of the keys."""
    counts = _counts(values)
    name = max(counts, key=lambda one: counts[one])
    if not counts[name]:
        raise DataError(f"{path} has no key of {', '.join(SYSTEMS.values())}, nor of Assay's.")
    return name
