"""Environments of other libraries. Each library lives in an environment of its own, because their requirements exclude
each other; a host program there speaks JSON lines with a play of ours. No library is imported here.

    python -m assay.worlds.foreign textarena  # makes the environment of TextArena, below the folder of the cache
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.host.cache import cache_folder

HOSTS = Path(__file__).with_name("hosts")


@dataclass(frozen=True)
class Bridge:
    """A library whose environments can be played.

    BRIDGES["textarena"].python()  # the interpreter of its environment
    """

    name: str  # its tasks are NAME:ENVIRONMENT
    about: str
    example: str  # the name of a task of it
    module: str  # what a program in its environment imports
    requires: str  # what pip installs
    served: bool = False  # it is reached over a network: its environment is for servers on this machine alone
    seats: int = 1  # of an environment, if its name does not say (NAME@SEATS)
    repeats: bool = False  # the same seed and acts give the same replies

    @property
    def host(self) -> tuple[str, str]:
        """The program that speaks for it, for its interpreter."""
        return str(HOSTS / "lines.py"), str(HOSTS / f"{self.name}_host.py")

    @property
    def folder(self) -> Path:
        return cache_folder() / "environments" / self.name

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"python -m assay.worlds.foreign {self.name}"

    def found(self) -> Path | None:
        """The interpreter of its environment, or this one where the library is installed beside Assay; None if it is
        nowhere.
        """
        own = self.folder / "bin" / "python"
        if own.is_file():
            return own
        return Path(sys.executable) if importlib.util.find_spec(self.module) is not None else None

    def python(self) -> Path:
        """The same; that it is missing is an error."""
        if (interpreter := self.found()) is None:
            raise ConfigError(f"{self.name} ({self.about}) is not installed: run `{self.install}`.")
        return interpreter


BRIDGES = {
    bridge.name: bridge
    for bridge in (
        Bridge(
            "pettingzoo",
            "games of several players, the classic ones of PettingZoo",
            "pettingzoo:tictactoe_v3",
            "pettingzoo",
            "pettingzoo[classic]>=1.25,<2",
            seats=2,
            repeats=True,
        ),
        Bridge(
            "textarena",
            "games in words, for one player or several",
            "textarena:KuhnPoker-v0",
            "textarena",
            "textarena>=0.7,<0.8",
            seats=2,
            repeats=True,
        ),
        Bridge(
            "gem",
            "Gymnasium's five-tuple on texts, the environments of GEM",
            "gem:game:GuessTheNumber-v0-easy",
            "gem",
            "gem-llm>=0.1,<0.2",
            repeats=True,
        ),
        Bridge(
            "skyrl",
            "environments of SkyRL-Gym, with a row of a file for each problem",
            "skyrl:gsm8k@rows.jsonl",
            "skyrl_gym",
            "skyrl-gym>=0.4,<0.5",
        ),
        Bridge(
            "openenv",
            "a server of OpenEnv, over its WebSocket",
            "openenv:localhost:8000",
            "openenv",
            "openenv-core>=0.3,<0.4",
            served=True,
        ),
    )
}
