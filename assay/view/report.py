"""The report of a run: one HTML file that needs no network and no other file.

Everything that a model wrote is put into the page as data and shown as text. The page's content security policy allows
no script but its own, and no request.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.record import RunFolder, disk
from assay.record.jsonl import read as read_journal
from assay.record.panel import duration
from assay.view.findings import alarms, curves, results
from assay.view.judged import spoken
from assay.view.reading import rollouts_to_read
from assay.view.text import change, score

if TYPE_CHECKING:
    import jinja2

Json = dict[str, Any]

STATIC = Path(__file__).parent / "static"
NAME = "report.html"


def write_report(run: Path | str, *, checked: bool = True) -> Path:
    """Writes `run`/report.html for a finished or unfinished run, and returns its path.

    `checked`: also compare the records with the digests in the checkpoints, which reads all of them.
    """
    folder = RunFolder.read_only(run)
    path = folder.path / NAME
    with disk.storage_errors(f"writing the report of {folder.path}"):
        disk.replace(path, page(folder, checked=checked).encode(), point="report")
    return path


def page(run: RunFolder, *, checked: bool = True) -> str:
    """The HTML of the report."""
    metrics, evals = _journal(run, "metrics"), _journal(run, "evals")
    head = heading(run.document, metrics)
    exams = results(evals, run.document)
    data = {"curves": curves(metrics, run.document), "results": exams, "rollouts": rollouts_to_read(run)}
    script = (STATIC / "report.js").read_text(encoding="utf-8")
    return _template().render(
        head=head,
        results=exams,
        alarms=[*_damaged(run, checked), *alarms(metrics, evals, total_steps=head["total_steps"])],
        rollouts={"shown": data["rollouts"]["shown"], "saved": data["rollouts"]["saved"]},
        steps=len(metrics),
        tree=list(leaves(_resolved(run.document))),
        versions=list(leaves(run.document.get("versions") or {})),
        css=_trusted((STATIC / "report.css").read_text(encoding="utf-8")),
        script=_trusted(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=_trusted(json_in_script(data)),
    )


@functools.cache
def _template() -> jinja2.Template:
    """The compiled template, for a run that writes its report again and again."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"score": score, "change": change, "spoken": spoken}
    return environment.from_string((STATIC / "report.html").read_text(encoding="utf-8"))


def _damaged(run: RunFolder, checked: bool) -> list[Json]:
    """Alarms about records that were changed after they were written, found now or when the run was last opened."""
    known = run.document.get("damaged")
    sentences = dict.fromkeys([*(known if isinstance(known, list) else []), *(run.damage() if checked else [])])
    return [{"level": "error", "text": f"{one}: what this page shows of it may be wrong."} for one in sentences]


def _trusted(text: str) -> Any:
    import markupsafe

    return markupsafe.Markup(text)


_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")  # lone surrogates are legal in JSON escapes, but not in UTF-8


def json_in_script(data: Any) -> str:
    """JSON that cannot end a script element or open a comment in it, whatever strings it holds."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _journal(run: RunFolder, name: str) -> list[Json]:
    path = run.path / f"{name}.jsonl"
    return read_journal(path, skip_damaged=True) if path.exists() else []


def heading(document: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]]) -> Json:
    """The title of the report and the facts below it; facts that run.json lacks are left out."""
    recipe = _find(document, "recipe")
    recipe_name = _name(recipe)
    scale = _branch(document, "experiment", "recipe", "scale") or _branch(document, "recipe", "scale")
    task, model = _name(_find(document, "task") or _find(document, "pool")), _name(_find(document, "model"))
    command = document.get("command") or ""
    seconds = sum(record.get("time/step") or 0 for record in metrics)
    facts = {
        "model": model,
        "task": task,
        "profile": _find(document, "profile"),
        "seed": _find(document, "seed"),
        "steps": len(metrics) or None,
        "time": duration(seconds) if seconds else None,
        "started": document.get("created"),
        "run": str(document.get("run", ""))[:8],
    }
    total = scale.get("num_steps")
    return {
        "title": " on ".join(part for part in (recipe_name, task) if part) or "Run",
        "facts": {name: str(value) for name, value in facts.items() if value not in (None, "")},
        "command": command if isinstance(command, str) else shlex.join(map(str, command)),
        "total_steps": int(total) if isinstance(total, int) else None,
    }


def _branch(document: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """The mapping at this path, or an empty one."""
    for name in path:
        child = document.get(name)
        document = child if isinstance(child, Mapping) else {}
    return document


def _find(document: Mapping[str, Any], name: str) -> Any:
    """A field of run.json: of the document itself, or else of its experiment or its identity."""
    for place in (document, document.get("experiment"), document.get("identity")):
        if isinstance(place, Mapping) and place.get(name) is not None:
            return place[name]
    return None


def _name(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("name") or value.get("task") or "")
    if isinstance(value, list):
        return ", ".join(_name(item) for item in value)
    return "" if value is None else str(value)


def _resolved(document: Mapping[str, Any]) -> Any:
    for name in ("experiment", "recipe", "identity"):
        if isinstance(document.get(name), Mapping) and document[name]:
            return document[name]
    return {}


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, value) for each leaf of a tree, with dotted paths as on the command line."""
    if isinstance(tree, Mapping) and tree:
        for name, value in tree.items():
            yield from leaves(value, f"{path}.{name}" if path else str(name))
    elif isinstance(tree, list) and any(isinstance(item, Mapping | list) for item in tree):
        for position, value in enumerate(tree):
            yield from leaves(value, f"{path}.{position}" if path else str(position))
    else:
        yield path, tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False)
