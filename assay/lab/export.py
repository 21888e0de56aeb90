"""`assay export`: a trained model as a folder for others, an adapter as it is or merged into its base."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from assay.errors import UsageError


def export(model: str, folder: Path, *, merge: bool = False) -> Path:
    """Writes the model that a run ended with, a base or a folder: what `transformers`, `peft` and vLLM load."""
    from assay.bases import locate
    from assay.policy import load_policy, save_policy

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; name a folder that is not, or an empty one.")
    policy = load_policy(locate(model))
    if merge and policy.transformer.lora is None:
        raise UsageError(f"{model} has no adapter to merge; leave --merge out.")
    save_policy(policy, folder, merge=merge)
    return folder


def run_export(arguments: argparse.Namespace) -> Any:
    path = export(arguments.model, arguments.folder, merge=arguments.merge)
    if not arguments.json:
        sys.stdout.write(f"{path}\n")
    return {"model": arguments.model, "folder": str(path), "merged": arguments.merge}


VERB = (
    "write a trained model, or its adapter, as a folder that others load",
    [
        (("model",), {"metavar": "MODEL|RUN"}),
        (("folder",), {"type": Path, "metavar": "FOLDER", "help": "new or empty"}),
        (("--merge",), {"action": "store_true", "help": "an adapter becomes one model with its base"}),
    ],
    run_export,
)
