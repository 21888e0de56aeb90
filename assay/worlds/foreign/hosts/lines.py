"""The host program: `python lines.py gem_host.py` runs in the environment of another library, and imports nothing of
Assay's.

A library's game is a generator of two arguments and more: it yields what it says, and is sent what a seat wrote.

    {"seat": 0, "say": "Your move."}                a seat is asked; `whole`: this is all that it need read
    {"end": "ended", "won": [1, -1], "wrong": [1]}  the end: `ended` or `limit`, the returns, who broke a rule
"""

import json
import os
import runpy
import sys
from collections.abc import Callable, Generator
from typing import Any, TextIO

Said = dict[str, Any]
Game = Generator[Said, str, None]


def serve(play: Callable[[str, int, Said], Game], answers: TextIO) -> None:
    """Answers orders until the input ends: {"name", "seed", "given"} begins a game, {"text"} goes on with it."""
    game: Game | None = None
    for line in sys.stdin.buffer:
        order = json.loads(line)
        try:
            if "name" in order:
                game = play(order["name"], order["seed"], order["given"])
                said = next(game)
            else:
                said = game.send(order["text"]) if game else {"error": "no game has begun"}
        except Exception as error:  # told to the play, whose error it is
            said = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    to_us = os.fdopen(os.dup(1), "w", encoding="utf-8")  # a library that prints does not write between answers
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(runpy.run_path(sys.argv[1])["play"], to_us)
