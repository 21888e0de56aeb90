"""`game:kuhn`: games for two. An answer is worth what its seat wins, and is right where that is more than nothing.

`game:NAME` is self-play, with the policy on both seats. `game:NAME-opponent` has another role on the second seat, and
in `game:NAME-uniform` and `game:NAME-best` the world plays it: by chance, or as an equilibrium does.

`game:NAME-moves` is no game: it shows what a seat reads at some moment of a game, and any legal move is right. Who
imitates its solutions can write moves, and plays by chance.
"""

from __future__ import annotations

import functools

import numpy as np

from assay.errors import unknown
from assay.rng import digest
from assay.tasks.abilities import PlayedFrom
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds.matches import DOMAIN, Rules, match
from assay.worlds.matches.kuhn import KUHN
from assay.worlds.matches.nim import NIM

GAMES = {rules.name: rules for rules in (KUHN, NIM)}
OPPONENTS = {
    "": "the policy itself",
    "opponent": "the role `opponent`",
    "uniform": "the world, by chance",
    "best": "the world, by the best play",
}

MOVES = "moves"


@functools.cache
def game_task(name: str) -> Task:
    """The task `game:NAME` or `game:NAME-OPPONENT`."""
    game, _, opponent = name.partition("-")
    if game not in GAMES:
        raise unknown("game", game, GAMES, "assay list worlds")
    if opponent == MOVES:
        return _moves(GAMES[game])
    if opponent not in OPPONENTS:
        raise unknown("opponent", opponent, [*filter(None, OPPONENTS), MOVES], "assay list worlds")
    rules, scripted = GAMES[game], opponent if opponent in ("uniform", "best") else ""
    return Task(
        name=f"game:{name}",
        domain=DOMAIN,
        summary=f"{rules.about}; the second player is {OPPONENTS[opponent]}",
        generator=Generator(rules.levels, functools.partial(_instance, rules, scripted), canonical=_canonical),
        wordings=Wordings(
            compact=lambda spec: rules.shown(spec, ""),
            natural=lambda spec: rules.told(rules.shown(spec, "")),
            solve=lambda spec: Solution(_legal_move(rules, spec, "")),
            unmarked=True,
        ),
        checker=Checker(check=lambda spec, answer: Verdict.fail("wrong", "the world says who won")),
        world=match(rules, second=None if scripted else opponent or "policy"),
        abilities=(PlayedFrom((f"game:{game}-{MOVES}",)),),
    )


def _instance(rules: Rules, opponent: str, generator: np.random.Generator, level: int) -> Spec:
    """A deal. Its seed tells it apart from others that are dealt alike."""
    return {**rules.deal(generator, level), "opponent": opponent, "seed": int(generator.integers(2**31))}


def _canonical(spec: Spec) -> str:
    return " ".join(str(value) for name, value in spec.items() if name != "opponent")


def _legal_move(rules: Rules, spec: Spec, history: str) -> str:
    """A legal move by chance, for imitation of how moves are written: what is good depends on the opponent."""
    moves = rules.legal(spec, history)
    return moves[int(digest("move", spec["seed"]), 16) % len(moves)]


def _moves(rules: Rules) -> Task:
    """The task of writing a legal move."""
    return Task(
        name=f"game:{rules.name}-{MOVES}",
        domain="moves",
        summary=f"{rules.about}; any legal move at a moment of a game is right",
        generator=Generator(rules.levels, functools.partial(_moment, rules), canonical=_canonical),
        wordings=Wordings(
            compact=lambda spec: rules.shown(spec, spec["history"]),
            natural=lambda spec: rules.told(rules.shown(spec, spec["history"])),
            solve=lambda spec: Solution(_legal_move(rules, spec, spec["history"])),
            unmarked=True,
        ),
        checker=Checker(check=functools.partial(_legal, rules)),
    )


def _moment(rules: Rules, generator: np.random.Generator, level: int) -> Spec:
    """A moment of a game in which all moves so far were made by chance."""
    spec = {**_instance(rules, "", generator, level), "history": ""}
    histories = [""]
    while moves := rules.legal(spec, histories[-1]):
        histories.append(histories[-1] + moves[int(generator.integers(len(moves)))])
    return {**spec, "history": histories[int(generator.integers(len(histories) - 1))]}


def _legal(rules: Rules, spec: Spec, answer: str) -> Verdict:
    move = rules.read(spec, spec["history"], answer)
    return Verdict.ok(move) if move else Verdict.fail("format", "no legal move")
