"""How much memory a run will need, from shapes alone: the engines' allocations, counted before anything is loaded.

The peak is the memory that is always held, plus the memory of the phase that adds most. Names in the formulas: b bytes
of a number, q and k the widths of all query heads and of all key heads. This module does not import torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.policy.config import PolicyConfig, matrices, parameters

Phase = Literal["always", "sampling", "scoring", "learning"]

WIDE = 4  # bytes of a parameter, of its gradient and of each of its two moments
LIBRARIES = 320 << 20  # Python and torch on a processor, with the libraries that torch's products load
BESIDE_CORE = 256 << 20  # Python and torch where the core multiplies, so that those libraries are not loaded
GPU_BUILD = 284 << 20  # what a torch with libraries for GPUs takes more of a processor's memory
CONTEXT = 700 << 20  # GPU memory that the driver and the libraries take
PREFILL_TOKENS, NATIVE_PREFILL = 4096, 512  # prompt tokens that are run together: in torch, and on a thread of the core
SCORE_TOKENS = 4096  # tokens that are scored together
LOGITS, NATIVE_LOGITS = 1 << 24, 1 << 22  # elements of logits at a time: in torch, and on a thread of the core
LOGIT_GRADIENTS = 1 << 30  # bytes of gradients by logits at a time, of fused kernels
CACHED = 1 << 16  # elements of logits that stay in the cache of a processor's thread through several operations
HOST = 48 << 20  # bytes of a process in which plays run apart: Python and the tasks, without torch
KEEP_SCORES = 1 << 26  # attention scores of a chunk beyond which the backward pass computes probabilities again
TAPE_BYTES = 1 << 30  # if the activations of a chunk take more, the backward pass computes them again
CACHE_BYTES = 24 << 20  # as much of the keys and values of rows in flight fits into a processor's outer cache
STEP_ELEMENTS = 64_000  # hidden elements of a decoding step below which its calls cost more than its products
LEAST_ROWS, MOST_ROWS = 64, 512
NATIVE_SLOTS = 16  # rows in flight on a thread: enough for good products; more only make its keys and values larger
CORE_LIMIT = 300_000_000  # `auto` takes the core up to so many parameters; beyond, torch is as fast, in less memory
CODED_BLOCK = 256  # moments in eight bits that share a scale
KEPT_SHARE = 4  # the prefix cache may take a quarter of the memory that rows in flight may take
LANES = 16  # tokens of a block of keys in the core
PROGRAMS = 512  # programs of a kernel that keep a large GPU busy
STRIDE = 8  # steps after which the host looks at what a GPU has drawn
LEAST_STEM = 20  # tokens that prompts share as a stem: fewer save little, and small tasks' prompts do so by chance
PANEL = 48  # columns of a matrix that the core keeps side by side, at most
STACKS = (("q_proj", "k_proj", "v_proj"), ("o_proj",), ("gate_proj", "up_proj"), ("down_proj",))  # with one input each


@dataclass(frozen=True)
class Work:
    """The work of one step, as far as it decides how much memory the engines need.

    Example:
        work = Work(answers=64, group=8, prompt=100, max_new=500, micro_tokens=8192, cache_bytes=2 << 30)
        gib(budget(config, work).peak)
    """

    answers: int  # that are sampled in one round of a step
    group: int  # answers to one prompt
    prompt: int  # tokens of the longest prompt
    max_new: int
    micro_tokens: int  # input tokens of a micro-batch
    cache_bytes: int  # for the keys and values of the rows in flight
    evaluated: int = 0  # answers of the largest evaluation
    native: bool = False
    cuda: bool = False
    gpu_build: bool = False  # torch has libraries for GPUs in it, also where a processor computes
    threads: int = 1
    compute: int = 4  # bytes of a number in the compute format
    trained: int = 1  # parameter sets with an optimiser
    frozen: int = 0  # parameter sets without one: references, teachers
    lora: int = 0  # rank of the adapters; 0: all weights are trained
    players: int = 0  # parameter sets whose answers branch or have turns
    lora_targets: tuple[str, ...] = ()  # the matrices that have an adapter; (): all matrices of a layer
    more_moments: int = 0  # sets of moments beside the one that each trained parameter set has
    optimiser_bits: int = 32  # of a moment; moments in 8 bits share a scale by 256
    again: bool | None = None  # whether the backward pass computes activations again; None: beyond TAPE_BYTES
    common: int = 0  # tokens that all prompts begin with
    replies: int = 0  # tokens of `max_new` that a world may reply, which have a limit of their own
    hosts: int = 0  # processes in which plays of worlds run apart
    fused: bool = False  # whether torch computes with fused kernels
    filtered: bool = False  # whether tokens are drawn with top-k, top-p or min-p

    @property
    def length(self) -> int:
        return self.prompt + self.max_new


@dataclass(frozen=True)
class Item:
    """An allocation: how many bytes, what for, and in which phase of a step."""

    phase: Phase
    name: str
    bytes: int
    stays: bool = False  # whether the sampler can keep it from call to call, where there is room for it beside learning


@dataclass(frozen=True)
class Budget:
    """All allocations of a run, and how many rows its sampler has in flight."""

    items: tuple[Item, ...]
    rows: int

    def of(self, phase: Phase) -> int:
        return sum(item.bytes for item in self.items if item.phase == phase)

    @property
    def phases(self) -> dict[Phase, int]:
        """The bytes that each phase needs, including the bytes that are always held."""
        names: tuple[Phase, ...] = ("sampling", "scoring", "learning")
        return {name: self.of("always") + self.of(name) for name in names}

    @property
    def peak(self) -> int:
        return max(self.phases.values())

    @property
    def together(self) -> int:
        """The peak if the sampler keeps what can stay while others compute."""
        kept = sum(item.bytes for item in self.items if item.stays)
        return max(need + (0 if name == "sampling" else kept) for name, need in self.phases.items())


# Shapes


def adapters(c: PolicyConfig, rank: int, targets: Sequence[str] = ()) -> int:
    """How many numbers the low-rank adapters have: rank x (out + in) for each matrix that has an adapter."""
    known = matrices(c)
    return c.layers * rank * sum(sum(known[name]) for name in targets or known if name in known)


def stacked(c: PolicyConfig, rank: int, targets: Sequence[str] = (), *, unit: int = 1) -> int:
    """How many numbers the adapters have as the core reads them. Those of matrices with one input lie side by side: A
    is [sum of their ranks, in], B [all their outputs, sum of their ranks]; the sum is rounded up to whole units.
    """
    known, total = matrices(c), 0
    for stack in STACKS:
        ranks = rank * sum(not targets or name in targets for name in stack)
        total += -(-ranks // unit) * unit * (known[stack[0]][1] + sum(known[name][0] for name in stack))
    return c.layers * total


def folded(c: PolicyConfig) -> int:
    """How many numbers the matrices after a norm have; the network keeps a copy with the norm's weight folded in."""
    return _numbers(c, "q_proj", "k_proj", "v_proj", "gate_proj", "up_proj")


def plain(c: PolicyConfig) -> int:
    """How many numbers the matrices have that come after no norm."""
    return _numbers(c, "o_proj", "down_proj")


def _numbers(c: PolicyConfig, *names: str) -> int:
    return c.layers * sum(math.prod(matrices(c)[name]) for name in names)


# Rows in flight


def row_bytes(c: PolicyConfig, length: int, itemsize: int) -> int:
    """Bytes of the keys and values of one row."""
    return 2 * c.layers * c.kv_heads * c.head_dim * length * itemsize


def slots(c: PolicyConfig, *, length: int, count: int, memory_bytes: int, itemsize: int, cuda: bool) -> int:
    """How many rows the torch sampler has in flight, in even waves and never beyond `memory_bytes`.

    On a processor, rows are few enough for its cache, or enough for large products if these need more rows.
    """
    size = row_bytes(c, length, itemsize)
    preferred = max(LEAST_ROWS, CACHE_BYTES // size, STEP_ELEMENTS // c.hidden)
    preferred = MOST_ROWS if cuda else min(preferred, MOST_ROWS)
    waves = max(1, round(count / preferred))
    return max(1, min(-(-count // waves), memory_bytes // size))


def native_slots(
    c: PolicyConfig, *, length: int, count: int, memory_bytes: int, threads: int, itemsize: int, group: int
) -> int:
    """How many rows one thread of the core has in flight: those of whole groups of so many answers, if they fit.

    If the keys and values of NATIVE_SLOTS rows stay in no cache, the rows are twice as many and share the weights.
    """
    share = -(-count // threads)
    cached = NATIVE_SLOTS * threads * row_bytes(c, length, itemsize) <= CACHE_BYTES
    wave = -(-share // max(1, round(share / (NATIVE_SLOTS if cached else 2 * NATIVE_SLOTS))))
    wave = -(-wave // group) * group if group <= wave else wave
    return max(1, min(wave, memory_bytes // (row_bytes(c, length, itemsize) * threads)))


def kept_tokens(c: PolicyConfig, *, memory_bytes: int, itemsize: int) -> int:
    """How many tokens the prefix cache may hold beside the rows in flight."""
    return memory_bytes // KEPT_SHARE // row_bytes(c, 1, itemsize)


# The budget


def keeping(c: PolicyConfig, work: Work, room: int) -> Work:
    """The work with activations kept where there is room for all of them: computing them again takes a third more time.
    A processor's caches are the reason for which it computes large ones again, and more memory is none.
    """
    kept = replace(work, again=False)
    return kept if work.again is None and work.cuda and budget(c, kept).peak <= room else work


def budget(c: PolicyConfig, work: Work) -> Budget:
    """All allocations of a run that does this work on a model of this shape."""
    items = [*_always(c, work), *_learning(c, work), *_keeping(c, work)]
    sampling, rows = _native_sampling(c, work) if work.native else _sampling(c, work)
    if work.frozen or not work.native:
        items += _scoring(c, work)
    return Budget(tuple(item for item in [*items, *sampling] if item.bytes > 0), rows)


def _always(c: PolicyConfig, w: Work) -> list[Item]:
    weights, sets = WIDE * parameters(c), w.trained + w.frozen
    learnt = WIDE * (adapters(c, w.lora, w.lora_targets) if w.lora else parameters(c))
    libraries = CONTEXT if w.cuda else BESIDE_CORE if w.native else LIBRARIES
    items = [
        Item("always", "GPU libraries" if w.cuda else "Python and libraries", libraries),
        Item("always", "libraries for GPUs in this torch", GPU_BUILD if w.gpu_build and not w.cuda else 0),
        Item("always", "processes of plays", 0 if w.cuda else w.hosts * HOST),
        # with adapters, all parameter sets share the base weights; torch's are kept in the compute format alone
        Item("always", "weights", (weights if w.native else w.compute * parameters(c)) if w.lora else sets * weights),
        Item("always", "adapters", w.trained * learnt if w.lora else 0),
        Item("always", "gradients", w.trained * learnt),
        Item(
            "always",
            "optimiser, two moments",
            2 * (w.trained + w.more_moments) * moment_bytes(learnt, w.optimiser_bits),
        ),
    ]
    if w.native:
        packed = (folded(c) + plain(c) + c.vocab * c.hidden) * w.compute
        items.append(Item("always", "weights in the core's orders", packed * (2 * w.trained + w.frozen)))
        if w.lora:
            read, lined = (stacked(c, w.lora, w.lora_targets, unit=unit) for unit in (1, PANEL))
            held = 2 * WIDE * read + w.compute * lined  # with gradients
            items.append(Item("always", "adapters in the core's orders", w.trained * held))
    else:
        copied = folded(c) if w.compute == WIDE else folded(c) + plain(c) + 2 * c.vocab * c.hidden
        name = "norms folded in" if w.compute == WIDE else "weights to compute with"
        items.append(Item("always", name, 0 if w.lora else sets * w.compute * copied))
    return items


def moment_bytes(learnt: int, bits: int) -> int:
    """Bytes of one moment of weights that take `learnt` bytes."""
    return learnt if bits == 32 else learnt // WIDE + learnt // CODED_BLOCK


@dataclass(frozen=True)
class _Chunk:
    """The tokens of one micro-batch: whole rows, with each group's prompt once. The beginning that all prompts share is
    there once.
    """

    tokens: int
    contexts: int
    rows: int
    answer: int  # tokens of a row's answer
    prompt: int
    stem: int = 0

    @classmethod
    def of(cls, w: Work, tokens: int) -> _Chunk:
        answer = max(1, w.max_new - 1)
        stem = min(w.common, w.prompt - 1) if w.common >= LEAST_STEM else 0
        behind = w.prompt - stem + w.group * answer
        if tokens >= stem + behind:
            contexts = min((tokens - stem) // behind, max(1, w.answers // w.group))
            stem = stem if contexts > 1 else 0
            behind = w.prompt - stem + w.group * answer
            return cls(stem + contexts * behind, contexts, contexts * w.group, answer, w.prompt, stem)
        rows = max(1, (tokens - w.prompt) // answer)
        return cls(w.prompt + rows * answer, 1, rows, answer, w.prompt)

    @property
    def predicted(self) -> int:
        return self.rows * (self.answer + 1)

    def scores(self, heads: int) -> int:
        """How many attention scores are computed: a token attends to the tokens before it, in pieces of 64 queries."""
        own = self.answer * (self.prompt + (self.answer + 64) / 2)
        return int(heads * (self.rows * own + self.contexts * self.prompt * (self.prompt + 64) / 2))


def gated(c: PolicyConfig, *, fused: bool) -> int:
    """Numbers of a token's gated unit that a layer keeps: gate and up, and without fused kernels silu(gate) and the
    product, which these compute again.
    """
    return (2 if fused else 4) * c.ffn


def tape_bytes(c: PolicyConfig, tokens: int, itemsize: int, *, fused: bool = False) -> int:
    """Bytes of the activations that all layers keep for so many tokens, without attention's probabilities."""
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    width = 2 * c.hidden + 3 * q + (q + k) * (3 if c.qk_norm else 1) + gated(c, fused=fused)
    return c.layers * width * tokens * itemsize


def native_tape_bytes(c: PolicyConfig, tokens: int, itemsize: int) -> int:
    """Bytes that all layers of the core keep for so many tokens: the inputs of its products in both passes, and the
    queries and keys before and after their norms.
    """
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    operands = 4 * c.hidden + 2 * (q + 2 * k) + q + 5 * c.ffn
    return c.layers * tokens * (itemsize * operands + WIDE * (2 * (q + k) if c.qk_norm else 0))


def _layer(c: PolicyConfig, chunk: _Chunk, b: int, *, flash: bool, fused: bool) -> int:
    """Bytes of the activations that one layer keeps for its backward pass.

    These are h, h2, queries, o, keys and values (a prompt's again for each of its rows), and those of the gated unit.
    Attention's probabilities are kept too if they are few. The flash kernel of a GPU never keeps them; it
    keeps the rotated keys a second time instead.
    """
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    kept = chunk.tokens * (2 * c.hidden + 2 * q + 2 * k + gated(c, fused=fused))
    kept += (chunk.rows * chunk.prompt + chunk.contexts * chunk.stem) * 2 * k
    kept += chunk.tokens * (q + k) if c.qk_norm else 0
    scores = chunk.tokens * k if flash else chunk.scores(c.heads)
    return b * (kept + (scores if scores <= KEEP_SCORES else 0))


def _learning(c: PolicyConfig, w: Work) -> list[Item]:
    chunk, b = _Chunk.of(w, w.micro_tokens), w.compute
    if w.native:
        return _native_learning(c, w, chunk)
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    inside = chunk.tokens * (3 * c.ffn + 2 * c.hidden + 3 * q + 4 * k) * b
    rows = min(chunk.predicted, max(1, LOGITS // c.vocab))
    held = 3 if rows == chunk.predicted else 4  # logits, logits / tau, log-probs; and the log-probs of the rows before
    words = held * WIDE * rows * c.vocab
    if w.fused:
        words = min(LOGIT_GRADIENTS, chunk.predicted * c.vocab * b)
    folded_grads = 0 if w.lora else WIDE * folded(c)
    again = tape_bytes(c, chunk.tokens, b, fused=w.fused) > TAPE_BYTES if w.again is None else w.again
    layer = _layer(c, chunk, b, flash=w.cuda and b < WIDE, fused=w.fused)
    tapes = c.layers * chunk.tokens * c.hidden * b + layer if again else c.layers * layer
    name = f"{'inputs of layers' if again else 'activations'}, {chunk.tokens} tokens"
    return [
        Item("learning", name, tapes + inside),
        Item("learning", "output layer", words + 3 * chunk.predicted * c.hidden * b),
        Item("learning", "gradients of folded weights", folded_grads),
    ]


def _native_learning(c: PolicyConfig, w: Work, chunk: _Chunk) -> list[Item]:
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    tape = native_tape_bytes(c, chunk.tokens, w.compute)
    again = tape > TAPE_BYTES if w.again is None else w.again
    inputs = WIDE * c.layers * c.hidden * chunk.tokens
    beside = chunk.tokens * (w.compute * (c.hidden + q) + WIDE * (4 * c.hidden + q + 2 * k))
    name = f"{'inputs of layers' if again else 'activations'}, {chunk.tokens} tokens"
    stems = chunk.stem * 2 * k * (w.compute * c.layers + WIDE * chunk.contexts * (1 if again else c.layers))
    rows = min(chunk.predicted, max(2, NATIVE_LOGITS // c.vocab) * w.threads)
    kept = chunk.predicted * c.vocab if chunk.predicted * c.vocab <= 4 * NATIVE_LOGITS else 0
    return [
        Item("always", name, (inputs + tape // c.layers if again else tape) + beside),
        Item("always", "keys and values that prompts share, and their gradients", stems),
        Item("always", "output layer", WIDE * (2 * rows * c.vocab + kept + 2 * rows * c.hidden)),
        # each is made when it is packed: gate and up together, which a norm's weight multiplies
        Item("learning", "matrices to pack", WIDE * w.threads * 6 * c.ffn * c.hidden),
        Item("learning", "gradients of folded weights", 0 if w.lora else w.trained * WIDE * folded(c)),
    ]


def _sampling(c: PolicyConfig, w: Work) -> tuple[list[Item], int]:
    b, q, k = w.compute, c.heads * c.head_dim, c.kv_heads * c.head_dim
    waves = [(w.answers, math.ceil(w.answers / w.group)), *([(w.evaluated, w.evaluated)] if w.evaluated else [])]
    rows, cached = (max(column) for column in zip(*(_cached(c, w, *wave) for wave in waves)))
    prompts = math.ceil(rows / w.group)
    tokens = max(w.prompt, min(prompts * w.prompt, PREFILL_TOKENS))
    prefill = tokens * b * (c.layers * (2 * q + 3 * k) + 3 * c.hidden + 4 * c.ffn + 3 * q)
    drawn = 0 if w.fused and not w.filtered else 20  # logits, log-probs, probabilities; their sums in fp64
    words = rows * c.vocab * (drawn + (b if b < WIDE or w.fused else 0))
    items = [
        Item("sampling", f"keys and values of {rows} rows", cached, stays=w.cuda),
        Item("sampling", "prompts", prefill),
        Item("sampling", "next tokens", words),
    ]
    if w.cuda:  # recorded steps have a pool of their own, in which tokens are drawn too
        items += [
            Item("sampling", "what rows draw from and write", rows * (8 * w.max_new + 48 * STRIDE), stays=True),
            Item("sampling", "recorded steps", _recorded(c, rows, w, b) + words, stays=True),
        ]
    return items, rows


def _cached(c: PolicyConfig, w: Work, count: int, prompts: int) -> tuple[int, int]:
    """(rows in flight of so many answers, bytes of their keys and values). With fused kernels a prompt lies once for
    all rows that continue it; answers that branch or have turns continue each its own beginning, of any length.
    """
    turns = w.fused and w.players > 0
    length, prompts = (2 * w.length, count) if turns else (w.length, prompts)
    rows = slots(c, length=length, count=count, memory_bytes=w.cache_bytes, itemsize=w.compute, cuda=w.cuda)
    if not w.fused:
        return rows, rows * row_bytes(c, length, w.compute)
    own, begun = (w.length, w.length) if turns else (w.max_new, w.prompt)
    return rows, rows * row_bytes(c, own, w.compute) + min(rows, prompts) * row_bytes(c, begun, w.compute)


def _recorded(c: PolicyConfig, rows: int, w: Work, b: int) -> int:
    """Bytes of the decoding steps' CUDA graphs, which share a pool: scores twice, or the parts of attention of fused
    kernels in fp32, and the activations of one layer.
    """
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    attended = b * (2 * c.heads * w.length + w.length)
    if w.fused:
        attended = WIDE * (q + 2 * c.heads) * 2 * math.ceil(PROGRAMS / max(1, rows * c.kv_heads))
    return rows * (attended + b * (6 * c.hidden + 3 * (q + 2 * k) + 5 * c.ffn))


def _native_sampling(c: PolicyConfig, w: Work) -> tuple[list[Item], int]:
    settings = {"length": w.length, "memory_bytes": w.cache_bytes, "threads": w.threads, "itemsize": w.compute}
    settings["group"] = w.group
    each = max(native_slots(c, count=count, **settings) for count in (w.answers, w.evaluated or w.answers))
    own = min(w.prompt, LANES) + w.max_new
    shared = math.ceil(each / w.group) * row_bytes(c, w.prompt, w.compute)
    words = WIDE * min(each, max(2, NATIVE_LOGITS // c.vocab)) * c.vocab
    token = 2 * c.hidden + 2 * c.heads * c.head_dim + 2 * c.kv_heads * c.head_dim + 3 * c.ffn + 3 * c.hidden
    prefill = WIDE * max(w.prompt, min(NATIVE_PREFILL, math.ceil(each / w.group) * w.prompt)) * token
    return [
        Item(
            "sampling",
            f"keys and values of {each * w.threads} rows",
            w.threads * (each * row_bytes(c, own, w.compute) + shared) + row_bytes(c, w.prompt + w.common, WIDE),
        ),
        Item("sampling", "prompts and next tokens", w.threads * (prefill + words)),
    ], each * w.threads


def _keeping(c: PolicyConfig, w: Work) -> list[Item]:
    """The prefix cache, for answers that branch or have turns; it never needs more than all answers of a step."""
    b = WIDE if w.native else w.compute
    tokens = min(kept_tokens(c, memory_bytes=w.cache_bytes, itemsize=b), w.answers * w.length)
    return [Item("sampling", "keys and values kept for branches", w.players * row_bytes(c, tokens, b))]


def _scoring(c: PolicyConfig, w: Work) -> list[Item]:
    """Scoring the step's answers, a few thousand tokens at a time; no layer keeps activations."""
    chunk, b = _Chunk.of(w, max(SCORE_TOKENS, w.length)), w.compute
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    inside = chunk.tokens * (4 * c.hidden + 4 * c.ffn + 4 * q + 4 * k) + chunk.rows * chunk.prompt * 2 * k
    words = 3 * WIDE * min(chunk.predicted, max(1, LOGITS // c.vocab)) * c.vocab
    return [Item("scoring", f"{chunk.tokens} tokens", b * inside + words)]


def gib(count: float) -> str:
    """`1.25 GiB`."""
    return f"{count / 2**30:.2f} GiB"


def as_data(made: Budget) -> Mapping[str, object]:
    return {
        "items": [{"phase": item.phase, "name": item.name, "bytes": item.bytes} for item in made.items],
        "rows_in_flight": made.rows,
        "peak_bytes": made.peak,
    }
