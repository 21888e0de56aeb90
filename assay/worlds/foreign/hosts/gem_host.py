"""Environments of GEM: Gymnasium's five-tuple, with texts as observations and actions."""

import gem  # pyright: ignore[reportMissingImports]
from lines import Game, Said


def play(name: str, seed: int, given: Said) -> Game:
    env = gem.make(name)
    seen, _ = env.reset(seed=seed)
    won = 0.0
    while True:
        text = yield {"say": str(seen), "won": [won]}
        seen, reward, ended, cut, _ = env.step(text)
        won += float(reward)
        if ended or cut:
            yield {"end": "ended" if ended else "limit", "won": [won]}
            return
