"""Kuhn's poker (Kuhn 1950): three cards, one for each player, a chip from each, and one bet of one chip.

`p` passes (a check, or a fold behind a bet) and `b` bets (or calls). Histories end as pp, bp, bb, pbp and pbb. The game
is worth -1/18 to who moves first, whoever plays best.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from assay.worlds.matches import Mixed, Rules
from assay.worlds.play import Spec

CARDS = ("jack", "queen", "king")  # the last is the highest
VALUE = -1 / 18  # of the game, to the first player
WORST = 3.0  # what a turn without a legal move costs: a chip more than the most that can be lost by legal moves
_OVER = ("pp", "bp", "bb", "pbp", "pbb")
_STATES = (("", "pb"), ("p", "b"))  # the histories at which each player moves

Strategy = Callable[[str], Mixed]
"""Information state -> move -> probability."""


def _deal(generator: np.random.Generator, level: int) -> Spec:
    first, second = generator.permutation(3)[:2]
    return {"first": CARDS[int(first)], "second": CARDS[int(second)]}


def _legal(spec: Spec, history: str) -> str:
    return "" if history in _OVER else "pb"


def _payoff(spec: Spec, history: str) -> float:
    """Who folds loses a chip; a showdown is for one chip, or for two behind a bet and a call."""
    if history in ("bp", "pbp"):
        return 1.0 if history == "bp" else -1.0
    higher = CARDS.index(spec["first"]) > CARDS.index(spec["second"])
    return (1.0 if higher else -1.0) * (1 if history == "pp" else 2)


def _state(card: str, history: str) -> str:
    """`1J` is the first player with a jack at the beginning, `2bK` the second with a king behind a bet."""
    return f"{1 + len(history) % 2}{history}{card[0].upper()}"


def _shown(spec: Spec, history: str) -> str:
    return _state(spec["second" if len(history) % 2 else "first"], history)


_SAID = {
    "": "You move first.",
    "p": "The other player has checked.",
    "b": "The other player has bet.",
    "pb": "You have checked, and the other player has bet.",
}


def _told(state: str) -> str:
    card = next(card for card in CARDS if card[0].upper() == state[-1])
    choice = "[fold] or [call]" if state[1:-1].endswith("b") else "[check] or [bet]"
    return (
        "You play a poker game for two with three cards: jack, queen and king, of which the king is the highest. Each "
        "player has put in one chip and holds one card. A bet is one chip more. Who folds loses what is in; else the "
        f"higher card takes it. Your card is the {card}. {_SAID[state[1:-1]]} Think, and end with {choice}."
    )


def equilibrium(alpha: float) -> Strategy:
    """Kuhn's equilibria, one for each alpha from 0 to 1/3: the first player bets a jack with probability alpha, a king
    with 3 alpha, and calls with a queen with alpha + 1/3. The second player has one alone.
    """
    bets = {"1J": alpha, "1Q": 0.0, "1K": 3 * alpha, "1pbJ": 0.0, "1pbQ": alpha + 1 / 3, "1pbK": 1.0}
    bets |= {"2pJ": 1 / 3, "2pQ": 0.0, "2pK": 1.0, "2bJ": 0.0, "2bQ": 1 / 3, "2bK": 1.0}
    return lambda state: {"p": 1 - bets[state], "b": bets[state]}


KUHN = Rules(
    name="kuhn",
    about="Kuhn's poker: three cards, one bet, hidden cards",
    levels=range(1, 2),
    deal=_deal,
    mover=lambda history: len(history) % 2,
    legal=_legal,
    payoff=_payoff,
    shown=_shown,
    told=_told,
    best=equilibrium(1 / 6),
    words={"check": "p", "fold": "p", "pass": "p", "bet": "b", "call": "b"},
    worst=WORST,
    hides=(("first",), ("second",)),
)

STATES = tuple(_state(card, history) for own in _STATES for card in CARDS for history in own)
"""All twelve information states: those of the first player, then those of the second."""


# What a strategy is worth, exactly


def average_strategy(strategies: Sequence[Strategy]) -> Strategy:
    """Who plays it is as who draws one of the strategies before each game: behind a check, a strategy counts as often
    as it has checked. In fictitious play this converges, where the last strategy may go in circles.
    """
    mean: dict[str, Mixed] = {}
    for state in STATES:
        checked = [one(f"1{state[-1]}")["p"] if state.startswith("1pb") else 1.0 for one in strategies]
        parts = checked if sum(checked) else [1.0] * len(strategies)
        mean[state] = {
            move: sum(part * one(state)[move] for part, one in zip(parts, strategies, strict=True)) / sum(parts)
            for move in "pb"
        }
    return mean.__getitem__


def deals() -> Iterator[Spec]:
    """The six deals, which are equally likely."""
    for first, second in itertools.permutations(CARDS, 2):
        yield {"first": first, "second": second}


def worth(spec: Spec, first: Strategy, second: Strategy, history: str = "") -> float:
    """What the first player wins on average from here on. A turn without a legal move loses `WORST`."""
    if not _legal(spec, history):
        return _payoff(spec, history)
    chances = (first, second)[len(history) % 2](_shown(spec, history))
    legal = {move: chances.get(move, 0.0) for move in "pb"}
    lost = 1 - sum(legal.values())
    on = sum(chance * worth(spec, first, second, history + move) for move, chance in legal.items() if chance)
    return on + lost * WORST * (1 if len(history) % 2 else -1)


def value(first: Strategy, second: Strategy) -> float:
    """What the first player wins a game on average, over all deals."""
    return sum(worth(spec, first, second) for spec in deals()) / 6


def best_reply(player: int, against: Strategy) -> float:
    """The most that a player (0 or 1) wins a game against a strategy: for each card, the best of all its plans."""
    total = 0.0
    for card in CARDS:
        mine = [spec for spec in deals() if spec[("first", "second")[player]] == card]
        totals = []
        for moves in itertools.product("pb", repeat=2):
            plan = {_state(card, at): {move: 1.0} for at, move in zip(_STATES[player], moves, strict=True)}
            own: Strategy = plan.__getitem__
            won = [worth(spec, *((own, against) if player == 0 else (against, own))) for spec in mine]
            totals.append(sum(won) * (1 if player == 0 else -1))
        total += max(totals)
    return total / 6


def exploitability(first: Strategy, second: Strategy) -> float:
    """How much best replies win of this pair of strategies, the mean of both seats (half of what is called NashConv); 0
    for an equilibrium and for nothing else.
    """
    return (best_reply(0, second) + best_reply(1, first)) / 2
