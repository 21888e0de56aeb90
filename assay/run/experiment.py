"""Everything that decides a run, as one record. The run folder holds it as JSON, from which the run can be repeated."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from assay.errors import ConfigError
from assay.host.reach import TRACKER, Cluster, Code, HubModel, McpServer, Program, Servers, Store
from assay.host.space import cores, device_of
from assay.part import Count, Part, Positive, parts_of
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.policy.lora import check as check_lora
from assay.recipe import Profile, Recipe
from assay.recipe import check as check_recipe
from assay.source import Pool, check_pool
from assay.tasks import task
from assay.verifiers.functions.naming import names, parse
from assay.verifiers.functions.process import SECONDS, check_timeout

RewardedBy = Literal["verifier", "agent"]

Cut = Literal["auto", "wrong", "scored", "masked"]
"""The worth of an answer that the length limit cut off, in training and in exams alike.

wrong: that of a wrong answer; a reward function gives it nothing, or less if it says so. scored: that of the part which
is there, by verifier and reward functions. masked: it does not train, and counts as wrong in exams. auto: wrong for
pretrained models; for others a verifier calls it wrong, and reward functions score it in training.
"""


@dataclass(frozen=True)
class Evaluation:
    """When the policy is evaluated on held-out problems, and on how many.

    During training it is evaluated on the split `valid`, to choose the best checkpoint; before and after training on
    the larger split `test`.

    Evaluation(every=50, num_samples=8)
    """

    every: int = 25  # steps between evaluations during training; 0: only before and after training
    num_problems: int = 128  # during training
    num_samples: int = 4  # completions for each problem, during training
    final_problems: int = 256  # before and after training
    final_samples: int = 16  # completions for each problem, before and after training
    temperature: float = 1.0
    levels: tuple[int, ...] = ()  # of the problems in exams, such as harder ones; none: those of training
    shots: int = 0  # the untrained model is examined with so many worked examples as plain text too; 0: it is not
    second_look: float = 0.02  # share of the right answers of training that the task's second oracle judges too


@dataclass(frozen=True)
class Machine:
    """Where and how the run computes. These settings change no result except by rounding.

    Machine(device="cuda", micro_tokens=16384, cache_mb=8192)
    """

    EARLIER: ClassVar[Mapping[str, str]] = {"judging": "verifying"}  # field names in old run folders

    device: str = "auto"
    engine: Literal["auto", "native", "torch"] = "auto"  # native: the compiled core, on processors
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    threads: int = 0  # 0: all cores
    micro_tokens: int = 2048  # tokens in one forward and backward pass; on a processor as many as its caches hold
    cache_mb: int = 512  # memory for the KV cache of the completions that are generated at once
    probe: int = 16  # completions that are generated and checked before the first step, for warnings; 0: none
    checkpointing: Literal["auto", "on", "off"] = (
        "auto"  # recompute activations instead of storing them; not with transformers
    )
    kernels: Literal["auto", "torch"] = "auto"  # of the torch engine; auto: Triton's on a GPU that they are for
    optimiser_bits: Literal[32, 8] = 32  # bits of each moment of a weight; 8 needs the extra low-bit
    learners: int = 1  # processes that share the training of each parameter set, by FSDP2
    replicate: int = 1  # copies of the weights among the learners; each copy is spread over learners / replicate
    samplers: Servers = ""  # servers that write answers: how many, 2, or where, http://HOST:PORT; empty: this process
    sampler: Literal["assay", "vllm"] = "assay"  # what these servers run: this engine, or vLLM
    publish: Literal["files", "gloo", "nccl"] = "files"  # how servers get weights: a folder that all see, or a network
    sampler_python: Program = ""  # the interpreter of an environment with vLLM; needed where the run starts servers
    sampler_tensor: int = 1  # devices over which each vLLM server that the run starts is spread
    cluster: Cluster = ""  # where learners and samplers run: auto or HOST:PORT, a Ray cluster; empty: this machine
    verifying: Positive = 30.0  # seconds of a step that verdicts may take before the run says so; it changes none
    deadline: int = 600  # seconds after which a process of the run that does not answer is given up
    starting: Count = 900  # seconds that a server has until it answers; a large model is long in loading
    finding: Count = 45  # seconds until a cluster is joined, and until it has places; one that grows needs more
    replies: Literal["rounds", "free"] = "rounds"  # of worlds apart; free: a slow one holds its own play alone
    reply_seconds: Positive = 60.0  # that a reply of a world apart may take
    hosts: Count = 4  # processes in which plays of worlds apart run
    restarts: int = 3  # how often processes are started again from one checkpoint; a newer one begins the count anew


@dataclass(frozen=True)
class Agent:
    """A foreign program that answers the problems in place of the policy, and asks the policy over OpenAI's interface.

    Agent(command="python agent.py", reward="agent")
    """

    command: Program = ""  # the program and its arguments; empty: the policy answers itself
    reward: RewardedBy = "verifier"  # agent: the last line of its output is {"reward": NUMBER}; 1 or more is right

    @property
    def by_itself(self) -> bool:
        """Whether an agent says what its answers are worth."""
        return bool(self.command) and self.reward == "agent"


@dataclass(frozen=True)
class Saving:
    """Which checkpoints and rollouts a run writes to its folder.

    Saving(every=100, rollouts_every=10)
    """

    every: int = 25  # steps between checkpoints
    minutes: Positive = 30.0  # since the last checkpoint, after which a step saves one: what a crash can lose
    keep: int = 2  # the newest checkpoints, beside the best one; older ones are deleted
    rollouts_every: int = 25  # steps between saved rollouts; 0: only those of the first and the last step
    rollouts_max: int = 512  # the most rollouts that are saved of one step; each role has a fair share


@dataclass(frozen=True)
class Tracking:
    """Trackers that also receive the metrics, beside the run folder. A tracker that fails never delays or stops a run.

    Tracking(sinks=("tensorboard", "wandb"), project="maths")
    """

    sinks: tuple[Annotated[Literal["tensorboard", "wandb", "trackio", "mlflow"], TRACKER], ...] = ()  # see `--track`
    project: str = "assay"
    name: str = ""  # the run's name; empty: the name of the run folder
    offline: bool = False  # wandb keeps the run on this machine until `wandb sync`
    mlflow_uri: Store = ""  # http://SERVER:PORT or sqlite:///FILE.db; empty: MLFLOW_TRACKING_URI, or mlflow.db here

    def __post_init__(self) -> None:
        if re.match(r"[^/?#]*://[^/?#]*@", self.mlflow_uri):
            raise ConfigError(
                "tracking.mlflow_uri holds a name or a password, which run.json would keep. Write it without them, and "
                "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD for a server, or the whole address in "
                "MLFLOW_TRACKING_URI for a database."
            )


@dataclass(frozen=True)
class Experiment:
    """All settings of a run. `assay.run.session.plan` makes one, `start` trains by it.

    experiment, rules = session.plan(RECIPES["grpo"], model="countdown", pool=Pool((Share("countdown", (3, 4)),)))
    folder = session.start(experiment, Path("runs/first"))
    """

    recipe: Recipe
    model: HubModel  # a folder, a hub id, or the name of a base
    pool: Pool
    seed: int = 0
    profile: Profile = "laptop"
    evaluation: Evaluation = field(default_factory=Evaluation)
    machine: Machine = field(default_factory=Machine)
    saving: Saving = field(default_factory=Saving)
    rewards: tuple[Code, ...] = ()  # reward functions, FILE.py:FUNCTION=WEIGHT; empty: the verifiers of the tasks
    right_from: float = 1.0  # an answer counts as right if the weighted sum of its rewards is at least this
    reward_timeout: float = SECONDS  # seconds for one call of a reward function, with all answers of a round
    tools: tuple[Code, ...] = ()  # functions that the policy may call while it answers rows of data, FILE.py:FUNCTION
    mcp: tuple[McpServer, ...] = ()  # MCP servers whose tools it may call there, "COMMAND ARGS" or an address
    tracking: Tracking = field(default_factory=Tracking)
    cut: Cut = "auto"  # the worth of an answer that the length limit cut off
    lora: Lora = field(default_factory=Lora)
    chat: Chat = field(default_factory=Chat)
    agent: Agent = field(default_factory=Agent)

    @property
    def examined(self) -> Pool:
        """The pool whose held-out problems are asked in exams."""
        levels = self.evaluation.levels
        shares = tuple(dataclasses.replace(share, levels=levels or share.levels) for share in self.pool.shares)
        return dataclasses.replace(self.pool, shares=shares)


def check_worlds(experiment: Experiment) -> None:
    """Refuses what cannot work with the worlds of the pool's tasks: parts that write a beginning of an answer, where
    the world writes too; parts that go on from within an answer, where no second play can come to its state; and a
    recipe in which nobody plays the role of a seat.
    """
    recipe = experiment.recipe
    worlds = {share.task: world for share in experiment.pool.shares if (world := task(share.task).world) is not None}
    for name, world in worlds.items():
        for mechanism in recipe.mechanisms:
            if (begins := _first(part for part in mechanism.ask if "beginning" in part.writes)) is not None:
                raise ConfigError(
                    f"{recipe.name}: {type(begins).__name__} continues given beginnings of an answer, and in '{name}' "
                    "a world writes parts of the answer. Take a task without a world."
                )
            watches = _first(part for part in mechanism.expand if "paused" in signature(type(part).does).parameters)
            if watches is not None and experiment.machine.replies == "free":
                raise ConfigError(
                    f"{recipe.name}: {type(watches).__name__} looks at all answers that wait for their next turn, and "
                    "machine.replies free leaves those of slow replies behind. Leave it at rounds."
                )
            forks = _first(part for part in mechanism.expand if part.continues)
            if forks is not None and world.fork == "no":
                raise ConfigError(
                    f"{recipe.name}: {type(forks).__name__} goes on from within an answer, and no second play of "
                    f"'{name}' can come to the state of a first one. Take a recipe that samples whole answers."
                )
        for seat in world.seats:
            if seat.role and seat.role not in recipe.roles:
                raise ConfigError(
                    f"'{name}' has a seat '{seat.name}' that the role '{seat.role}' speaks for, and {recipe.name} has "
                    f"the roles {', '.join(recipe.roles)}. Take a recipe in which somebody plays this role."
                )


def _first(parts: Iterator[Part]) -> Part | None:
    return next(parts, None)


def check_learners(machine: Machine) -> None:
    """Refuses learners that cannot be had, or that cannot share the work as they are told to."""
    if machine.learners > 1 and machine.learners % max(1, machine.replicate):
        raise ConfigError(
            f"machine.replicate is {machine.replicate}, which does not divide the {machine.learners} learners: each "
            "copy of the weights is spread over the same number of learners."
        )
    if machine.learners == 1:
        if machine.replicate > 1:
            raise ConfigError(f"machine.replicate is {machine.replicate}, and there is one learner: raise learners.")
        return
    if machine.engine == "native":
        raise ConfigError(
            "machine.engine is native, which trains in one process: several learners compute with torch. Set "
            "machine.engine to auto."
        )
    if machine.optimiser_bits == 8:
        raise ConfigError("machine.optimiser_bits is 8, which one learner alone can have: with more it must be 32.")
    if machine.cluster:
        return  # which has its own devices, and refuses more than it has room for
    most, devices = _most_learners(machine.device)
    if machine.learners > most:
        asked = machine.learners
        raise ConfigError(f"machine.learners is {asked}, and this machine has {devices}: take at most {most}.")


def check_samplers(machine: Machine) -> None:
    """Refuses a number of servers, or addresses of servers, that cannot be meant."""
    _check_vllm(machine)
    _check_publish(machine)
    if not machine.samplers or (machine.samplers.isdecimal() and 0 < int(machine.samplers) <= MOST_SAMPLERS):
        return
    if not machine.samplers.isdecimal() and all(map(_is_address, machine.samplers.split(","))):
        return
    raise ConfigError(
        f"machine.samplers is {machine.samplers!r}: write how many servers are started, 1 to {MOST_SAMPLERS}, or the "
        "addresses of servers that run, http://HOST:PORT, with commas between them."
    )


def check_cluster(machine: Machine) -> None:
    """Refuses a cluster that cannot be meant, that nothing would run in, or that cannot be spoken to from here."""
    if not machine.cluster:
        return
    host, _, port = machine.cluster.rpartition(":")
    if machine.cluster != "auto" and not (host and "/" not in host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ConfigError(
            f"machine.cluster is {machine.cluster!r}: write auto, or the HOST:PORT of a Ray cluster, such as "
            "10.0.0.4:6379, as `ray start --head` tells it."
        )
    if machine.learners == 1 and not machine.samplers.isdecimal():
        raise ConfigError(
            f"machine.cluster is {machine.cluster}, and nothing would run there: one learner is this process itself. "
            "Raise machine.learners, or let machine.samplers be a number of servers."
        )
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(
            f"machine.cluster is {machine.cluster}, which needs the package ray: `pip install 'assay-rl[scale]'`, here "
            "and on every node."
        )


def _check_vllm(machine: Machine) -> None:
    """Refuses vLLM where it cannot be started, and its settings where it is not."""
    vllm, started = machine.sampler == "vllm", machine.samplers.isdecimal()
    if vllm and not machine.samplers:
        raise ConfigError(
            "machine.sampler is vllm, and machine.samplers is empty: write how many servers are started, or where they "
            "are, http://HOST:PORT."
        )
    if vllm and started and not machine.sampler_python:
        raise ConfigError(
            "machine.sampler is vllm, which has an environment of its own: set machine.sampler-python to the "
            "interpreter of that environment, such as /opt/vllm/bin/python."
        )
    for name, value, plain in (
        ("sampler-python", machine.sampler_python, ""),
        ("sampler-tensor", machine.sampler_tensor, 1),
    ):
        if value != plain and not (vllm and started):
            raise ConfigError(
                f"machine.{name} is {value}, and no vLLM server is started: leave it out, or set machine.sampler to "
                "vllm and machine.samplers to a number."
            )


def _check_publish(machine: Machine) -> None:
    """Refuses a network that nothing is sent over, or that this machine has no device for."""
    if machine.publish != "files" and not machine.samplers:
        raise ConfigError(
            f"machine.publish is {machine.publish}, and no server takes weights: leave it out, or set machine.samplers."
        )
    if machine.publish == "nccl" and device_of(machine.device) == "cpu":
        raise ConfigError(
            "machine.publish is nccl, which sends from GPU to GPU, and this run computes on a processor: take gloo."
        )


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme == "http" and bool(parts.hostname) and parts.port is not None and not parts.path.strip("/")
    except ValueError:  # of a port that is no number
        return False


def _most_learners(device: str) -> tuple[int, str]:
    """How many learners this machine has devices for, and these devices in words."""
    if device_of(device) == "cpu":
        return 2 * cores(), f"{cores()} cores"
    import torch

    return torch.cuda.device_count(), f"{torch.cuda.device_count()} GPUs"


MOST_SAMPLERS = 64  # servers that one machine is asked to start

LEAST = {
    "evaluation.every": 0,
    "evaluation.num_problems": 1,
    "evaluation.num_samples": 1,
    "evaluation.final_problems": 1,
    "evaluation.final_samples": 1,
    "evaluation.shots": 0,
    "machine.threads": 0,
    "machine.micro_tokens": 1,
    "machine.cache_mb": 1,
    "machine.probe": 0,
    "machine.learners": 1,
    "machine.sampler_tensor": 1,
    "machine.replicate": 1,
    "machine.deadline": 1,
    "machine.restarts": 0,
    "saving.every": 1,
    "saving.keep": 2,  # if the newest checkpoint is damaged, the one before it is loaded
    "saving.rollouts_every": 0,
    "saving.rollouts_max": 0,
}


def check(experiment: Experiment) -> None:
    """Refuses settings that cannot work, before anything is loaded or written."""
    check_recipe(experiment.recipe)
    check_pool(experiment.pool)
    for part in parts_of(experiment.recipe.mechanisms):
        if problem := part.unfit(experiment.pool):
            raise ConfigError(problem)
    if experiment.evaluation.levels:
        check_pool(experiment.examined)
    check_worlds(experiment)
    check_lora(experiment.lora)
    for setting, least in LEAST.items():
        group, _, name = setting.partition(".")
        if (value := getattr(getattr(experiment, group), name)) < least:
            raise ConfigError(f"{setting} must be at least {least}, not {value}.")
    if experiment.machine.optimiser_bits == 8 and importlib.util.find_spec("bitsandbytes") is None:
        raise ConfigError(
            "machine.optimiser_bits 8 needs the package bitsandbytes: `pip install 'assay-rl[low-bit]'`, or take 32."
        )
    check_learners(experiment.machine)
    check_samplers(experiment.machine)
    check_cluster(experiment.machine)
    names([parse(reward) for reward in experiment.rewards])
    if not math.isfinite(experiment.right_from):
        raise ConfigError(f"right_from must be a number, not {experiment.right_from}.")
    check_timeout(experiment.reward_timeout)
    if not 0 <= (heat := experiment.evaluation.temperature) < math.inf:
        raise ConfigError(f"evaluation.temperature must be 0 (greedy) or more, not {heat}.")
