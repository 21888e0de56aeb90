"""The origin of the weights of a model folder, in a small file beside them that travels with every copy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.files import parse_json, read_json

FILE = "assay_provenance.json"


@dataclass(frozen=True)
class Provenance:
    """The name of the original model, its terms, and how its weights were changed on the way here.

    Provenance(name="SmolLM2-135M-Instruct", licence="apache-2.0", restored="restored from Q4_1").sentence
    """

    name: str = ""
    licence: str = ""
    citation: str = ""
    restored: str = ""  # from which type of numbers: such weights are not the original ones, and a claim should say so
    source: str = ""  # the file that they were read from
    sha256: str = ""  # of that file

    @property
    def sentence(self) -> str:
        """Name, change of the weights, and licence: `SmolLM2-135M-Instruct, restored from Q4_1 (apache-2.0)`."""
        told = ", ".join(part for part in (self.name or self.source, self.restored) if part)
        return f"{told} ({self.licence})" if self.licence else told

    def document(self) -> bytes:
        return (json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n").encode()


def provenance_of(folder: Path) -> Provenance | None:
    """The provenance that a model folder states for its weights; None if it states none."""
    return stored(read_json(folder / FILE), str(folder / FILE)) if (folder / FILE).exists() else None


def provenance_in(files: Mapping[str, bytes], place: str) -> Provenance | None:
    """The provenance that the files beside a model's weights state; None if they state none."""
    if FILE not in files:
        return None
    try:
        found = parse_json(files[FILE].decode())
    except ValueError as error:
        raise StorageError(f"{FILE} of {place} is not JSON: {error}.") from error
    return stored(found, f"{FILE} of {place}")


def stored(found: Any, place: str) -> Provenance:
    """The record that was read from `place`. An error names `place` if `found` is no such record."""
    names = {field.name for field in dataclasses.fields(Provenance)}
    if not isinstance(found, dict) or set(found) - names or not all(isinstance(v, str) for v in found.values()):
        raise StorageError(f"{place} should be an object with texts for {', '.join(sorted(names))}.")
    return Provenance(**found)
