"""`assay export`: a trained model as a folder for others, with its card; an adapter as it is or merged."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

from assay import terminal
from assay.errors import UsageError

STEP = re.compile(r"step-(\d{8,})")  # folders of checkpoints


def export(model: str, folder: Path, *, merge: bool = False) -> Path | None:
    """Writes the model that a run ended with, a base or a folder: what `transformers`, `peft` and vLLM load. Of a run,
    or one of its checkpoints, a model card is written beside it; the card that another folder has is copied. Its path,
    None where there is nothing to write one from.
    """
    from assay.bases import locate
    from assay.policy import load_policy, save_policy
    from assay.trained import origin
    from assay.view.card import NAME, write_card

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; name a folder that is not, or an empty one.")
    place = locate(model)
    policy = load_policy(place)
    if merge and policy.transformer.lora is None:
        raise UsageError(f"{model} has no adapter to merge; leave --merge out.")
    save_policy(policy, folder, merge=merge)
    if (run := origin(place)) is not None:
        step = next((int(found[1]) for part in Path(place).parts if (found := STEP.fullmatch(part))), None)
        return write_card(run.path, folder, step=step, merged=merge)
    if (Path(place) / NAME).is_file():
        return Path(shutil.copyfile(Path(place) / NAME, folder / NAME))
    return None


def run_export(arguments: argparse.Namespace) -> Any:
    card = export(arguments.model, arguments.folder, merge=arguments.merge)
    if card is None:
        terminal.say(f"no model card: {arguments.model} is no run, and has none of its own")
    if not arguments.json:
        terminal.show(str(arguments.folder))
    return {
        "model": arguments.model,
        "folder": str(arguments.folder),
        "merged": arguments.merge,
        "card": None if card is None else str(card),
    }
