"""Runs that earlier versions wrote, in archives beside the tests of the method that they are of."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

from assay.policy import fingerprint, load_policy
from assay.record import manifest


def opened(archive: Path, folder: Path) -> Path:
    """The run of an archive. Its model is not there: weights of the first checkpoint stand for it."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (run,) = (folder / "assay-old").iterdir()
    model = folder / "assay-old" / "model"
    shutil.copytree(min(run.glob("ckpt/step-*")) / "policy", model)
    identity = {"model": str(model), "weights": fingerprint(load_policy(model))}
    document = json.loads((run / "run.json").read_text())
    document["experiment"]["model"] = str(model)
    document["identity"] |= identity
    (run / "run.json").write_text(json.dumps(document))
    for path in run.glob("ckpt/*/MANIFEST.json"):
        written = json.loads(path.read_text())
        del written["seal"]
        written["identity_fields"] |= identity
        written["identity"] = manifest.fingerprint(written["identity_fields"])
        path.write_bytes(manifest.seal(written))
    return run
