"""Environments of SkyRL-Gym: `init(prompt)` and `step(text)`. A row gives the prompt, as messages, and the extras."""

import skyrl_gym  # pyright: ignore[reportMissingImports]
from lines import Game, Said


def play(name: str, seed: int, given: Said) -> Game:
    env = skyrl_gym.make(name, env_config=given.get("config", {}), extras=given.get("extras", {}))
    messages, _ = env.init(given["prompt"])
    won = 0.0
    while True:
        said = [[message["content"], message["role"]] for message in messages]
        text = yield {"say": said, "won": [won]}
        step = env.step(text)
        won, messages = won + float(step["reward"]), step["observations"]
        if step["done"]:
            env.close()
            yield {"end": "ended", "won": [won]}
            return
