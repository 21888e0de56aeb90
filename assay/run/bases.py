"""Bases: small models that are trained from scratch on a declared mixture of tasks, to try methods on.

Building a base is deterministic. The built model is cached under a hash of everything that decides it.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import StorageError, UsageError, unknown
from assay.host.cache import cache_folder
from assay.known import RECIPES
from assay.part import Asking
from assay.policy.config import PolicyConfig
from assay.rng import digest
from assay.run.configure import to_data
from assay.run.context_fit import longest_solution
from assay.run.experiment import Evaluation, Experiment, Machine, Saving
from assay.scale import Scale
from assay.source import Pool, Share
from assay.tasks import short


@dataclass(frozen=True)
class Base:
    """A small model and how it is made: its shape, the tasks whose worked solutions it imitates, and for how long.

    Training stops before the base solves its tasks, so that reinforcement learning has something left to improve.

    folder = build("countdown")  # trains the base on first use, and returns the folder of the model
    """

    name: str
    summary: str
    shape: PolicyConfig
    pool: Pool
    scale: Scale
    seed: int = 0
    ask: tuple[Asking, ...] = ()  # parts that change its prompts, as in a recipe

    @property
    def hash(self) -> str:
        data = to_data(self)
        del data["pool"]["left_out"]  # always empty: generated tasks have no rows that could be left out
        if not data["scale"]["num_tokens"]:
            del data["scale"]["num_tokens"]  # so that bases built before there was this field keep their hash
        if asked := data.pop("ask"):
            data["augment"] = asked  # the field's earlier name, so that bases built under it keep their hash
        return digest("base", json.dumps(data, sort_keys=True))


def small_shape(*, hidden: int, layers: int, heads: int, ffn: int, context: int, vocab: int = 98) -> PolicyConfig:
    return PolicyConfig(
        family="qwen2",
        vocab=vocab,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        ffn=ffn,
        context=context,
        attention_bias=True,
        init_std=round(hidden**-0.5, 3),  # with the usual 0.02 the attention of so narrow a model hardly learns
    )


def imitation(*, num_steps: int, num_prompts: int = 64, learning_rate: float = 1.5e-3) -> Scale:
    """The scale of imitation learning for a base: many small batches.

    For the same number of tokens a small model learns more from many small batches than from few large ones.
    """
    return dataclasses.replace(
        RECIPES["sft"].scale, num_prompts=num_prompts, num_steps=num_steps, learning_rate=learning_rate, warmup_steps=20
    )


def _of_task(name: str, summary: str, levels: tuple[int, ...], num_steps: int, context: int) -> Base:
    """A base of one task whose answers a foreign program judges, with 1.35 million parameters.

    The learning rate is constant, so that a base of fewer steps is a longer one's earlier state.
    """
    return Base(
        name=name,
        summary=summary,
        shape=small_shape(hidden=160, layers=4, heads=4, ffn=480, context=context),
        pool=Pool((Share(name, levels),)),
        scale=dataclasses.replace(imitation(num_steps=num_steps), schedule="constant"),
    )


# Task, summary, levels, steps of imitation (so few that a third of the answers is right, or fewer), and context.
_OF_TASKS: tuple[tuple[str, str, tuple[int, ...], int, int], ...] = (
    ("linear-program", "linear and integer programs of two variables", (2, 3), 50, 128),
    ("sql", "queries with totals, also of groups", (2, 3), 32, 128),
    ("programs", "Python functions of two and three operations on lists", (2, 3), 70, 128),
    ("metamath", "proofs of one rule in Metamath", (1,), 17, 128),
    ("verilog", "units that select between two operations", (5,), 24, 128),
    ("coq", "proofs of propositions in Coq", (3,), 250, 224),
)
BASES = {
    base.name: base
    for base in (
        Base(
            name="countdown",
            summary="expressions that reach a target with three or four numbers; the base of `make demo`",
            shape=small_shape(hidden=128, layers=4, heads=4, ffn=384, context=96),
            pool=Pool((Share("countdown", (3, 4)),)),
            scale=imitation(num_steps=800),
        ),
        *(_of_task(*row) for row in _OF_TASKS),
        Base(
            name="judges",
            summary="words that keep two rules, and judgements of such words",
            shape=small_shape(hidden=96, layers=4, heads=4, ffn=288, context=128),
            pool=Pool((Share("constraints", (2,)), Share("judge:constraints", (2,), 4.0))),
            scale=imitation(num_steps=900),
        ),
        Base(  # its context has room for answers at levels beyond the one that it has read
            name="search-stream",
            summary="searches for an expression with three numbers, blind or by nearness",
            shape=small_shape(hidden=144, layers=4, heads=4, ffn=432, context=512),
            pool=Pool((Share("search-stream", (3,)),)),
            scale=dataclasses.replace(imitation(num_steps=600, learning_rate=2e-3), schedule="constant"),
        ),
    )
}


def base(name: str) -> Base:
    if name not in BASES:
        raise unknown("base", name, BASES, "assay list bases")
    return BASES[name]


def base_for(pool: Pool) -> str:
    """The base whose mixture holds every task of the pool."""
    wanted = {share.task for share in pool.shares}
    for made in BASES.values():
        if wanted <= {share.task for share in made.pool.shares}:
            return made.name
    named = ", ".join(sorted(map(short, wanted)))
    raise UsageError(
        f"no base was made for {named}: name a model with --model. `assay list bases` shows the tasks of each base."
    )


def locate(model: str) -> str:
    """The folder or Hub id of a model that is given as a base, a run folder, a model folder or a Hub id.

    A base is built first if it is not in the cache; a run stands for the policy in its last checkpoint.
    """
    path = Path(model)
    if (path / "run.json").is_file():
        from assay.record.folder import RunFolder

        checkpoint = RunFolder.read_only(path).load()
        if checkpoint is None:
            raise StorageError(f"the run {path} has no checkpoint yet.")
        return str(checkpoint.path / "policy")
    if path.exists() or "/" in model:
        return model
    if model not in BASES:
        raise unknown("model folder, run or base", model, BASES, "assay list bases")
    return str(build(model))


def folder_of(made: Base) -> Path:
    return cache_folder() / "bases" / f"{made.name}-{made.hash}"


def build(name: str, *, quiet: bool = False, force: bool = False) -> Path:
    """The folder of the base of this name; it is trained now if the cache does not hold it, or with `force`."""
    made = base(name)
    target = folder_of(made)
    if target.exists() and not force:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # if several runs need the base, the first builds it and the others wait
        return target if target.exists() and not force else _build(made, target, quiet=quiet)


def _build(made: Base, target: Path, *, quiet: bool) -> Path:
    scratch = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        _train(made, scratch, quiet=quiet)
        (scratch / "model" / "assay_base.json").write_text(json.dumps({"hash": made.hash, **to_data(made)}, indent=1))
        shutil.rmtree(target, ignore_errors=True)
        (scratch / "model").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _train(made: Base, scratch: Path, *, quiet: bool) -> None:
    """Trains the base with the recipe `sft` on worked solutions, through the same loop as every other run."""
    from assay.policy import character_tokenizer, fresh_policy, load_policy, save_policy
    from assay.record.folder import RunFolder
    from assay.rng import Key
    from assay.run import session
    from assay.tasks import ALPHABET

    tokenizer = character_tokenizer(ALPHABET)
    shape = dataclasses.replace(made.shape, vocab=tokenizer.vocab)
    save_policy(fresh_policy(shape, tokenizer, key=Key("base", made.name, made.seed)), scratch / "start")
    sft, scale = RECIPES["sft"], dataclasses.replace(made.scale, max_new=longest_solution(made.pool))
    mechanism = dataclasses.replace(sft.mechanism, ask=(*made.ask, *sft.mechanism.ask))
    experiment = Experiment(
        recipe=dataclasses.replace(sft, scale=scale, mechanism=mechanism),
        model=str(scratch / "start"),
        pool=made.pool,
        seed=made.seed,
        evaluation=Evaluation(every=0, final_problems=64, final_samples=16),
        machine=Machine(),
        saving=Saving(every=10**9, rollouts_every=0),
    )
    session.start(experiment, scratch / "run", command=f"assay base build {made.name}", quiet=quiet)
    checkpoint = RunFolder.read_only(scratch / "run").load()
    assert checkpoint is not None
    save_policy(load_policy(checkpoint.path / "policy"), scratch / "model")


def describe(made: Base) -> dict[str, Any]:
    """What `assay list bases` and `assay show` print of a base."""
    folder = folder_of(made)
    return {
        "name": made.name,
        "summary": made.summary,
        "tasks": [f"{share.task} {','.join(map(str, share.levels))}" for share in made.pool.shares],
        "hash": made.hash,
        "built": folder.exists(),
        "path": str(folder),
    }
