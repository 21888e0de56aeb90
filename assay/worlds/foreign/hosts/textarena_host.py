"""Games of TextArena, which reads the moves itself. It draws from the random numbers of the process: one game at a
time.
"""

import textarena  # pyright: ignore[reportMissingImports]
from lines import Game, Said


def play(name: str, seed: int, given: Said) -> Game:
    env = textarena.make(name)
    env.reset(num_players=given["seats"], seed=seed)
    done = False
    while not done:
        seat, seen = env.get_observation()
        text = yield {"seat": seat, "say": seen, "whole": True}
        done, _ = env.step(text)
    won, about = env.close()
    seats = range(given["seats"])
    wrong = [seat for seat in seats if about.get(seat, {}).get("invalid_move")]
    yield {"end": "ended", "won": [float(won.get(seat, 0)) for seat in seats], "wrong": wrong}
