"""The side of ours in bridges, without the other system: its case is whole, and a difference is seen."""

from __future__ import annotations

import numpy as np

from bench.bridges import ppo_of_rsl_rl as bridge


def test_every_step_is_in_one_piece_and_pieces_end_where_episodes_do() -> None:
    case = bridge.case_of(*bridge.engines())
    seen = np.zeros((bridge.STEPS, bridge.COUNT), int)
    for place, steps, ended in bridge.pieces(case):
        seen[steps, place] += 1
        assert ended == bool(case["dones"][steps.stop - 1, place]) and not case["dones"][steps, place][:-1].any()
    assert (seen == 1).all()


def test_advantages_are_those_of_the_recursion_and_a_difference_is_seen() -> None:
    policy, critic = bridge.engines()
    case = bridge.case_of(policy, critic)
    body = [case[f"critic/{index}"] for index in range(6)]

    def value(seen: np.ndarray) -> np.ndarray:
        hidden = np.tanh(np.tanh(seen @ body[0].T + body[1]) @ body[2].T + body[3])
        return (hidden @ body[4].T + body[5])[..., 0]

    values, going = value(case["seen"].astype(float)), 1 - case["dones"]
    following, total = value(case["after"].astype(float)), np.zeros(bridge.COUNT)
    returns = np.zeros_like(values)
    for t in reversed(range(bridge.STEPS)):
        error = case["rewards"][t] + going[t] * bridge.GAMMA * following - values[t]
        total = error + going[t] * bridge.GAMMA * bridge.LAM * total
        returns[t], following = total + values[t], values[t]
    advantages = returns - values
    theirs = {"returns": returns, "advantages": (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)}
    mine = bridge.ours(case, policy, critic)
    assert max(bridge.differences(mine, theirs).values()) < 1e-6
    assert max(bridge.differences(mine, {"returns": returns + 1e-3}).values()) > 1e-5
