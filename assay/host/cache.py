"""The folder in which Assay keeps models and files that it can make again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$ASSAY_CACHE`, or `assay` in the user's cache folder."""
    if chosen := os.environ.get("ASSAY_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
