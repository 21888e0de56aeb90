"""Games for two: rules and best play by hand and by enumeration, what each seat may know, and errors of players."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import check_world
from assay.errors import UnknownName
from assay.reward import Graded, Outcome
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Reward, Verdict
from assay.worlds import Act, Reply
from assay.worlds.matches import PAYOFF, Match, Rules
from assay.worlds.matches.kuhn import CARDS, KUHN, STATES, WORST, average_strategy, equilibrium, exploitability, value
from assay.worlds.matches.nim import NIM

GAMES = ("kuhn", "kuhn-opponent", "kuhn-uniform", "kuhn-best", "nim", "nim-opponent", "nim-uniform", "nim-best")
ROOT = Fraction(1, 3)


def uniform(state: str) -> dict[str, float]:
    return {"p": 0.5, "b": 0.5}


# Kuhn's poker by enumeration of all pure strategies, in fractions


def tree(first: int, second: int, bet: tuple[Any, ...], history: str = "") -> Fraction:
    """What the first player wins: `bet` has, for each player, the probability of b by (card, history)."""
    if history in ("pp", "bb", "pbb"):
        return Fraction((1 if first > second else -1) * (2 if history.endswith("bb") else 1))
    if history in ("bp", "pbp"):
        return Fraction(1 if history == "bp" else -1)
    mover = len(history) % 2
    chance = bet[mover][(first, second)[mover], history]
    on = [(chance, "b"), (1 - chance, "p")]
    return sum((c * tree(first, second, bet, history + move) for c, move in on if c), Fraction(0))


def average(bet: tuple[Any, ...]) -> Fraction:
    return sum((tree(a, b, bet) for a, b in itertools.permutations(range(3), 2)), Fraction(0)) / 6


def pure(player: int) -> list[Mapping[tuple[int, str], Fraction]]:
    places = [(card, history) for card in range(3) for history in (("", "pb"), ("p", "b"))[player]]
    return [dict(zip(places, map(Fraction, bits), strict=True)) for bits in itertools.product((0, 1), repeat=6)]


def by_enumeration(first: Mapping[Any, Fraction], second: Mapping[Any, Fraction]) -> Fraction:
    best = max(average((own, second)) for own in pure(0)) + max(-average((first, own)) for own in pure(1))
    return best / 2


def known(bet: Mapping[tuple[int, str], Fraction], player: int) -> dict[str, dict[str, float]]:
    """The same as a strategy of ours."""
    return {
        f"{player + 1}{history}{'JQK'[card]}": {"p": float(1 - chance), "b": float(chance)}
        for (card, history), chance in bet.items()
    }


def test_by_chance_kuhns_poker_can_be_beaten_by_eleven_in_twenty_four() -> None:
    halves = [dict.fromkeys(pure(player)[0], Fraction(1, 2)) for player in (0, 1)]
    assert by_enumeration(*halves) == Fraction(11, 24) and average(tuple(halves)) == Fraction(1, 8)
    assert exploitability(uniform, uniform) == pytest.approx(11 / 24) and value(uniform, uniform) == pytest.approx(
        1 / 8
    )


@pytest.mark.parametrize("alpha", [0.0, 1 / 12, 1 / 6, 1 / 3])
def test_each_equilibrium_is_worth_the_value_and_cannot_be_beaten(alpha: float) -> None:
    best = equilibrium(alpha)
    assert value(best, best) == pytest.approx(-1 / 18) and exploitability(best, best) == pytest.approx(0, abs=1e-12)
    assert exploitability(best, uniform) > 0.05 and exploitability(uniform, best) > 0.05


CHANCES = st.lists(st.integers(0, 4), min_size=24, max_size=24)


def drawn(numbers: list[int]) -> dict[str, dict[str, float]]:
    """A strategy out of 24 numbers. Of the 8 parts of each state up to 8 are moves; the rest is no legal move."""
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return {state: {"p": p / 8, "b": b / 8} for state, (p, b) in zip(STATES, pairs, strict=True)}


@settings(max_examples=20, deadline=None)
@given(strategies=st.lists(CHANCES, min_size=1, max_size=3), other=CHANCES)
def test_the_average_wins_what_its_strategies_win_on_average(strategies: list[list[int]], other: list[int]) -> None:
    """On either seat, and against anybody: to play the average is to draw one of the strategies before each game."""
    players, against = [drawn(numbers).__getitem__ for numbers in strategies], drawn(other).__getitem__
    mean = average_strategy(players)
    first = [value(player, against) for player in players]
    second = [value(against, player) for player in players]
    assert value(mean, against) == pytest.approx(sum(first) / len(first), abs=1e-12)
    assert value(against, mean) == pytest.approx(sum(second) / len(second), abs=1e-12)


def test_behind_a_check_a_strategy_counts_as_often_as_it_checks() -> None:
    """Of four games behind a check three are those of who always checks and calls, and one is of who folds."""
    checks = {state: {"p": 1.0, "b": 0.0} if len(state) == 2 else {"p": 0.0, "b": 1.0} for state in STATES}
    mixed = {state: {"p": 1 / 3, "b": 2 / 3} if len(state) == 2 else {"p": 1.0, "b": 0.0} for state in STATES}
    mean = average_strategy([checks.__getitem__, mixed.__getitem__])
    assert mean("1J") == pytest.approx({"p": 2 / 3, "b": 1 / 3})
    assert mean("1pbJ") == pytest.approx({"p": 1 / 4, "b": 3 / 4})
    assert mean("2bJ") == pytest.approx({"p": 1 / 2, "b": 1 / 2})


def test_beyond_the_family_there_is_no_equilibrium() -> None:
    beyond = {state: dict(equilibrium(1 / 3)(state)) for state in STATES}
    beyond["1J"] = {"p": 0.6, "b": 0.4}
    assert exploitability(beyond.__getitem__, beyond.__getitem__) > 0.01


CHANCES = st.lists(st.integers(0, 4), min_size=12, max_size=12)


@settings(max_examples=20)
@given(CHANCES)
def test_best_replies_are_those_of_all_pure_strategies(drawn: list[int]) -> None:
    """Of one card at a time, which is enough, because a player sees its card."""
    places = [list(pure(player)[0]) for player in (0, 1)]
    chances = iter([Fraction(number, 4) for number in drawn])
    first, second = ({place: next(chances) for place in own} for own in places)
    expected = sum(
        (
            max(sign * average(pair(own, other)) for own in one_card(player, card))
            - sign * average(pair(dict.fromkeys(places[player], Fraction(0)), other))
            for player, other, sign, pair in (
                (0, second, 1, lambda own, other: (own, other)),
                (1, first, -1, lambda own, other: (other, own)),
            )
            for card in range(3)
        ),
        Fraction(0),
    )
    zero = [dict.fromkeys(places[player], Fraction(0)) for player in (0, 1)]
    expected += average((zero[0], second)) - average((first, zero[1]))
    mine, theirs = known(first, 0), known(second, 1)
    assert exploitability(mine.__getitem__, theirs.__getitem__) == pytest.approx(float(expected / 2))


def one_card(player: int, card: int) -> list[dict[tuple[int, str], Fraction]]:
    """The pure strategies that bet with this card alone."""
    return [
        {place: chance if place[0] == card else Fraction(0) for place, chance in own.items()}
        for own in pure(player)
        if all(not chance or place[0] == card for place, chance in own.items())
    ]


def test_a_turn_without_a_move_loses_more_than_any_bet() -> None:
    """Who never moves loses `WORST`; against it a best reply wins that much, and from it nothing can be won."""
    silent = lambda state: {}  # noqa: E731
    assert value(silent, uniform) == -WORST and WORST > 2
    half = lambda state: {"p": 0.25, "b": 0.25}  # noqa: E731
    assert value(half, uniform) == pytest.approx(-WORST / 2 + by_hand() / 2)


def by_hand() -> float:
    """What the first player wins on average with halves behind a first move, where it moves with probability 1/2 at
    its second turn too: bets are worth 0, and win 1 where the second player folds; passes are worth 0 or a bet, which
    is lost at 1, met at 0, or costs `WORST`.
    """
    return 0.5 * (0.5 * 1 + 0.5 * 0) + 0.5 * (0.5 * 0 + 0.5 * (0.25 * -1 + 0.25 * 0 + 0.5 * -WORST))


# The world


def play(name: str, *texts: str, deal: Mapping[str, Any] | None = None) -> tuple[Match, list[Reply]]:
    known = task(f"game:{name}")
    assert known.world is not None
    spec = {**known.problem(Key(0), level=1).spec, **(deal or {})}
    match = known.world.start(spec, Key(7))
    assert isinstance(match, Match)
    replies = [match.open()]
    for text in texts:
        assert replies[-1].ask is not None
        replies.append(match.step(Act(replies[-1].ask.seat, text)))
    return match, replies


def won(match: Match) -> tuple[float | None, float | None]:
    verdicts = match.judge()
    return verdicts["first"].scores[PAYOFF], verdicts["second"].scores[PAYOFF]


@pytest.mark.parametrize(("moves", "queen_and_king"), [("pp", -1), ("bp", 1), ("bb", -2), ("pbp", -1), ("pbb", -2)])
def test_payoffs_by_hand(moves: str, queen_and_king: float) -> None:
    match, replies = play("kuhn", *moves, deal={"first": "queen", "second": "king"})
    assert replies[-1].end == "ended" and not replies[-1].failed and won(match) == (queen_and_king, -queen_and_king)
    match, _ = play("kuhn", *moves, deal={"first": "king", "second": "queen"})
    folded = moves in ("bp", "pbp")
    assert won(match)[0] == (queen_and_king if folded else -queen_and_king)
    assert {verdict.status for verdict in match.judge().values()} == {"ok", "fail"}


def test_each_seat_reads_its_own_card_and_the_moves() -> None:
    _, replies = play("kuhn", "p", "b", "p", deal={"first": "queen", "second": "king"})
    asks = [reply.ask for reply in replies[1:-1]]
    assert [(a.seat, a.say[0].text, a.context) for a in asks if a] == [
        ("second", "2pK", "replace"),
        ("first", "1pbQ", "replace"),
    ]
    assert task("game:kuhn").wordings.compact({"first": "queen", "second": "king"}) == "1Q"


@pytest.mark.parametrize("state", STATES)
def test_in_words_a_seat_hears_of_its_own_card_alone(state: str) -> None:
    said = KUHN.told(state)
    card = {"J": "jack", "Q": "queen", "K": "king"}[state[-1]]
    assert f"Your card is the {card}." in said and said.count("Your card") == 1
    assert ("[call]" in said) == ("b" in state) == ("has bet" in said)


@pytest.mark.parametrize("text", ["", "x", "pb", "[raise]", "[" * 5000, "\x00", "9" * 10**6, "check or bet"])
def test_what_is_no_legal_move_is_the_movers_error(text: str) -> None:
    match, replies = play("kuhn", "b", text)
    assert replies[-1].end == "ended" and replies[-1].failed and not replies[-1].fault
    assert won(match) == (WORST, -WORST)
    assert match.judge()["second"].kind == "format" and match.judge()["first"].status == "ok"


@pytest.mark.parametrize("text", ["b", " B\n", "I think of the odds... [bet]", "[fold] is weak, so [call]", "call"])
def test_moves_are_read_as_a_letter_or_as_the_last_word_in_brackets(text: str) -> None:
    assert KUHN.read({}, "", text) == "b"


def test_who_is_cut_by_a_limit_has_made_no_move() -> None:
    match, _ = play("kuhn", "p")
    assert won(match) == (WORST, -WORST) and match.judge()["second"].kind == "format"


@pytest.mark.parametrize("name", GAMES)
def test_every_game_keeps_the_contract_of_a_world(name: str) -> None:
    assert check_world(f"game:{name}", plays=12).plays == 12


@pytest.mark.parametrize(("name", "rules"), [("kuhn", KUHN), ("nim", NIM)])
def test_every_course_of_a_game_can_be_played_and_adds_up_to_nothing(name: str, rules: Rules) -> None:
    known, ends = task(f"game:{name}"), 0
    spec = known.problem(Key(3), level=1).spec
    open_ = [""]
    while open_:
        history = open_.pop()
        if moves := rules.legal(spec, history):
            open_ += [history + move for move in moves]
            continue
        match, replies = play(name, *history, deal=spec)
        first, second = won(match)
        assert first is not None and second == -first == -rules.payoff(spec, history) and abs(first) < rules.worst
        assert replies[-1].end == "ended"
        ends += 1
    assert ends >= 5


def test_the_world_plays_the_second_seat_by_its_key_alone() -> None:
    """Against an equilibrium that calls with a queen once in three, and with a king always."""
    calls = {"queen": 0, "king": 0, "jack": 0}
    world = task("game:kuhn-best").world
    assert world is not None
    for card, number in itertools.product(calls, range(300)):
        other = "jack" if card != "jack" else "king"
        spec = {"first": other, "second": card, "opponent": "best", "seed": 0}
        histories = set()
        for _ in range(2):
            match = world.start(spec, Key(number))
            assert isinstance(match, Match)
            assert match.step(Act("first", "b")).end == "ended"
            histories.add(match.history)
        (history,) = histories
        calls[card] += history == "bb"
    assert calls["jack"] == 0 and calls["king"] == 300 and 70 < calls["queen"] < 130


def minimax(left: int) -> set[int]:
    """The moves at a heap after which the other player loses against the best play."""
    return {count for count in (1, 2, 3) if count <= left and not minimax(left - count)}


@pytest.mark.parametrize("heap", range(1, 12))
def test_the_best_play_of_nim_is_that_of_the_whole_tree(heap: int) -> None:
    best = NIM.best(f"n{heap}")
    winning = minimax(heap)
    assert sum(best.values()) == pytest.approx(1)
    if winning:
        assert {int(move) for move in best} == winning
    assert all(int(move) <= heap for move in best) or not winning


def test_any_legal_move_is_right_where_moves_are_learnt() -> None:
    for name in ("kuhn", "nim"):
        known = task(f"game:{name}-moves")
        for number in range(40):
            problem = known.problem(Key(0)(number), level=1)
            assert problem.solution is not None and known.verify(problem, problem.solution).status == "ok"
            assert known.verify(problem, "8").kind == "format"


def test_games_and_opponents_that_there_are_not() -> None:
    for name, words in (("chess", "no game named 'chess'"), ("kuhn-nobody", "no opponent named 'nobody'")):
        with pytest.raises(UnknownName, match=words):
            task(f"game:{name}")


def test_the_outcome_of_a_game_is_what_was_won() -> None:
    def outcome_of(name: str, verdict: Verdict) -> list[Reward | None]:
        problem = task(name).problem(Key(0), level=task(name).generator.levels[0])
        request: Any = type("Asked", (), {"problem": problem})()
        return [
            does([Episode(request, (), "stop", verdict=verdict)], right=1.0, wrong=0.0, **more)[0]
            for does, more in ((Outcome.does, {"max_new": 8}), (Graded.does, {"malformed": -9.0}))
        ]

    lost = Verdict("fail", "format", scores={PAYOFF: -3.0})
    assert [r.value for r in outcome_of("game:kuhn", lost) if r] == [-3.0, -3.0]
    assert [r.value for r in outcome_of("game:kuhn", Verdict("ok", scores={PAYOFF: 2.0})) if r] == [2.0, 2.0]
    assert [r.value for r in outcome_of("countdown", Verdict("ok", scores={PAYOFF: 2.0})) if r] == [1.0, 1.0]


def test_cards_are_dealt_alike() -> None:
    known = task("game:kuhn")
    deals = [known.problem(Key(1)(number), level=1).spec for number in range(600)]
    counted = [sum((d["first"], d["second"]) == pair for d in deals) for pair in itertools.permutations(CARDS, 2)]
    assert sum(counted) == 600 and min(counted) > 70
