"""The models of a run: loaded, given an adapter if the run asks for one, and put into engines."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.host.space import device_of
from assay.host.terminal import say
from assay.models import Models
from assay.policy.conversation import Chat
from assay.rng import Key
from assay.run.experiment import Experiment, Machine

if TYPE_CHECKING:
    from assay.policy import Policy


def load_model(experiment: Experiment) -> Policy:
    """Loads the model of an experiment: a base (built on first use), a model folder, a run folder or a Hub id."""
    from assay.policy import load_policy
    from assay.run.bases import locate

    policy = load_policy(locate(experiment.model))
    if experiment.chat == Chat():
        return policy
    return dataclasses.replace(policy, tokenizer=policy.tokenizer.speaking(experiment.chat))


def with_adapter(experiment: Experiment, policy: Policy) -> Policy:
    """The policy with a new adapter if the run asks for one; a policy that is an adapter already stays as it is."""
    adapter = policy.transformer.lora
    if not experiment.lora.rank:
        return policy
    if adapter is not None:
        raise ConfigError(
            f"{experiment.model} is an adapter of rank {adapter.rank} already. Leave --lora out to train this adapter "
            f"further, or merge it into its model first: `assay export {experiment.model} FOLDER --merge`."
        )
    from assay.policy.adapter_folder import put_on
    from assay.run.bases import locate

    key = Key(experiment.seed)("lora")
    return put_on(policy, experiment.lora, place=locate(experiment.model), key=key)


def build_models(experiment: Experiment, policy: Policy) -> Models:
    """An engine for each parameter set of the recipe, and for the frozen reference model if an objective needs one."""
    from assay.engine.choose import critic_of, engine_of
    from assay.engine.optimiser import AdamW
    from assay.policy.adapted import twin
    from assay.policy.transformer import Transformer

    scale, machine, recipe = experiment.recipe.scale, experiment.machine, experiment.recipe
    device = device_of(machine.device)
    choice = engine_of(policy.transformer, machine.engine, device, machine.precision)
    if machine.engine == "auto" and device == "cpu" and choice.reason:
        slower = ", which takes 1.5 times as long as the compiled core" if choice.refused else ""
        say(f"this run computes with torch{slower}: {choice.reason}")
    settings = {
        "end_ids": policy.end_ids,
        "decode": policy.tokenizer.decode,
        "vocab": policy.tokenizer.vocab,
        "device": device,
        "precision": machine.precision,
        "memory_bytes": machine.cache_mb << 20,
        "checkpointing": machine.checkpointing,
    }
    betas = (scale.beta1, scale.beta2)
    optimiser = AdamW(betas=betas, weight_decay=scale.weight_decay, bits=machine.optimiser_bits)
    wanted = {name: model.trained for name, model in recipe.models.items()}
    if any("ref" in mechanism.objective.wants for mechanism in recipe.mechanisms):
        wanted["reference"] = False
    values = {name for name, model in recipe.models.items() if model.output == "value"}
    if values and not isinstance(policy.transformer, Transformer):
        raise ConfigError(
            f"{recipe.name} has a critic, which needs a model of the families llama, qwen2 or qwen3; "
            f"{experiment.model} is of the family {policy.config.family}. Take a recipe without a critic."
        )
    *others, last = wanted  # the last set takes the loaded network itself; all others take copies of it
    networks = {name: twin(policy.transformer) for name in others} | {last: policy.transformer}
    engines = {
        name: (critic_of(choice.engine) if name in values else choice.engine)(
            networks.pop(name), optimiser=optimiser if trained else None, **settings
        )
        for name, trained in wanted.items()
    }
    again = any(stage.start == "base" for stage in recipe.stages)
    restarts = frozenset(name for name, model in recipe.models.items() if again and model.saved)
    for name in restarts:
        engines[name].mark_start()
    return Models(engines, recipe.roles, recipe.models, restarts)


def policy_files(policy: Policy) -> dict[str, bytes]:
    """The files of `policy/` beside the weights, in the Hugging Face layout, or in PEFT's layout for an adapter."""
    from assay.policy.adapter_folder import adapter_files
    from assay.policy.checkpoint import model_files

    made = model_files(policy) if policy.transformer.lora is None else adapter_files(policy)
    return {f"policy/{name}": content for name, content in made.items()}


def set_threads(machine: Machine) -> None:
    import torch

    if machine.threads:
        torch.set_num_threads(machine.threads)
