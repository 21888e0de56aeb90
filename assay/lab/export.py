"""`assay export`: writes a trained model and its model card to a folder; an adapter alone, or merged into its base."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

from assay.errors import UsageError
from assay.host import terminal

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

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; name a new or empty folder.")
    source = ready(model)
    policy = load_policy(source)
    if merge and policy.transformer.lora is None:
        raise UsageError(f"{model} has no adapter to merge; leave --merge out.")
    save_policy(policy, folder, merge=merge)
    if (run := origin(source)) is not None:
        step = next((int(match[1]) for part in Path(source).parts if (match := STEP.fullmatch(part))), None)
        return write_card(run.path, folder, step=step, merged=merge)
    if (Path(source) / NAME).is_file():
        return Path(shutil.copyfile(Path(source) / NAME, folder / NAME))
    if (provenance := provenance_in(policy.tokenizer.files, model)) is not None:
        (folder / NAME).write_text(base_card(provenance, fingerprint(policy)))
        return folder / NAME
    return None


def run_export(arguments: argparse.Namespace) -> Any:
    card = export(arguments.model, arguments.folder, merge=arguments.merge)
    if card is None:
        terminal.say(f"no model card was written: {arguments.model} is not a run, and has no card of its own")
    if not arguments.json:
        terminal.show(str(arguments.folder))
    return {
        "model": arguments.model,
        "folder": str(arguments.folder),
        "merged": arguments.merge,
        "card": None if card is None else str(card),
    }
