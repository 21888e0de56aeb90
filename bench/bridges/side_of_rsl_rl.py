"""The side of rsl_rl: one `PPO.update` on a case from a file. It runs in the environment of rsl_rl and imports nothing
of Assay.

    python bench/bridges/side_of_rsl_rl.py CASE.npz RESULT.npz
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.modules.distribution import Distribution
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict


class Discrete(Distribution):
    """A softmax over a few actions, which rsl_rl does not have: an action is its number."""

    def update(self, mlp_output: torch.Tensor) -> None:
        self.logits = mlp_output

    def sample(self) -> torch.Tensor:
        return self.logits.argmax(-1, keepdim=True).to(self.logits.dtype)

    def deterministic_output(self, mlp_output: torch.Tensor) -> torch.Tensor:
        return mlp_output.argmax(-1, keepdim=True)

    @property
    def input_dim(self) -> int:
        return self.output_dim

    @property
    def params(self) -> tuple[torch.Tensor, ...]:
        return (self.logits,)

    @property
    def entropy(self) -> torch.Tensor:
        logp = torch.log_softmax(self.logits, -1)
        return -(logp.exp() * logp).sum(-1)

    def log_prob(self, outputs: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.logits, -1).gather(-1, outputs.long()).squeeze(-1)


def loaded(model: MLPModel, case: Any, name: str) -> MLPModel:
    with torch.no_grad():
        for index, parameter in enumerate(model.mlp.parameters()):
            parameter.copy_(torch.from_numpy(case[f"{name}/{index}"]))
    return model


def main(case_file: str, result_file: str) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    case = np.load(case_file)
    seen, actions = torch.from_numpy(case["seen"]).double(), torch.from_numpy(case["actions"])[..., None]
    steps, count, _ = seen.shape
    first = TensorDict({"all": seen[0]}, batch_size=[count])
    shape: dict[str, Any] = {"obs": first, "obs_groups": {"actor": ["all"], "critic": ["all"]}, "activation": "tanh"}
    shape["hidden_dims"] = case["hidden"].tolist()
    actor = MLPModel(obs_set="actor", output_dim=2, distribution_cfg={"class_name": Discrete}, **shape)
    critic = MLPModel(obs_set="critic", output_dim=1, **shape)
    storage = RolloutStorage("rl", count, steps, first, [1])
    settings = {name: float(case[name]) for name in ("gamma", "lam", "clip_param", "entropy_coef", "learning_rate")}
    ppo = PPO(
        loaded(actor, case, "actor"),
        loaded(critic, case, "critic"),
        storage,
        num_learning_epochs=int(case["epochs"]),
        num_mini_batches=1,
        value_loss_coef=0.5,  # our loss is half of the squared error
        max_grad_norm=float(case["clip_norm"]),
        schedule="fixed",
        **settings,
    )
    for t in range(steps):
        obs = TensorDict({"all": seen[t]}, batch_size=[count])
        ppo.act(obs)
        ppo.transition.actions = actions[t].double()
        ppo.transition.actions_log_prob = ppo.actor.get_output_log_prob(actions[t]).detach()
        ppo.process_env_step(obs, torch.from_numpy(case["rewards"][t]), torch.from_numpy(case["dones"][t]), {})
    ppo.compute_returns(TensorDict({"all": torch.from_numpy(case["after"]).double()}, batch_size=[count]))
    found = {"advantages": storage.advantages[..., 0].numpy().copy(), "returns": storage.returns[..., 0].numpy().copy()}
    ppo.update()
    for name, model in (("actor", ppo.actor), ("critic", ppo.critic)):
        for index, parameter in enumerate(model.mlp.parameters()):
            found[f"{name}/{index}"] = parameter.detach().numpy()
            found[f"gradient of {name}/{index}"] = parameter.grad.numpy()
    np.savez(result_file, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
