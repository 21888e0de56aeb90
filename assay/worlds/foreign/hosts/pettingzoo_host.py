"""Classic games of PettingZoo: each turn shows the observation and the legal moves; a move is the last number said."""

import importlib
import re

import numpy as np
from lines import Game, Said


def words(seen: Said) -> str:
    """An observation and the legal moves. Of an observation with planes, each plane stands by itself."""
    array = np.asarray(seen["observation"]).astype(int)
    planes = np.moveaxis(array, -1, 0) if array.ndim == 3 else array[None]
    told = "\n\n".join("\n".join("".join(map(str, row)) for row in np.atleast_2d(plane)) for plane in planes)
    return f"{told}\nLegal moves: {' '.join(map(str, np.flatnonzero(seen['action_mask'])))}\nEnd with your move."


def play(name: str, seed: int, given: Said) -> Game:
    env = importlib.import_module(f"pettingzoo.classic.{name}").env()
    env.reset(seed=seed)
    agents = list(env.possible_agents)
    won = dict.fromkeys(agents, 0.0)
    while True:
        agent = env.agent_selection
        seen, _, ended, cut, _ = env.last()
        if ended or cut:
            yield {"end": "ended" if ended else "limit", "won": list(won.values())}
            return
        text = yield {"seat": agents.index(agent), "say": words(seen), "whole": True}
        numbers = re.findall(r"\d{1,5}", text[-400:])
        move = int(numbers[-1]) if numbers else -1
        if not (0 <= move < len(seen["action_mask"]) and seen["action_mask"][move]):
            lost = [-1 if other == agent else 1 for other in agents]
            yield {"end": "ended", "won": lost, "wrong": [agents.index(agent)]}
            return
        env.step(move)
        for player in agents:
            won[player] += float(env.rewards.get(player, 0.0))
