"""The prompts of a sampling call: each distinct prompt is run once, and nothing is run that was run before.

A beginning that several prompts of a prefill share is run once for all of them, and a prefix that the prefix cache
knows is not run. Only its last token is run again, because a row needs that token's hidden state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine.footprint import PREFILL_TOKENS
from assay.engine.layout import hosted, offsets, stems
from assay.engine.prefix_cache import PrefixCache
from assay.engine.torch.decode import Begun, Caches
from assay.engine.torch.packing import Onward
from assay.engine.torch.upload import uploaded
from assay.engine.torch.voices import Voice
from assay.types import Ids


@dataclass(eq=False)
class Prefilled:
    """Prompts that were run: their keys and values, and the hidden states from which rows draw their first tokens."""

    prompts: list[int]
    where: list[np.ndarray]  # for each prompt, which of the N tokens of `cache` are its tokens
    ends: list[dict[int, int]]  # for each prompt: length of the part that a row continues -> index into `hidden`
    cache: Caches
    hidden: Tensor

    def alone(self, j: int) -> Prefilled:
        """Prompt number j alone."""
        where = uploaded(self.where[j], self.hidden.device)
        ends = uploaded(np.array(list(self.ends[j].values())), self.hidden.device)
        cache = [(k[where], v[where]) for k, v in self.cache]
        places = {size: i for i, size in enumerate(self.ends[j])}
        return Prefilled([self.prompts[j]], [np.arange(len(where))], [places], cache, self.hidden[ends])

    def joined(self, more: Prefilled) -> Prefilled:
        """These prompts and then those of `more`."""
        tokens, ends = len(self.cache[0][0]), len(self.hidden)
        return Prefilled(
            self.prompts + more.prompts,
            self.where + [where + tokens for where in more.where],
            self.ends + [{size: i + ends for size, i in some.items()} for some in more.ends],
            [(torch.cat([a, k]), torch.cat([b, v])) for (a, b), (k, v) in zip(self.cache, more.cache)],
            torch.cat([self.hidden, more.hidden]),
        )

    def begun(self, prompts: np.ndarray, size: np.ndarray) -> tuple[Begun, Tensor, Tensor]:
        """Rows that continue the first `size` tokens of these prompts; the hidden states behind these beginnings, each
        once; and which of those is whose.
        """
        position = {prompt: j for j, prompt in enumerate(self.prompts)}
        local = [position[int(prompt)] for prompt in prompts]
        index = np.zeros((len(local), int(size.max())), np.int64)
        for i, j in enumerate(local):
            index[i, : size[i]] = self.where[j][: size[i]]
        ends, own = np.unique([self.ends[j][int(n)] for j, n in zip(local, size)], return_inverse=True)
        device = self.hidden.device
        return Begun(index, size, prompts), self.hidden[uploaded(ends, device)], uploaded(own, device)


class Prompts:
    """The distinct prompts of a call's requests, and the order in which rows of one prompt stand together.

    Example:
        taken, ready = prompts.next(queue)  # the first `taken` requests of the queue, with their prompts run
        prompts.keep_last(ready, waiting)
    """

    def __init__(self, voice: Voice, kept: PrefixCache[Tensor], prompts: Sequence[Ids], answers: int) -> None:
        self.voice, self.kept = voice, kept
        self.which, first = hosted(list(prompts))
        self.texts = [prompts[i] for i in first]
        self.queue = np.argsort(self.which, kind="stable")
        self.size = np.array([len(prompt) for prompt in prompts])
        self.begins: list[set[int]] = [set() for _ in first]
        for prompt, size in zip(self.which, self.size):
            self.begins[prompt].add(int(size))
        self.ran = 0  # tokens
        self._carry: Prefilled | None = None
        for text in self.texts:
            kept.known(text)  # marks the prompt's runs as used, so that `make_room` drops others first
        kept.make_room(sum(map(len, self.texts)) + answers)

    @property
    def beginnings(self) -> int:
        """How many different beginnings the rows have."""
        return sum(map(len, self.begins))

    def next(self, queue: Iterable[int]) -> tuple[int, Prefilled]:
        """How many requests of the queue can begin with as many new prompts as one prefill takes, and their prompts."""
        held = set(self._carry.prompts) if self._carry else set()
        new: list[int] = []
        tokens = taken = 0
        for i in queue:
            prompt = int(self.which[i])
            if prompt not in held and prompt not in new:
                tokens += len(self.texts[prompt])
                if new and tokens > PREFILL_TOKENS:
                    break
                new.append(prompt)
            taken += 1
        if not new:
            assert self._carry is not None
            return taken, self._carry
        ready = self._computed(new)
        return taken, ready if self._carry is None else self._carry.joined(ready)

    def keep_last(self, ready: Prefilled, waiting: Sequence[int] | np.ndarray) -> None:
        """Keep the last prompt if some of its rows still wait, so that it is not run again."""
        self._carry = None
        if len(waiting):
            prompt = int(self.which[waiting[0]])
            if prompt in ready.prompts:
                self._carry = ready.alone(ready.prompts.index(prompt))

    def keep_answer(self, request: int, ids: Ids, rows: Tensor) -> None:
        """Put the fed tokens of an answer into the prefix cache, with their keys and values."""
        size = int(self.size[request])
        self.kept.add(np.concatenate([self.texts[self.which[request]][:size], ids]), size, rows)

    def _computed(self, prompts: list[int]) -> Prefilled:
        """Run the tokens of prompts that the prefix cache lacks. Tokens of the cache and of stems are run again where
        their hidden states are needed. Only a prompt with nothing in the cache may have a stem.
        """
        pieces = [self.kept.known(self.texts[i]) for i in prompts]
        cached = np.array([sum(piece.count for piece in some) for some in pieces])
        known_at, total = offsets(cached)[:-1], int(cached.sum())
        new, stem = np.flatnonzero(cached == 0), np.full(len(prompts), -1)
        stem[new], beginnings = stems([self.texts[prompts[j]] for j in new])
        begun = cached + np.array([*map(len, beginnings), 0])[stem]  # tokens that come from the cache or from a stem
        texts, count = [*(self.texts[i] for i in prompts), *beginnings], len(prompts)
        stretches = [(count + k, 0, len(ids)) for k, ids in enumerate(beginnings)]
        stretches += [(j, int(begun[j]), len(texts[j])) for j in range(count) if begun[j] < len(texts[j])]
        for j, i in enumerate(prompts):
            stretches += [(j, size - 1, size) for size in sorted(self.begins[i]) if size <= begun[j]]
        which, lows, highs = np.array(stretches).T
        at = offsets(highs - lows)
        ids = np.concatenate([texts[j][low:high] for j, low, high in stretches]).astype(np.int64)
        behind = np.append(stem, np.full(len(beginnings), -1))[which]  # the stem of each stretch
        onward = Onward(
            ids,
            highs - lows,
            known_at=np.append(known_at, np.zeros(len(beginnings), np.int64))[which],
            known=np.where(behind < 0, lows, 0),
            total=total,
            stem_at=at[behind],
            stem=np.where(behind < 0, 0, lows),
        )
        parts = [p.rows[:, :, p.skip : p.skip + p.count] for some in pieces for p in some]
        hidden, cache = self.voice.prefill(onward, [(k, v) for k, v in torch.cat(parts, 2)] if total else [])
        self.ran += len(ids)
        first = np.where(stem < 0, len(ids) + known_at, at[stem])
        where = [first[j] + np.arange(begun[j]) for j in range(count)]
        ends: list[dict[int, int]] = [{} for _ in prompts]
        for (j, low, high), begin in zip(stretches[len(beginnings) :], at[len(beginnings) :]):
            if low == begun[j]:
                where[j] = np.concatenate([where[j], begin + np.arange(high - low)])
                self._keep(prompts[j], int(cached[j]), cache, where[j][cached[j] :])
            ends[j] |= {size: int(begin) + size - 1 - low for size in self.begins[prompts[j]] if low < size <= high}
        return Prefilled(prompts, where, ends, cache, hidden)

    def _keep(self, prompt: int, low: int, cache: Caches, where: np.ndarray) -> None:
        """Put a prompt's tokens from `low` on into the prefix cache; `where` their keys and values are in `cache`."""
        if self.kept.most:
            index = uploaded(where, self.voice.device)
            rows = torch.stack([torch.stack((k[index], v[index])) for k, v in cache])
            self.kept.add(self.texts[prompt], low, rows)
