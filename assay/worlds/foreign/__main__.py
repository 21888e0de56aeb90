"""`python -m assay.worlds.foreign NAME ...` makes the environments of these libraries; without a name, of all."""

from __future__ import annotations

import subprocess
import sys
import venv

from assay.errors import UsageError, unknown
from assay.host import terminal
from assay.host.cache import locked
from assay.worlds.foreign import BRIDGES, Bridge


def make(bridge: Bridge) -> None:
    """Makes the environment of a library, or brings one that is there to the wanted version."""
    with locked(bridge.folder):
        python = bridge.folder / "bin" / "python"
        if not python.is_file():
            venv.create(bridge.folder, with_pip=True)
        line = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", bridge.requires]
        if subprocess.run(line, check=False).returncode:
            raise UsageError(f"{bridge.name} could not be installed by `{' '.join(line)}`.")


def main(names: list[str]) -> None:
    """Makes the environments in turn."""
    for name in names or BRIDGES:
        if name not in BRIDGES:
            raise unknown("environment", name, BRIDGES, "assay list worlds")
        make(BRIDGES[name])
        terminal.say(f"{name}: {BRIDGES[name].folder}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError as error:
        sys.exit(str(error))
