"""The table of bases: small models that are trained from scratch on a declared mixture of tasks, to try methods on.

`assay/run/base_training.py` trains them. A built model is cached under a hash of everything that decides it.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import UsageError, unknown
from assay.host.cache import cache_folder
from assay.known import RECIPES
from assay.part import Asking
from assay.policy.config import EyeShape, PolicyConfig
from assay.rng import Key, digest
from assay.run.configure import to_data
from assay.run.pretrained import PRETRAINED
from assay.scale import Scale
from assay.source import Pool, Share
from assay.tasks import ALPHABET, TASKS, short, task

if TYPE_CHECKING:
    from assay.policy import Policy


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
    eye: EyeShape | None = None  # of a base that sees pictures

    @property
    def hash(self) -> str:
        """The digest under which the built model is cached. Fields that came later count only where they say something,
        and `ask` under its earlier name, so that bases that were built before keep their hash.
        """
        data = to_data(self)
        del data["pool"]["left_out"]  # always empty: generated tasks have no rows that could be left out
        if not data["scale"]["num_tokens"]:
            del data["scale"]["num_tokens"]
        if self.eye is None:
            del data["eye"]
        if asked := data.pop("ask"):
            data["augment"] = asked
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


class _OfTask(NamedTuple):
    """A base of one task, by the settings in which such bases differ.

    The learning rate is constant, so that a base of fewer steps is a longer one's earlier state.
    """

    task: str
    summary: str
    levels: tuple[int, ...]  # one that is named more often is read more often
    num_steps: int  # of imitation: so few that a third of the answers is right, or fewer
    context: int = 192
    hidden: int = 128
    learning_rate: float = 1.5e-3

    @property
    def base(self) -> Base:
        return Base(
            name=self.task,
            summary=self.summary,
            shape=small_shape(hidden=self.hidden, layers=4, heads=4, ffn=3 * self.hidden, context=self.context),
            pool=Pool((Share(self.task, self.levels),)),
            scale=dataclasses.replace(
                imitation(num_steps=self.num_steps, learning_rate=self.learning_rate), schedule="constant"
            ),
        )


_OF_TASKS = (
    _OfTask("linear-program", "linear and integer programs of two variables", (2, 3), 50, 128, 160),
    _OfTask("sql", "queries with totals, also of groups", (2, 3), 32, 128, 160),
    _OfTask("programs", "Python functions of two and three operations on lists", (2, 3), 70, 128, 160),
    _OfTask("metamath", "proofs of one rule in Metamath", (1,), 17, 128, 160),
    _OfTask("verilog", "units that select between two operations", (5,), 24, 128, 160),
    _OfTask("coq", "proofs of propositions in Coq", (3,), 250, 224, 160),
    _OfTask("mod-chain", "one operation modulo 23", (1,), 500),
    _OfTask("mod-chain-7", "chains of three operations modulo 7", (3,), 90),
    _OfTask("list-fn", "one function on a list of digits", (1,), 800),
    _OfTask("bool", "formulas of five variables", (5,), 2300, 256, 128, 2e-3),
    _OfTask("path", "paths of three edges", (3,), 400),
    _OfTask("knights", "islands with five inhabitants", (5,), 1000, 256),
    _OfTask("compose", "one function of a string", (1,), 300),
    _OfTask("lis", "sequences of eight numbers", (8,), 500),
    _OfTask("activity", "sets of eight activities", (8,), 800),
    _OfTask("lookup-tool", "two look-ups in a store", (2,), 43, 256),
    _OfTask("lookup-faulty", "two look-ups in a store that often fails", (2,), 43, 256),
    _OfTask("lookup-strict", "two look-ups in a store that takes small letters only", (2,), 43, 256),
    _OfTask("calculator", "chains of two operations with a calculator", (2,), 84, 256),
    _OfTask("dsl-deduction", "what programs of two instructions put out", (2,), 200),
    _OfTask("dsl-abduction", "inputs of programs of two instructions", (2,), 180),
    _OfTask("dsl-induction", "programs of two instructions from examples", (2,), 200),
    _OfTask("smt", "values of numbers that fulfil some conditions", (1,), 250),
    _OfTask("calls", "requests as one call of a tool", (1,), 90),
    _OfTask("repair", "the wrong line of two", (2,), 200),
    _OfTask("constraints", "words that keep two rules", (2,), 100),
    _OfTask("binario", "squares of four rows with four empty cells", (1,), 60),
    _OfTask("kakurasu", "squares of three rows", (3,), 50),
    _OfTask("drawing", "pictures of two boxes, planned and drawn", (2,), 60, 128),
    _OfTask("stack", "four letters through a stack", (4,), 170),
    # The chains of these go on for longer at levels that their bases have not read: their contexts have room for that.
    _OfTask(
        "search-stream",
        "searches for an expression with three numbers, blind or by nearness",
        (3,),
        600,
        512,
        144,
        2e-3,
    ),
    _OfTask("trace", "programs that execute six lines", (6,), 1600, 384, 128, 2e-3),
    _OfTask("quantities", "quantities that three operations give, or four", (3, 3, 3, 4), 1200, 384, 128, 2e-3),
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
        *(row.base for row in _OF_TASKS),
        Base(
            name="judges",
            summary="words that keep two rules, and judgements of such words",
            shape=small_shape(hidden=96, layers=4, heads=4, ffn=288, context=128),
            pool=Pool((Share("constraints", (2,)), Share("judge:constraints", (2,), 4.0))),
            scale=imitation(num_steps=900),
        ),
        Base(
            name="variants",
            summary="chains of up to five operations modulo 7, and harder variants of them, of which some are wrong",
            shape=small_shape(hidden=128, layers=4, heads=4, ffn=384, context=192),
            pool=Pool((Share("mod-chain-7", (1, 2, 3, 4, 5)), Share("harder:mod-chain-7", (1, 2, 3)))),
            scale=imitation(num_steps=300),
        ),
        Base(
            name="grids",
            summary="questions about pictures of coloured cells with digits, in their plain variants; it sees",
            shape=small_shape(hidden=96, layers=3, heads=4, ffn=256, context=128),
            pool=Pool((Share("grids", (1, 2, 3, 5)),)),
            scale=dataclasses.replace(imitation(num_steps=240, learning_rate=1.2e-3), schedule="constant"),
            eye=EyeShape(side=24, patch=8, hidden=64, layers=1, heads=4),
        ),
    )
}


def base(name: str) -> Base:
    if name in PRETRAINED:
        raise UsageError(f"{name} is no base to be built but a pretrained model: `assay get {name}` fetches it.")
    if name not in BASES:
        raise unknown("base", name, BASES, "assay list bases")
    return BASES[name]


def base_for(pool: Pool) -> str:
    """The base whose mixture holds every task of the pool."""
    wanted = {share.task for share in pool.shares}
    kinds = {task(name).policy for name in wanted}
    if len(kinds) == 1 and (kind := kinds.pop()):
        return kind
    for made in BASES.values():
        if wanted <= {share.task for share in made.pool.shares}:
            return made.name
    named = ", ".join(sorted(map(short, wanted)))
    if all(name in TASKS and not TASKS[name].unmarked for name in wanted):
        how = "One that knows these tasks is made by `assay train sft --task A --task B --model BASE`"
    else:
        how = "It reads English: smollm2, a folder or Hub id such as Qwen/Qwen2.5-0.5B-Instruct, or a run"
    raise UsageError(
        f"no base was made for {named}: name a model with --model. {how}. `assay list bases` shows the tasks of each "
        "base."
    )


def folder_of(made: Base) -> Path:
    return cache_folder() / "bases" / f"{made.name}-{made.hash}"


def untrained(made: Base) -> Policy:
    """The model that a base is before its training, with random weights."""
    from assay.policy import character_tokenizer, fresh_policy, fresh_seeing

    tokenizer = character_tokenizer(ALPHABET, sees=made.eye is not None)
    shape, key = dataclasses.replace(made.shape, vocab=tokenizer.vocab), Key("base", made.name, made.seed)
    if made.eye is None:
        return fresh_policy(shape, tokenizer, key=key)
    return fresh_seeing(shape, made.eye, tokenizer, key=key)


def untrained_of(model: str) -> Policy | None:
    """The same for a model that is a base and not in the cache yet; None for all others."""
    made = BASES.get(model)
    if made is None or model in PRETRAINED or Path(model).exists() or folder_of(made).exists():
        return None
    return untrained(made)


def describe(made: Base) -> dict[str, Any]:
    """What `assay list bases` and `assay show` print of a base."""
    folder = folder_of(made)
    return {
        "name": made.name,
        "summary": made.summary,
        "tasks": [f"{share.task} {','.join(map(str, dict.fromkeys(share.levels)))}" for share in made.pool.shares],
        "hash": made.hash,
        "built": folder.exists(),
        "path": str(folder),
    }
