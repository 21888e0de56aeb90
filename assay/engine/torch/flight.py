"""The rows in flight where the device draws: what it knows of each row, and what the host reads of it, some steps late.

The device draws each token, records it, and ends a row at an end token or at its limit, so a step needs nothing from
the host. The host looks from time to time: it asks for a copy of what the last steps wrote, hands out the next steps,
and only then reads the copy of the look before. A row whose end only the host can know (a stop string, a hearer) writes
on until then, and the host leaves out what stands behind the end. So the answers do not depend on when the host looks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from assay.engine.filtering import Draw, Filters
from assay.engine.footprint import STRIDE
from assay.engine.sampling_call import Asked, SamplingArrays, Written
from assay.engine.torch.upload import uploaded

DRAWN, WRITES, FINITE = slice(0, 4), 4, 5  # of a row of `Board.fresh`: token, old, mu, entropy; then two marks


@dataclass(frozen=True)
class Pace:
    """After how many steps the host looks, and how many looks it may leave unread while the device goes on."""

    stride: int
    behind: int

    @classmethod
    def of(cls, device: torch.device) -> Pace:
        """A processor computes each step at once, so nothing is gained by looking late."""
        return cls(STRIDE, 1) if device.type == "cuda" else cls(1, 0)


class Needs(NamedTuple):
    """What some row of a call needs in its draws: a step without it is recorded without it."""

    tau: bool
    greedy: bool
    filtered: bool
    barred: bool

    @classmethod
    def of(cls, sampling: SamplingArrays) -> Needs:
        parts = (sampling.tau, sampling.greedy, sampling.filtered, sampling.barred)
        return cls(*(part is not None for part in parts))


class Board:
    """What the device knows of the rows in flight; entry i of each tensor belongs to slot i. Its tensors stay where
    they are, because recorded steps read and write them there.
    """

    def __init__(
        self, *, slots: int, width: int, stride: int, vocab: int, device: torch.device, wide: torch.dtype
    ) -> None:
        def numbers(*shape: int, kind: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(*shape, dtype=kind, device=device)

        self.device, self.width = device, width
        self.token, self.done, self.limit, self.base = (numbers(slots) for _ in range(4))
        self.live = numbers(slots, kind=torch.bool)
        self.u = numbers(slots, width, kind=torch.float64)
        self.tau, self.top_p, self.min_p = (numbers(slots, kind=wide) for _ in range(3))
        self.greedy, self.filtered = (numbers(slots, kind=torch.bool) for _ in range(2))
        self.top_k, self.barred = numbers(slots), numbers(slots)
        self.ends = numbers(vocab, kind=torch.bool)
        self.flags = numbers(0, vocab, kind=torch.bool)  # of each set of barred tokens
        self.tick = numbers(1)
        self.fresh = numbers(stride, FINITE + 1, slots, kind=torch.float64)

    @property
    def of_rows(self) -> tuple[Tensor, ...]:
        """The tensors that have an entry for each slot."""
        drawing = (self.tau, self.top_p, self.min_p, self.greedy, self.filtered, self.top_k, self.barred)
        return self.token, self.done, self.limit, self.base, self.live, self.u, *drawing

    def clear(self, low: int = 0, high: int | None = None) -> None:
        """The slots have no rows: a step feeds them some token at position 0 and records nothing."""
        for tensor in (self.live, self.done, self.base):
            tensor[low:high].zero_()

    def open(self, asked: Asked) -> bool:
        """Begins a call. Returns whether steps that bar tokens must be recorded anew, as their sets are others."""
        self.clear()
        self._next_window()
        self.ends.copy_(uploaded(asked.ends, self.device))
        if asked.sampling.flags is None:
            return False
        self.flags = uploaded(asked.sampling.flags.astype(bool), self.device)
        return True

    def positions(self, rows: int) -> Tensor:
        """Where the tokens that are fed next stand in their rows."""
        return self.base[:rows] + self.done[:rows]

    def begin(self, low: int, rows: np.ndarray, size: np.ndarray, asked: Asked) -> None:
        """Put the requests `rows`, whose prompts have `size` tokens, into the slots from `low` on."""
        cut, sampling = slice(low, low + len(rows)), asked.sampling
        noise = asked.noise(rows)
        self.u[cut, : noise.shape[1]] = uploaded(noise, self.device)
        self.base[cut] = uploaded(size - 1, self.device)
        self.limit[cut] = uploaded(asked.limit[rows], self.device)
        self.done[cut].zero_()
        self.live[cut].fill_(True)
        for name in ("tau", "greedy", "filtered", "barred"):
            array = getattr(sampling, name)
            if array is not None:
                getattr(self, name)[cut] = uploaded(array[rows], self.device)
        if sampling.filtered is not None:
            for name in ("top_k", "top_p", "min_p"):
                getattr(self, name)[cut] = uploaded(getattr(sampling, name)[rows], self.device)

    def settle(self, low: int, logits: Tensor, needs: Needs, draw: Draw) -> None:
        """Draw a token for each slot from `low` on, record it, and end rows. A CUDA graph can record this method."""
        cut = slice(low, low + len(logits))
        live, done = self.live[cut], self.done[cut]
        u = self.u[cut].gather(1, done.clamp(max=self.width - 1)[:, None]).squeeze(1)
        drawn = draw(logits, u, self._filters(cut, needs))
        numbers = (drawn.token, drawn.old, drawn.mu, drawn.entropy, live, drawn.finite)
        new = torch.stack([number.to(torch.float64) for number in numbers])
        self.fresh[:, :, cut].index_copy_(0, self.tick, new[None])
        self.tick.add_(1)
        done.add_(live)
        self.token[cut] = torch.where(live, drawn.token, self.token[cut])
        live.logical_and_((self.ends[drawn.token] | (done >= self.limit[cut])).logical_not_())

    def _filters(self, cut: slice, needs: Needs) -> Filters:
        barred = None
        if needs.barred:
            sets = self.barred[cut]
            barred = self.flags[sets.clamp(min=0)] & (sets >= 0)[:, None]
        tau, greedy = self.tau[cut] if needs.tau else None, self.greedy[cut] if needs.greedy else None
        if not needs.filtered:
            return Filters(tau, greedy, barred=barred)
        return Filters(tau, greedy, self.filtered[cut], self.top_k[cut], self.top_p[cut], self.min_p[cut], barred)

    def move(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the state of the slots `source` onto the slots `target`."""
        a, b = uploaded(source, self.device), uploaded(target, self.device)
        for tensor in self.of_rows:
            tensor[b] = tensor[a]

    def look(self, ticks: int) -> Look:
        """A copy of what the last steps wrote, which the device makes in its turn. A new window begins."""
        recent = self.fresh[:ticks]
        if self.device.type == "cuda":
            host = torch.empty(recent.shape, dtype=recent.dtype, pin_memory=True)
            host.copy_(recent, non_blocking=True)
            made = torch.cuda.Event()
            made.record()
            look = Look(host, made)
        else:
            look = Look(recent.clone())
        self._next_window()
        return look

    def _next_window(self) -> None:
        self.fresh[:, WRITES].zero_()
        self.tick.zero_()


@dataclass(frozen=True, eq=False)
class Look:
    """A copy on the way to the host."""

    fresh: Tensor
    made: torch.cuda.Event | None = None

    def read(self) -> np.ndarray:
        """[ticks, 6, slots], as soon as the device has made it."""
        if self.made is not None:
            self.made.synchronize()
        return self.fresh.numpy()


@dataclass(frozen=True, eq=False)
class _Unread:
    look: Look
    who: np.ndarray  # the request of each slot when these steps were handed out
    ticks: int


@dataclass(eq=False)
class Flight(Asked):
    """One call of a sampler whose device draws each token: its requests, and what the host knows of the rows.

    Example:
        flight.aboard(board, slots)
        flight.begin(0, np.arange(n), prompt_lengths)  # requests 0 .. n - 1 enter slots 0 .. n - 1
        board.settle(0, logits, flight.needs, draw)  # on the device; again and again while `flight.wants(n)`
        flight.ticks += 1
        freed = flight.look(behind=0)  # the slots whose rows are over
    """

    unread: deque[_Unread] = field(default_factory=deque)
    ticks: int = 0  # steps handed out since the last look

    def aboard(self, board: Board, slots: int) -> bool:
        """Takes the board for this call; returns whether steps that bar tokens must be recorded anew."""
        self.board = board
        self.needs = Needs.of(self.sampling)
        self.rows = Written.empty(slots, int(self.limit.max()))
        self.size = np.zeros(slots, np.int64)
        self.place = np.full(len(self.requests), -1)  # the slot of each request that is in flight
        return board.open(self)

    def begin(self, low: int, rows: np.ndarray, size: np.ndarray) -> None:
        """Put the requests `rows`, whose prompts have `size` tokens, into the slots from `low` on."""
        cut = slice(low, low + len(rows))
        self.rows.who[cut], self.rows.done[cut], self.size[cut] = rows, 0, size
        self.place[rows] = np.arange(low, low + len(rows))
        self.board.begin(low, rows, size, self)

    @property
    def ahead(self) -> int:
        """How many steps were handed out of which the host knows nothing yet."""
        return self.ticks + sum(one.ticks for one in self.unread)

    def positions(self, active: int) -> np.ndarray:
        """Where the next tokens of the first rows stand, or, ahead of what the host knows, can stand at most."""
        who = self.rows.who[:active]
        return self.size[:active] - 1 + np.minimum(self.rows.done[:active] + self.ahead, self.limit[who])

    def wants(self, active: int) -> bool:
        """Whether some of the first rows may still write, whatever the host does not know yet."""
        return bool((self.rows.done[:active] + self.ahead < self.limit[self.rows.who[:active]]).any())

    def look(self, behind: int) -> np.ndarray:
        """Looks, and reads all looks but for the last `behind`. Returns the slots whose rows are over."""
        if self.ticks:
            self.unread.append(_Unread(self.board.look(self.ticks), self.rows.who.copy(), self.ticks))
            self.ticks = 0
        freed = [np.zeros(0, np.int64)]
        while len(self.unread) > behind:
            one = self.unread.popleft()
            freed += [self._read(one.who, step) for step in one.look.read()]
        return np.concatenate(freed)

    def _read(self, who: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Record what one step wrote, for the rows that the host has not ended."""
        wrote = np.flatnonzero(step[WRITES])
        slots = self.place[who[wrote]]
        wrote, slots = wrote[slots >= 0], slots[slots >= 0]
        over = self.record(self.rows, slots, step[DRAWN, wrote], step[FINITE, wrote] > 0)
        self.place[self.rows.who[over]] = -1
        return over

    def move(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the state of the slots `source` onto the slots `target`."""
        self.rows.move(source, target)
        self.size[target] = self.size[source]
        self.place[self.rows.who[target]] = target
        self.board.move(source, target)
