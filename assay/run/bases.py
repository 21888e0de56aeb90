"""The table of bases: small models that are trained from scratch on a declared mixture of tasks, to try methods on.

`assay/run/base_training.py` trains them. A built model is cached under a hash of everything that decides it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from assay.tasks import ALPHABET, BUILT_IN, TASKS, short, task
from assay.tasks.abilities import OwnBase, OwnPolicy, PlayedFrom
from assay.tasks.games import GAMES, MOVES
from assay.tasks.versions import verifier_versions
from assay.types import asked_in

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
        and `ask` under its earlier name, so that bases that were built before keep their hash. The files of a task of
        your own count too: while you write it, it changes.
        """
        data = to_data(self)
        del data["pool"]["left_out"]  # always empty: generated tasks have no rows that could be left out
        for later in ("num_tokens", "max_replies", "longest_reply"):
            if not data["scale"][later]:
                del data["scale"][later]
        if self.eye is None:
            del data["eye"]
        if written := [share.task for share in self.pool.shares if share.task in TASKS and share.task not in BUILT_IN]:
            data["tasks"] = verifier_versions(written)
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


SEED = "@"  # NAME@3 is the base NAME, made with seed 3


def numbered(name: str, seed: int) -> str:
    """The name of a base that is made with this seed: `numbered("countdown", 3)` is `countdown@3`, and with seed 0 the
    name alone.
    """
    return f"{name}{SEED}{seed}" if seed else name


def of_task(name: str, own: OwnBase) -> Base:
    """The base of the task of this name, which the task itself describes."""
    made = imitation(num_steps=own.num_steps, learning_rate=own.learning_rate)
    return Base(
        name=name,
        summary=own.summary,
        shape=small_shape(
            hidden=own.hidden,
            layers=own.layers,
            heads=4,
            ffn=3 * own.hidden if own.ffn is None else own.ffn,
            context=own.context,
        ),
        pool=Pool((Share(name, own.levels),)),
        scale=made if own.decays else dataclasses.replace(made, schedule="constant"),
        eye=own.eye,
    )


class Bases(MutableMapping[str, Base]):
    """Name -> base: those of several tasks, which stand here, and those of single tasks, which have the task's name.

    A task is imported when somebody asks for a base of its name, and all are when the bases are listed. What is set
    here goes before what a task says. Each base stands for others too, of which none is listed: NAME@SEED begins from
    other weights and reads other worked solutions in another order.

        Bases([])["countdown"].hash
        Bases([])["countdown@3"].seed  # 3
    """

    def __init__(self, several: Iterable[Base]) -> None:
        self.held = {base.name: base for base in several}

    def __getitem__(self, name: str) -> Base:
        if name in self.held:
            return self.held[name]
        plain, _, seed = name.rpartition(SEED)
        if plain and seed.isdecimal() and seed == str(int(seed)) and int(seed):
            return dataclasses.replace(self[plain], name=name, seed=int(seed))
        own = TASKS[name].ability(OwnBase)
        if own is None:
            raise KeyError(name)
        return of_task(name, own)

    def __setitem__(self, name: str, made: Base) -> None:
        self.held[name] = made

    def __delitem__(self, name: str) -> None:
        del self.held[name]

    def __iter__(self) -> Iterator[str]:
        own = [name for name, task in TASKS.items() if task.ability(OwnBase) is not None]
        return iter(dict.fromkeys([*own, *self.held]))

    def __len__(self) -> int:
        return len(list(iter(self)))


BASES = Bases(
    (
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
            name="games",
            summary="legal moves by chance in the games for two, as a beginner makes them",
            shape=small_shape(hidden=64, layers=2, heads=4, ffn=192, context=64),
            pool=Pool(tuple(Share(f"game:{name}-{MOVES}", tuple(rules.levels)) for name, rules in GAMES.items())),
            scale=imitation(num_steps=200),
        ),
        Base(
            name="wishes",
            summary="questions to a user, and the answers that this user gives",
            shape=small_shape(hidden=128, layers=4, heads=4, ffn=384, context=128),
            pool=Pool((Share("wish", (2,)), Share("wish-reply", (6, 8, 10), 7.0))),
            scale=imitation(num_steps=700),
        ),
    )
)


def base(name: str) -> Base:
    if name in PRETRAINED:
        raise UsageError(f"{name} is no base to be built but a pretrained model: `assay get {name}` fetches it.")
    if name not in BASES:
        raise unknown("base", name, BASES, "assay list bases")
    return BASES[name]


def base_for(pool: Pool) -> str:
    """The base whose mixture holds every task of the pool. That of a control is the base of its task; of a task that is
    played from others, the mixture holds those.
    """
    wanted = {learnt for share in pool.shares for learnt in _learnt_for(asked_in(share.task))}
    kinds = {own.kind if (own := task(name).ability(OwnPolicy)) else "" for name in wanted}
    if len(kinds) == 1 and (kind := kinds.pop()):
        return kind
    own = [BASES[name] for name in wanted if name in BASES] if len(wanted) == 1 else []
    for made in [*own, *BASES.held.values()]:
        if wanted <= {share.task for share in made.pool.shares}:
            return made.name
    named = ", ".join(sorted(map(short, wanted)))
    if all(name in TASKS and not TASKS[name].wordings.unmarked for name in wanted):
        how = "One that knows these tasks is made by `assay train sft --task A --task B --model BASE`"
    else:
        how = "It reads English: smollm2, a folder or Hub id such as Qwen/Qwen2.5-0.5B-Instruct, or a run"
    raise UsageError(
        f"no base was made for {named}: name a model with --model. {how}. `assay list bases` shows the tasks of each "
        "base."
    )


def _learnt_for(name: str) -> tuple[str, ...]:
    """The tasks whose worked solutions teach this one: itself, or those that it is played from."""
    played = task(name).ability(PlayedFrom)
    return (name,) if played is None else played.tasks


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
