"""`assay show FILE`: what became of each key of a file of settings, and the same settings as a file of ours."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.host import terminal
from assay.run.foreign.forms import FORMS
from assay.run.foreign.translation import Answer, Translation, source, translated
from assay.run.setup import LACKS, composed
from assay.run.setup_file import given, table, text
from assay.view.text import columns

HEADINGS = {
    "ours": "honoured",
    "told": "honoured but for a difference, or not at all; training says so and goes on",
    "refused": "refused: they change what is computed, and have no counterpart",
    "idle": "without effect",
}


def is_file(name: str) -> bool:
    """Whether a name that `assay show` is given is that of a file of settings."""
    return Path(name).suffix in FORMS


def run_show_file(arguments: argparse.Namespace) -> Any:
    path = Path(arguments.name)
    if not path.is_file():
        raise DataError(f"{path}: no such file.")
    translation = translated(path)
    if arguments.toml:
        written = _ours(path, translation)
        document: dict[str, Any] = {"toml": written}
    elif translation is None:
        written = _ours(path, translation)
        document = {"kind": "settings", "path": str(path), "system": "Assay", "toml": written}
    else:
        written, document = _text(translation), _document(translation)
    if not arguments.json:
        terminal.show(written.rstrip())
    return document


def _ours(path: Path, translation: Translation | None) -> str:
    """The settings of a file as a file of ours, with what it cannot say as comments."""
    if translation is None:
        return text(composed(given(table(path), path)))
    made = {name: value for name, value in source(path, translation).items() if name != LACKS}
    lines = [f"{path}, which was written for {translation.system}"]
    lines += [f"differs: {answer.key}: {answer.because}" for answer in translation.of("told")]
    lines += [f"lacks: {lack.sentence}" for lack in translation.lacks if not lack.when]
    return text(composed(made), about=lines)


def _document(translation: Translation) -> dict[str, Any]:
    """What became of each key, as JSON."""
    return {
        "kind": "settings",
        "path": str(translation.path),
        "system": translation.system,
        "keys": [_entry(answer) for answer in translation.answers],
        "without_effect": [answer.key for answer in translation.answers if answer.without_effect],
        "defaults": [_entry(answer) for answer in translation.defaults],
        "lacks": [lack.sentence for lack in translation.lacks if not lack.when],
        "remarks": list(translation.remarks),
    }


def _entry(answer: Answer) -> dict[str, Any]:
    value = answer.value if isinstance(answer.value, str | int | float | bool | list | None) else str(answer.value)
    outcome = {"key": answer.key, "value": value, "outcome": answer.outcome}
    return outcome | {"ours": answer.ours, "because": answer.because}


def _text(translation: Translation) -> str:
    """The same as a table for each outcome."""
    lines = [f"{translation.path}: a file of {translation.system}'s, {len(translation.answers)} keys"]
    for outcome, heading in HEADINGS.items():
        if answers := [answer for answer in translation.answers if answer.outcome == outcome]:
            lines += ["", f"{heading} ({len(answers)})", *_rows(answers)]
    if translation.defaults:
        lines += ["", f"left out of the file, and as {translation.system} has it", *_rows(translation.defaults)]
    lines += ["", *(f"lacks: {lack.sentence}" for lack in translation.lacks if not lack.when), *translation.remarks]
    return "\n".join(lines)


def _rows(answers: Sequence[Answer]) -> Iterator[str]:
    """Key and value, our settings, and why."""
    table = [(f"{answer.key} = {_short(answer.value)}", _told(answer)) for answer in answers]
    yield from (f"  {line}" for line in columns(table))


def _short(value: Any) -> str:
    written = str(value)
    return written if len(written) <= 40 else f"{written[:37]}..."


def _told(answer: Answer) -> str:
    return "; ".join(filter(None, (answer.ours, answer.because)))
