"""`assay export`: writes a trained model and its card to a folder, or to the Hub; an adapter alone, or merged."""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.push import Target

STEP = re.compile(r"step-(\d{8,})")  # name of a checkpoint's folder


def export(model: str, folder: Path, *, merge: bool = False) -> Path | None:
    """Writes a model to a new folder that `transformers`, `peft` and vLLM can load; returns the path of its card.

    `model` is a run (its last checkpoint), a checkpoint of a run, a base or a model folder. For a run a model card is
    written; the card of a model folder is copied, or one is made of what is known of its weights. Without any of these
    the result is None.
    """
    from assay.policy import fingerprint, load_policy, save_policy
    from assay.policy.provenance import provenance_in
    from assay.run.ancestry import origin
    from assay.run.base_training import ready
    from assay.view.card import NAME, base_card, write_card

    _require_new(folder)
    source = ready(model)
    policy = load_policy(source)
    if merge and policy.adapter is None:
        raise UsageError(f"{model} has no adapter to merge; leave --merge out.")
    save_policy(policy, folder, merge=merge)
    if (run := origin(source)) is not None:
        step = next((int(match[1]) for part in Path(source).parts if (match := STEP.fullmatch(part))), None)
        return write_card(run.path, folder, step=step, merged=merge)
    if (Path(source) / NAME).is_file():
        return Path(shutil.copyfile(Path(source) / NAME, folder / NAME))
    if (provenance := provenance_in(policy.codec.files, model)) is not None:
        (folder / NAME).write_text(base_card(provenance, fingerprint(policy)))
        return folder / NAME
    return None


def _require_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; name a new or empty folder.")


def published(
    model: str, target: Target, folder: Path | None = None, *, merge: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Writes a model and pushes it to the Hub; returns what was uploaded, with its address.

    published("runs/first", Target("me/first"))

    Without `folder` the files are gone afterwards. With `dry_run` nothing is made on the Hub, and nothing left here.
    """
    from assay.lab.push import name_in_card, outline, push, repository_of, require_base_elsewhere

    if folder is not None:
        _require_new(folder)
    repository = repository_of(target)
    with _kept(None if dry_run else folder) as files:
        card = export(model, files, merge=merge)
        require_base_elsewhere(files)
        name_in_card(card, target)
        with _goes_on_from(folder if not dry_run else None, target):
            done = outline(repository, files) if dry_run else push(repository, files)
        return {"merged": merge, "card": card is not None, "dry_run": dry_run, **done}


@contextlib.contextmanager
def _goes_on_from(folder: Path | None, target: Target) -> Iterator[None]:
    """Says of a push that failed how it is done again from the folder that is written."""
    try:
        yield
    except AssayError as error:
        if folder is None:
            raise
        raise type(error)(f"{error} The model is in {folder}: `assay export {folder} --push {target.name}`.") from None


@contextlib.contextmanager
def _kept(folder: Path | None) -> Iterator[Path]:
    """The folder to write; without one, a folder that is deleted afterwards."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="assay-push-") as scratch:
        yield Path(scratch) / "model"


def push_table(done: Mapping[str, Any]) -> str:
    """What a push did, or would do, as lines for a person; the last one is the address."""
    lines = [f"{entry['bytes']:>14,}  {entry['file']}" for entry in done["files"]]
    lines += [f"{'deleted':>14}  {name}" for name in done["deleted"]]
    kind = f"{'a new' if done['new'] else 'the'} {'private' if done['private'] else 'public'} repository"
    if done["dry_run"]:
        last = f"nothing was uploaded; this would go to {kind}"
    else:
        last = f"in {kind}" if done["changed"] else f"nothing had changed in {kind}"
    return "\n".join([*lines, last, done["url"]])


def run_export(arguments: argparse.Namespace) -> Any:
    if arguments.push is not None:
        return _run_push(arguments)
    lone = [name for name in ("public", "revision", "message", "dry_run") if getattr(arguments, name)]
    if lone:
        raise UsageError(f"--{lone[0].replace('_', '-')} says how to push: add --push OWNER/NAME, or leave it out.")
    if arguments.folder is None:
        raise UsageError("name the folder to write, or the repository of the Hub: --push OWNER/NAME.")
    card = export(arguments.model, Path(arguments.folder), merge=arguments.merge)
    _tell_card(card is not None, arguments.model)
    if not arguments.json:
        terminal.show(str(arguments.folder))
    return {
        "model": arguments.model,
        "folder": str(arguments.folder),
        "merged": arguments.merge,
        "card": None if card is None else str(card),
    }


def _run_push(arguments: argparse.Namespace) -> Any:
    from assay.lab.push import MAIN, Target

    how = {"public": arguments.public, "revision": arguments.revision or MAIN, "message": arguments.message or ""}
    target = Target(arguments.push, **how)
    folder = None if arguments.folder is None else Path(arguments.folder)
    done = published(arguments.model, target, folder, merge=arguments.merge, dry_run=arguments.dry_run)
    _tell_card(done["card"], arguments.model)
    if not arguments.json:
        terminal.show(push_table(done))
    return {"model": arguments.model, "folder": arguments.folder, **done}


def _tell_card(written: bool, model: str) -> None:
    if not written:
        terminal.say(f"no model card was written: {model} is not a run, and has no card of its own")
