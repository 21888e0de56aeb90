"""The models of a run: loaded, given an adapter if the run asks for one, and put into engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.host.space import cores, device_of
from assay.host.terminal import say
from assay.models import Models
from assay.policy.conversation import Chat
from assay.policy.kinds import Ability, kind_of
from assay.rng import Key
from assay.run.bases import untrained_of
from assay.run.experiment import Experiment, Machine
from assay.run.fresh_models import numbers_of

if TYPE_CHECKING:
    from assay.engine.cluster.launcher import Launcher
    from assay.engine.interface import Engine
    from assay.engine.local import LocalEngine
    from assay.engine.optimiser import AdamW
    from assay.engine.paired import Paired
    from assay.engine.sharded.ranks import Ranks
    from assay.policy import Policy


def load_model(experiment: Experiment) -> Policy:
    """Loads the model of an experiment: a base that has been built, a model folder, a run folder or a Hub id."""
    from assay.policy import load_policy
    from assay.run.named_model import locate

    return _spoken(load_policy(locate(experiment.model)), experiment)


def outline_of(experiment: Experiment) -> Policy:
    """The model of an experiment without its weights, or as it is before a base is trained that is not in the cache."""
    from assay.policy.outline import outline
    from assay.run.named_model import locate

    made = untrained_of(experiment.model)
    return _spoken(outline(locate(experiment.model)) if made is None else made, experiment)


def _spoken(policy: Policy, experiment: Experiment) -> Policy:
    """The policy with the chat settings of the run, if it has any: else those that its folder states."""
    return policy if experiment.chat == Chat() else policy.speaking(experiment.chat)


def require_runnable(experiment: Experiment, policy: Policy) -> None:
    """Refuses what no engine could do with this model, of which only the outline is known. Its network gets the adapter
    that the run asks for.
    """
    from assay.engine.choose import engine_of
    from assay.policy.adapted import attach

    _refuse_second_adapter(experiment, policy)
    _refuse_unable(experiment, policy)
    if experiment.lora.rank:
        attach(policy.network, experiment.lora, key=Key("outline"))
    _refuse_critics(experiment, policy)
    machine = experiment.machine
    engine_of(policy.network, machine.engine, device_of(machine.device), machine.precision)


def _refuse_unable(experiment: Experiment, policy: Policy) -> None:
    """Refuses settings that the kind of the policy cannot follow."""
    kind, machine = kind_of(policy), experiment.machine
    _refuse_other_worlds(experiment, policy)
    asked: dict[str, tuple[bool, Ability]] = {
        f"--lora {experiment.lora.rank}": (bool(experiment.lora.rank), "adapters"),
        f"--machine.learners {machine.learners}": (machine.learners > 1, "ranks"),
        f"--machine.samplers {machine.samplers}": (bool(machine.samplers), "servers"),
        f"--evaluation.shots {experiment.evaluation.shots}": (bool(experiment.evaluation.shots), "texts"),
    }
    for what, (wanted, ability) in asked.items():
        if wanted:
            kind.require(ability, what=what, instead="Leave the setting out.")


def _refuse_other_worlds(experiment: Experiment, policy: Policy) -> None:
    """Refuses a policy that reads words in a world of numbers, one that reads numbers elsewhere, and other sizes."""
    from assay.policy.acting import ActionCodec

    kind, numbers = kind_of(policy), numbers_of(experiment.pool)
    tasks = ", ".join(share.task for share in experiment.pool.shares)
    if numbers is None:
        if kind.can("numbers"):
            raise ConfigError(
                f"{tasks} is a task in words, and {experiment.model} is of the kind {kind.name}: {kind.about}. Take a "
                "task in a world of numbers, such as chain:5 or env:CartPole-v1, or a language model."
            )
        return
    kind.require("numbers", what=tasks, instead="Leave --model out, or take one such as mlp:64x64.")
    codec = policy.codec
    assert isinstance(codec, ActionCodec)
    shape = (codec.observed, codec.actions)
    if shape != (numbers.observed, numbers.actions):
        raise ConfigError(
            f"{experiment.model} observes {shape[0]} numbers and chooses among {shape[1]} actions; {tasks} shows "
            f"{numbers.observed} and takes {numbers.actions}. Leave --model out, or take one such as mlp:64x64."
        )


def with_adapter(experiment: Experiment, policy: Policy) -> Policy:
    """The policy with a new adapter if the run asks for one; a policy that is an adapter already stays as it is."""
    if not experiment.lora.rank:
        return policy
    _refuse_second_adapter(experiment, policy)
    from assay.policy.adapter_folder import put_on
    from assay.run.named_model import locate

    key = Key(experiment.seed)("lora")
    return put_on(policy, experiment.lora, place=locate(experiment.model), key=key)


def _refuse_second_adapter(experiment: Experiment, policy: Policy) -> None:
    adapter = policy.adapter
    if experiment.lora.rank and adapter is not None:
        raise ConfigError(
            f"{experiment.model} is an adapter of rank {adapter.rank} already. Leave --lora out to train this adapter "
            f"further, or merge it into its model first: `assay export {experiment.model} FOLDER --merge`."
        )


@contextmanager
def open_models(experiment: Experiment, policy: Policy, folder: Path) -> Iterator[Models]:
    """An engine for each parameter set of the recipe, and for the frozen reference model if an objective needs one.

    Learners and servers are processes, which end with the block; servers write their logs to `folder`.
    """
    with ExitStack() as stack:
        launcher = _launcher(experiment, folder, stack)
        if experiment.machine.samplers:
            from assay.policy.policy import base_fingerprint
            from assay.run.samplers import serve

            digest = base_fingerprint(policy)  # an engine may change the network that it takes, as a critic does
            plain = _engines(experiment, policy, launcher, stack)
            served = serve(experiment, policy, plain["policy"], folder, stack, digest, launcher)
            engines = {**plain, "policy": served}
        else:
            engines = _engines(experiment, policy, launcher, stack)
        yield _marked(experiment, engines)


def _launcher(experiment: Experiment, folder: Path, stack: ExitStack) -> Launcher | None:
    """The launcher of the processes of a run; None: this process starts them, on this machine."""
    if not experiment.machine.cluster:
        return None
    from assay.engine.cluster.nodes import Cluster

    machine = experiment.machine
    cluster = stack.enter_context(Cluster(machine.cluster, folder=folder, room=machine.finding))
    say(f"processes are started in {cluster.words}")
    return cluster


def _engines(
    experiment: Experiment, policy: Policy, launcher: Launcher | None, stack: ExitStack
) -> Mapping[str, LocalEngine | Paired]:
    machine = experiment.machine
    if machine.learners == 1:
        return _here(experiment, policy)
    from assay.engine.sharded.ranks import RankLayout, Ranks

    threads = max(1, (machine.threads or cores()) // machine.learners)
    group = RankLayout(machine.learners, machine.replicate, device_of(machine.device), threads, machine.deadline)
    say(f"{machine.learners} learners, {group.replicate} x {group.shards}, are started")
    return _over(stack.enter_context(Ranks(group, launcher)), experiment, policy)


def build_models(experiment: Experiment, policy: Policy) -> Models:
    """The engines of a run of one learner, in this process."""
    return _marked(experiment, _here(experiment, policy))


def _wanted(experiment: Experiment, policy: Policy) -> dict[str, bool]:
    """The parameter sets of a run, and whether each is trained."""
    recipe = experiment.recipe
    wanted = {name: model.trained for name, model in recipe.models.items()}
    if recipe.refers:
        wanted["reference"] = False
    _refuse_critics(experiment, policy)
    return wanted


def _refuse_critics(experiment: Experiment, policy: Policy) -> None:
    if _valued(experiment) and not kind_of(policy).can("critics"):
        raise ConfigError(
            f"{experiment.recipe.name} has a critic, which needs a model of the families llama, qwen2 or qwen3; "
            f"{experiment.model} is of the family {policy.config.family}. Take a recipe without a critic."
        )


def _valued(experiment: Experiment) -> set[str]:
    """The parameter sets that have a value head."""
    return {name for name, model in experiment.recipe.models.items() if model.valued}


def _speaks(experiment: Experiment, name: str) -> bool:
    """Whether a parameter set has a distribution of tokens; the references of a run are in no recipe."""
    models = experiment.recipe.models
    return name not in models or models[name].output != "value"


def _marked(experiment: Experiment, engines: Mapping[str, Engine]) -> Models:
    """The models. Those that a later stage puts back to their start keep it."""
    recipe = experiment.recipe
    again = any(stage.start == "base" for stage in recipe.stages)
    restarts = frozenset(name for name, model in recipe.models.items() if again and model.saved)
    for name in restarts:
        engines[name].mark_start()
    return Models(engines, recipe.roles, recipe.models, restarts)


def _optimiser(experiment: Experiment) -> AdamW:
    from assay.engine.optimiser import AdamW

    scale = experiment.recipe.scale
    betas, bits = (scale.beta1, scale.beta2), experiment.machine.optimiser_bits
    return AdamW(betas=betas, weight_decay=scale.weight_decay, bits=bits)


def _settings(experiment: Experiment, policy: Policy) -> dict[str, Any]:
    """The settings of every engine in this process."""
    from assay.engine.choose import settings_of

    machine = experiment.machine
    return {
        **settings_of(policy),
        "device": device_of(machine.device),
        "precision": machine.precision,
        "memory_bytes": machine.cache_mb << 20,
        "checkpointing": machine.checkpointing,
        "kernels": machine.kernels,
    }


def _of_plan(experiment: Experiment, policy: Policy, device: str) -> dict[str, Any]:
    """The settings of engines on a GPU that follow from what its memory has room for: whether activations are kept, and
    whether the one sampler of a run keeps its caches from call to call.
    """
    from assay.run.memory_plan import memory_of

    plan = memory_of(experiment, policy.config) if device.startswith("cuda") else None
    if plan is None:
        return {}
    alone = len(set(experiment.recipe.roles.values())) == 1
    return {"caches_stay": alone and plan.stays, **({"checkpointing": "off"} if plan.work.again is False else {})}


def _here(experiment: Experiment, policy: Policy) -> dict[str, LocalEngine]:
    """Engines in this process."""
    from assay.engine.choose import critic_of, engine_of
    from assay.policy.adapted import twin

    machine, device = experiment.machine, device_of(experiment.machine.device)
    choice = engine_of(policy.network, machine.engine, device, machine.precision)
    if machine.engine == "auto" and device == "cpu" and choice.reason:
        slower = ", which takes 1.5 times as long as the compiled core" if choice.refused else ""
        say(f"this run computes with torch{slower}: {choice.reason}")
    settings, optimiser, valued = _settings(experiment, policy), _optimiser(experiment), _valued(experiment)
    wanted = _wanted(experiment, policy)
    settings |= _of_plan(experiment, policy, device)
    *others, last = wanted  # the last set takes the loaded network itself; all others take copies of it
    networks = {name: twin(policy.network) for name in others} | {last: policy.network}
    return {
        name: (critic_of(choice.engine, speaks=_speaks(experiment, name)) if name in valued else choice.engine)(
            networks.pop(name), optimiser=optimiser if trained else None, **settings
        )
        for name, trained in wanted.items()
    }


def _over(ranks: Ranks, experiment: Experiment, policy: Policy) -> dict[str, Paired]:
    """Engines whose learners are spread over ranks. An engine in this process writes the answers for each."""
    from assay.engine.choose import engine_of
    from assay.engine.paired import Paired
    from assay.engine.sharded.engine import ShardedLearner
    from assay.engine.torch.value_engine import with_value_head
    from assay.policy.adapted import twin

    machine, device = experiment.machine, device_of(experiment.machine.device)
    choice = engine_of(policy.network, "auto", device, machine.precision)
    settings, optimiser, valued = _settings(experiment, policy), _optimiser(experiment), _valued(experiment)

    def network_of(name: str) -> Any:
        copied = twin(policy.network)
        return with_value_head(copied) if name in valued else copied

    def samplers(name: str) -> list[LocalEngine]:
        return [choice.engine(network_of(name), optimiser=None, **settings)]

    engines: dict[str, Paired] = {}
    for name, trained in _wanted(experiment, policy).items():
        network = network_of(name) if name in valued else policy.network
        learner = ShardedLearner(
            ranks,
            name,
            network,
            vocab=policy.codec.vocab,
            precision=machine.precision,
            optimiser=optimiser if trained else None,
            checkpointing=machine.checkpointing,
            kernels=machine.kernels,
            speaks=_speaks(experiment, name),
        )
        about = {"context": learner.context, "vocab": learner.vocab, "end_ids": policy.end_ids}
        engines[name] = Paired(learner, partial(samplers, name), **about, has_threads=choice.engine.has_threads)
    return engines


def policy_files(policy: Policy) -> dict[str, bytes]:
    """The files of `policy/` beside the weights, as the kind of the policy stores it."""
    return {f"policy/{name}": content for name, content in kind_of(policy).files(policy).items()}


def set_threads(machine: Machine) -> None:
    import torch

    if machine.threads:
        torch.set_num_threads(machine.threads)
