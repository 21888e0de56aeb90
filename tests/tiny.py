"""A task in letters, episodes made by hand, an engine that is a table, and runs of a second: for tests of the loop.

In formulas row i has T_i trainable tokens; B rows and N tokens are in the denominator.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch
from engine_cases import engine_of
from learning_draws import Draw
from torch import Tensor

import assay.tasks
from assay.ask import Codec
from assay.assemble import Phases, assemble
from assay.collect import Refill
from assay.collect.trees import Fork
from assay.credit import pack
from assay.engine.choose import critic_of
from assay.engine.cutting import tensors_of
from assay.engine.interface import Chunk, Engine, Outputs, Want
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW
from assay.forwards import RewardModel
from assay.host.tensors import encode
from assay.known import PARTS, RECIPES
from assay.loop import train
from assay.memory import Follow, Memory
from assay.models import Models
from assay.objective import Objective
from assay.objective.improve import accumulate, improve
from assay.objective.survey import survey
from assay.part import Credit, Part, bind, name_of
from assay.recipe import Mechanism, Recipe, Stage, at_profile
from assay.record.measure import step_stats
from assay.reward import LearntScore, Outcome
from assay.rng import Key
from assay.scale import Model, Scale
from assay.source import Pool, Share
from assay.source.epochs import problem_set
from assay.streams import Stream
from assay.tasks.pose import Posing
from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Batch, Episode, Origin, Problem, Request, Reward, Row, Segment, Stats, Verdict

END = 0
LETTERS = "abcd"


class Letters:
    """A codec of one token a letter; token 0 ends an answer."""

    end_ids = frozenset({END})
    stops: tuple[str, ...] = ()
    vocab = 5

    def render(self, prompt: Any) -> np.ndarray:
        """The letter asked for, and a mark, so that one layer can tell the question from the answer."""
        return self.encode(prompt + "c")

    def encode(self, text: str) -> np.ndarray:
        """What is no letter, such as the space before a hint, is passed over; a verdict is a letter."""
        text = {"+": "b", "-": "c"}.get(text, text)
        return np.array([1 + LETTERS.index(letter) for letter in text if letter in LETTERS], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(LETTERS[i - 1] if i else "." for i in ids)


def _named(letters: str) -> Task:
    """Answer with any letters among which is that of the prompt."""
    return Task(
        name="tiny",
        domain="letters",
        summary="an answer in letters that contains the letter asked for",
        generator=Generator(
            levels=range(1, 2),
            instance=lambda generator, level: {"letter": letters[int(generator.integers(len(letters)))]},
            canonical=lambda spec: spec["letter"],
            split=lambda spec: "train",
        ),
        wordings=Wordings(
            compact=lambda spec: spec["letter"],
            natural=lambda spec: spec["letter"],
            solve=lambda spec: Solution(spec["letter"]),
        ),
        checker=Checker(
            check=lambda spec, answer: Verdict.ok(answer) if spec["letter"] in answer else Verdict.fail("wrong")
        ),
        abilities=(
            Posing(
                seed={"letter": letters[0]},
                shown=1,
                compact=lambda shown: "c",
                natural=lambda shown: "c",
                write=lambda spec: spec["letter"],
                read=lambda text, shown: {"letter": text[0]} if text and text[0] in letters else None,
                level=lambda spec: 1,
                example=lambda generator, level, shown: shown[0],
            ),
        ),
    )


TINY = _named("ab")
ALONE = _named("a")  # a single problem: every draw is the same one
POOL = Pool((Share("tiny"),))


def register(patch: pytest.MonkeyPatch, task: Task = TINY) -> None:
    patch.setitem(assay.tasks.TASKS, "tiny", task)
    problem_set.cache_clear()  # of another task by this name


# Policies


def policy(precision: str = "fp64", *, vocab: int = 5, seed: int = 0, **changes: object) -> LocalEngine:
    """One layer of width 8 and a vocabulary of five."""
    shape = {
        "vocab": vocab,
        "hidden": 8,
        "layers": 1,
        "heads": 2,
        "kv_heads": 2,
        "head_dim": 4,
        "ffn": 8,
        "context": 32,
        "decode": Letters().decode,
    }
    seed += 100 * Draw.seed
    return engine_of("qwen2", precision=precision, end=END, seed=seed, **{**shape, "init_std": 0.5, **changes})


def take_gradient(engine: LocalEngine) -> Tensor:
    """All gradients end to end; the engine's are cleared."""
    engine.hand_out()
    parameters = list(engine.model.parameters())
    gradient = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters]).clone()
    for parameter in parameters:
        parameter.grad = None
    return gradient


def weights_of(batch: Batch, objective: Objective, *, max_new: int) -> np.ndarray:
    return bind(objective.aggregate)(batch, max_new=max_new)


def loss_and_gradient(
    engine: Any,
    batch: Batch,
    recipe: Recipe,
    *,
    micro_tokens: int = 10**6,
    cut: int = 0,
    rows: Any = None,
    gradient: Callable[[Any], Tensor] = take_gradient,
) -> tuple[float, Tensor]:
    """Through `accumulate`, with the token weights of the whole batch; of these rows alone if some are named."""
    objective = recipe.mechanism.objective
    weight = weights_of(batch, objective, max_new=recipe.scale.max_new)
    batch, _ = survey(engine, batch, weight, objective, Key(0)("update", 0), micro_tokens)  # as the first of `update`
    counted = int(np.count_nonzero(batch.counted_rows))
    if rows is not None:
        weight = np.concatenate([weight[batch.at[i] : batch.at[i + 1]] for i in rows])
        batch = batch.select(rows)
    chunked: Any = Cut(engine, cut) if cut else engine
    loss = accumulate(chunked, batch, weight, objective, micro_tokens, counted=counted)
    return loss, gradient(engine)


def update(engine: Any, batch: Batch, objective: Objective, scale: Scale, *, seed: int = 0) -> Stats:
    """`improve` on an engine of whatever kind."""
    return improve(engine, batch, objective=objective, scale=scale, key=Key(seed), micro_tokens=20)


def pushes(goal: Objective, rows: Sequence[Row], logp: float | Mapping[str, Sequence[float]]) -> list[list[float]]:
    """What each token of each row is pushed up by in one optimiser step, at these log-probs."""
    known = logp if isinstance(logp, Mapping) else {r.episode.request.id: [logp] * len(r.episode) for r in rows}
    table = Table(known)
    update(table, pack(rows), goal, recipe_of("grpo", num_minibatches=1).scale)
    return [(-table.coefficients.get(r.episode.request.id, np.zeros(len(r.episode)))).tolist() for r in rows]


class Cut:
    """An engine whose chunks are exactly so many rows."""

    def __init__(self, engine: LocalEngine, rows: int) -> None:
        self.engine, self.size = engine, rows

    @property
    def exact(self) -> bool:
        return self.engine.exact

    def writers(self, requests: Sequence[str]) -> str:
        return self.engine.writers(requests)

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]:
        for first in range(0, len(batch), self.size):
            part = np.arange(first, min(first + self.size, len(batch)))
            for chunk in self.engine.chunks(batch.select(part), tokens=10**9):
                yield dataclasses.replace(chunk, rows=part[chunk.rows])

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        return self.engine.forward(chunk, want)

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        self.engine.backward(chunk, outputs)


class Table:
    """An engine of given log-probs (and entropies): row by row for each request id. It keeps the coefficients.

    Chunks are so many rows, or everything.
    """

    def __init__(
        self,
        logp: Mapping[str, Sequence[float]],
        entropy: float | Mapping[str, Sequence[float]] = 1.0,
        rows: int | None = None,
    ) -> None:
        self.logp, self.entropy, self.rows = logp, entropy, rows
        self.version = 0
        self.exact = False
        self.coefficients: dict[str, np.ndarray] = {}
        self.hesitation: dict[str, np.ndarray] = {}  # d loss / d entropy
        self.candidates: dict[str, np.ndarray] = {}  # d loss / d log-probs of the stored candidates
        self.rates: list[float] = []
        self.asked: list[Sequence[str]] = []

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]:
        self.asked.append(batch.request)
        size = self.rows or len(batch)
        for first in range(0, len(batch), size):
            rows = np.arange(first, min(first + size, len(batch)))
            yield self._chunk(batch.select(rows), rows)

    def _chunk(self, batch: Batch, rows: np.ndarray) -> Chunk:
        def tensor(value: np.ndarray) -> Tensor:
            found = torch.from_numpy(value)
            return found.double() if found.is_floating_point() else found

        row = torch.from_numpy(np.repeat(np.arange(len(batch)), batch.lengths))
        return Chunk(batch=batch, rows=rows, row=row, **tensors_of(batch, tensor))

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        logp = torch.tensor([p for name in chunk.batch.request for p in self.logp[name]], dtype=torch.float64)
        entropy = self._entropy(chunk, logp).requires_grad_() if want.entropy else None
        mean = torch.full_like(logp, -3.0) if want.mean_logp else None
        top = torch.full((len(logp), 3), -2.0, dtype=torch.float64).requires_grad_() if want.top_ids else None
        return Outputs(logp=logp.requires_grad_(), entropy=entropy, top_logp=top, mean_logp=mean)

    def _entropy(self, chunk: Chunk, logp: Tensor) -> Tensor:
        if isinstance(self.entropy, int | float):
            return torch.full_like(logp, self.entropy)
        return logp.new_tensor([h for name in chunk.batch.request for h in self.entropy[name]])

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        assert outputs.logp.grad is not None
        kept = ((self.coefficients, outputs.logp), (self.hesitation, outputs.entropy))
        for table, tensor in (*kept, (self.candidates, outputs.top_logp)):
            for i, name in enumerate(chunk.batch.request if tensor is not None else ()):
                assert tensor is not None
                gradient = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
                table[name] = gradient[chunk.row == i].numpy().copy()

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        self.version += 1
        self.rates.append(lr)
        return {"grad_norm": 1.0, "skipped": 0.0}


# Episodes and rows


def segment(ids: Sequence[int] | np.ndarray, *, origin: int = Origin.POLICY, **changes: Any) -> Segment:
    count = len(ids)
    known = {name: np.full(count, -1.0, np.float32) for name in ("old", "mu")} if origin == Origin.POLICY else {}
    return Segment(np.array(ids, np.int32), np.full(count, origin, np.int8), **{**known, **changes})


def episode(
    answer: Sequence[int] | Sequence[Segment],
    *,
    group: str = "g",
    sample: int = 0,
    reward: float | None = 0.0,
    right: bool | None = None,
    prompt: str = "a",
    **changes: Any,
) -> Episode:
    """An answer of the policy (or of these segments) with its reward; None is an error of ours."""
    problem = Problem("tiny", prompt, {"letter": prompt}, prompt, level=1)
    asked = {name: changes.pop(name) for name in ("temperature", "max_new", "draw", "role") if name in changes}
    draw = asked.setdefault("draw", sum(map(ord, group)))
    request = Request(problem, Letters().encode(prompt), group, sample=sample, **{"max_new": 8, **asked, "draw": draw})
    pieces = [piece for piece in answer if isinstance(piece, Segment)]
    written = tuple(pieces) or (segment([token for token in answer if not isinstance(token, Segment)]),)
    right = bool(reward and reward > 0) if right is None else right
    verdict = Verdict.invalid("bug") if reward is None else Verdict.ok() if right else Verdict.fail("wrong")
    rewards = (Reward("outcome", 0.0 if reward is None else reward),)
    return Episode(request, written, **{"finish": "stop", "verdict": verdict, "rewards": rewards, **changes})


READ_BY_CREDIT = {stream for part in PARTS[Credit].values() for stream in part.reads if isinstance(stream, Stream)}
"""Constants of rows, all of them per token."""


def group_of(rewards: Sequence[float | None], *, name: str = "g", lengths: Sequence[int] | None = None) -> list[Row]:
    """A group of rows with these rewards; answers of two tokens unless told otherwise."""
    lengths = lengths or [2] * len(rewards)
    answers = [[1] * (n - 1) + [END] if n else [] for n in lengths]
    return [
        Row(
            episode(
                [segment(answer, entropy=np.full(len(answer), 0.5, np.float32))], group=name, sample=i, reward=reward
            ),
            constants={stream: np.ones(len(answer), np.float32) for stream in READ_BY_CREDIT},
            top_ids=np.zeros((len(answer), 3), np.int32),
        )
        for i, (answer, reward) in enumerate(zip(answers, rewards, strict=True))
    ]


# Recipes and runs


def recipe_of(name: str, *, max_new: int = 8, **scale: Any) -> Recipe:
    """The recipe at a small scale; its constants follow the answer length as on a laptop, its problem set the task."""
    recipe, _ = at_profile(RECIPES[name], "laptop", max_new=max_new)
    fixed = {"learning_rate": 3e-4, "schedule": "constant", "warmup_steps": 5}  # profiles may move, these tests not
    stages = tuple(
        dataclasses.replace(stage, mechanism=stage.mechanism and _of_one(stage.mechanism)) for stage in recipe.stages
    )
    scaled = dataclasses.replace(recipe.scale, **fixed | scale)
    return dataclasses.replace(recipe, mechanism=_of_one(recipe.mechanism), scale=scaled, stages=stages)


def with_forks(name: str, **scale: Any) -> Recipe:
    """The recipe at a small scale, with a second round that goes on from tokens of the answers of the first."""
    recipe = recipe_of(name, **scale)
    expand = (Fork(places=2, branches=2), *recipe.mechanism.expand)
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=expand))


def with_reward_model(name: str, **scale: Any) -> Recipe:
    """The recipe at a small scale, with a reward model that learns while the policy trains."""
    recipe = recipe_of(name, **scale)
    mechanism = dataclasses.replace(
        recipe.mechanism,
        reward=(Outcome(right=1.0, wrong=0.0), LearntScore(model="reward-model")),
        forwards=(RewardModel(model="reward-model", of=Outcome(), loss="pairs", rate=5.0),),
    )
    models = {"policy": Model(), "reward-model": Model(output="value")}
    return dataclasses.replace(recipe, mechanism=mechanism, models=models)


def _of_one(mechanism: Mechanism) -> Mechanism:
    """With a fixed set no larger than the smallest task of the tests, where there is one."""
    source = mechanism.source
    sized = any(field.name == "size" for field in dataclasses.fields(source))
    fixed = dataclasses.replace(source, size=1) if sized else source  # type: ignore[call-arg]
    return dataclasses.replace(mechanism, source=fixed)


def _shallow(steps: Part) -> Part:
    return dataclasses.replace(steps, depth=2, least=1)  # type: ignore[call-arg]


def with_rounds(recipe: Recipe, count: int) -> Recipe:
    """With at most so many draws of problems a step where the recipe refills, two steps where answers have steps, and
    followers that are not behind for all of a short run; in all of its stages.
    """

    def limited(mechanism: Mechanism | None) -> Mechanism | None:
        if mechanism is None:
            return None
        expand = tuple(
            dataclasses.replace(part, max_rounds=count) if isinstance(part, Refill) else part
            for part in mechanism.expand
        )
        ask = tuple(_shallow(part) if name_of(part) == "first-steps" else part for part in mechanism.ask)
        remember = tuple(
            dataclasses.replace(part, every=min(part.every, 5)) if isinstance(part, Follow) else part
            for part in mechanism.remember
        )
        return dataclasses.replace(mechanism, expand=expand, ask=ask, remember=remember)

    stages = tuple(dataclasses.replace(stage, mechanism=limited(stage.mechanism)) for stage in recipe.stages)
    mechanism = limited(recipe.mechanism)
    assert mechanism is not None
    return dataclasses.replace(recipe, mechanism=mechanism, stages=stages)


def stages_of(
    recipe: Recipe,
    *,
    micro_tokens: int = 10**6,
    pool: Pool = POOL,
    codec: Codec = Letters(),  # noqa: B008
) -> list[Phases]:
    return assemble(recipe, pool=pool, codec=codec, micro_tokens=micro_tokens)


def phases_of(recipe: Recipe, *, stage: int = 0, **world: Any) -> Phases:
    """Those of one stage, the first unless told otherwise."""
    return stages_of(recipe, **world)[stage]


def models_of(engine: Any, reference: Any = None, roles: Mapping[str, str] | None = None) -> Models:
    engines = {"policy": engine} if reference is None else {"policy": engine, "reference": reference}
    return Models(engines, roles or {"policy": "policy"})


def batch_of(recipe: Recipe, rows: Sequence[Row]) -> Batch:
    """What credit makes of these rows, by the recipe's own mechanism."""
    (batch,) = phases_of(dataclasses.replace(recipe, stages=(Stage(),))).credit(rows, Memory(0))
    return batch


@dataclasses.dataclass
class Notes:
    """A recorder that only listens, and wants a number for whatever is measured of a step."""

    episodes: list[list[Episode]] = dataclasses.field(default_factory=list)
    rows: list[list[Row]] = dataclasses.field(default_factory=list)
    batches: list[list[Batch]] = dataclasses.field(default_factory=list)
    stats: list[Stats] = dataclasses.field(default_factory=list)

    def started(self, memory: Memory, models: Models) -> None:
        pass

    def phase(self, name: str) -> None:
        pass

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        self.episodes.append(list(episodes))
        self.rows.append(list(rows))
        self.batches.append(list(batches))
        self.stats.append(stats)
        unknown = [name for name, value in {**step_stats(episodes, rows), **stats}.items() if not np.isfinite(value)]
        assert not unknown, unknown

    def accuracy(self) -> np.ndarray:
        """The share of right answers among all that were written to their end, step by step: of the policy's own. It is
        not a number where there were none.
        """
        written = [[e for e in step if e.provenance != "replay" and e.finish != "pause"] for step in self.episodes]
        written = [[e for e in step if e.provenance == "fresh"] or step for step in written]
        right = [[e.verdict is not None and e.verdict.status == "ok" for e in step] for step in written]
        return np.array([np.mean(step) if step else np.nan for step in right])


def run(
    recipe: Recipe,
    engine: LocalEngine,
    *,
    seed: int = 0,
    flipped: bool = False,
    micro_tokens: int = 10**6,
    memory: Memory | None = None,
    reference: LocalEngine | None = None,
    **world: Any,
) -> tuple[Notes, Memory]:
    """Trains the engine from `memory` on; `flipped` turns the sign of every advantage; `world`: pool, codec."""
    stages = stages_of(recipe, micro_tokens=micro_tokens, **world)
    if flipped:
        stages = [dataclasses.replace(stage, credit=_flipped(stage.credit)) for stage in stages]
    notes = Notes()
    memory = train(stages, models_for(recipe, engine, reference), memory or Memory(seed + Draw.seed), notes)
    return notes, memory


def models_for(recipe: Recipe, engine: LocalEngine, reference: LocalEngine | None = None) -> Models:
    """The engine as the policy, copies of it as the other sets, and a frozen reference."""
    engines = {"reference": reference or engine.copy(), "policy": engine}
    for name, spec in recipe.models.items():
        if name != "policy":
            kind = critic_of(type(engine), speaks=spec.output == "both") if spec.valued else type(engine)
            engines[name] = kind(
                copy.deepcopy(engine.model),
                end_ids=engine.end_ids,
                decode=engine.decode,
                optimiser=AdamW() if spec.trained else None,
                precision=engine.precision,
            )
    restarts = frozenset(name for name, spec in recipe.models.items() if spec.saved)
    for name in restarts:
        engines[name].mark_start()
    return Models(engines, recipe.roles, recipe.models, restarts)


def here(engine: Engine) -> LocalEngine:
    """The engine as one of this process, whose state can be looked at."""
    assert isinstance(engine, LocalEngine)
    return engine


Saved = tuple[str, bytes]
"""A memory as a checkpoint holds it: a document and a file of tensors."""


def saved(memory: Memory) -> Saved:
    return json.dumps(memory.to_data()), b"".join(bytes(piece) for piece in encode(memory.to_columns()))


def opened(halves: Saved) -> Memory:
    return Memory.of(json.loads(halves[0]), safetensors.numpy.load(halves[1]))


def reopened(memory: Memory) -> Memory:
    return opened(saved(memory))


class Stop(Exception):
    """What ends a run after so many of its steps."""


@dataclasses.dataclass
class Until(Notes):
    """A recorder that keeps what a checkpoint keeps after `last` steps, and ends the run there."""

    last: int = 0
    names: tuple[str, ...] = ()
    saved: tuple[dict[str, Any], Saved] | None = None

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        if memory.step == self.last:
            self.saved = {name: here(models[name]).state() for name in self.names}, saved(memory)
            raise Stop


def require_resumable(recipe: Recipe, beginner: Callable[[], LocalEngine], *, after: int, **world: Any) -> Memory:
    """A run that is stopped after so many steps and loaded into new engines ends with the bits of the whole run."""
    stages = stages_of(recipe, **world)
    whole, part, rest = (models_for(recipe, beginner()) for _ in range(3))
    notes, again = Notes(), Notes()
    until = Until(last=after, names=tuple(name for name, spec in recipe.models.items() if spec.saved))
    memory = train(stages, whole, Memory(0), notes)
    with pytest.raises(Stop):
        train(stages, part, Memory(0), until)
    assert until.saved is not None
    states, halves = until.saved
    for name, state in states.items():
        here(rest[name]).load(state)
    resumed = train(stages, rest, opened(halves), again)
    np.testing.assert_equal(until.stats + again.stats, notes.stats)
    assert saved(resumed) == saved(memory)
    for name in states:
        for key, value in here(whole[name]).state().items():
            found = here(rest[name]).state()[key]
            assert torch.equal(value, found) if isinstance(value, Tensor) else value == found, key
    return memory


def _flipped(credit: Callable[..., list[Batch]]) -> Callable[..., list[Batch]]:
    return lambda rows, memory: [_minus(batch) for batch in credit(rows, memory)]


def _minus(batch: Batch) -> Batch:
    """What was worth more is worth less, also to losses that go by rewards, verdicts or pairs."""
    assert batch.outcome is not None and batch.right is not None
    constants = {stream: -value if stream.name == "sides" else value for stream, value in batch.constants.items()}
    turned = {"advantage": -batch.advantage, "outcome": -batch.outcome, "right": ~batch.right}
    return dataclasses.replace(batch, **turned, constants=constants)
