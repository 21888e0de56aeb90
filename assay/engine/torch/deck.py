"""Where rows fly: their caches, what the device knows of them, and the step that takes them on by a token.

On a GPU a deck costs time to build: its caches are allocated, and its steps are run once and recorded. So a shelf keeps
the last deck from call to call, where the plan of the run's memory has room for it beside learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from assay.engine.torch.decode import Need
from assay.engine.torch.flight import Board, Flight, Needs, Pace
from assay.engine.torch.graphs import Bucketed, CudaGraphs
from assay.engine.torch.voices import Slots, Voice, wide_of


@dataclass(frozen=True, eq=False)
class Stepping:
    """The step that feeds a token to each of the first rows and draws the next."""

    voice: Voice
    cache: Slots
    board: Board

    def take(self, rows: int, longest: int, needs: Needs, *, level: bool = False) -> None:
        """A CUDA graph can record this method."""
        board = self.board
        hidden = self.cache.step(board.token[:rows], board.positions(rows), longest, level=level)
        board.settle(0, self.voice.logits(hidden), needs, self.voice.draw)


def recorded(stepping: Stepping, slots: int) -> Bucketed | None:
    """The step by CUDA graphs on a GPU; other devices have none."""
    if stepping.board.device.type != "cuda":
        return None
    return Bucketed(stepping.take, CudaGraphs(), slots=slots, room=stepping.cache.room)


class Deck:
    """Caches and steps for what calls need."""

    def __init__(self, voice: Voice, need: Need) -> None:
        self.need, self.pace = need, Pace.of(voice.device)
        self.cache = voice.decoding(need)
        about: dict[str, Any] = {"vocab": voice.vocab, "device": voice.device, "wide": wide_of(voice)}
        self.board = Board(slots=need.slots, width=need.width, stride=self.pace.stride, **about)
        self.stepping = Stepping(voice, self.cache, self.board)
        self.recorded = recorded(self.stepping, need.slots)

    def open(self, flight: Flight, slots: int) -> None:
        """Begins a call that uses so many slots."""
        self.cache.leave(0)
        if flight.aboard(self.board, slots) and self.recorded is not None:
            self.recorded.forget()

    def step(self, rows: int, longest: int, needs: Needs, *, level: bool) -> None:
        """Feeds a token to each of the first rows and draws the next; `level` as for `Decoder.step`."""
        if self.recorded is None:
            self.stepping.take(rows, longest, needs, level=level)
        else:
            self.recorded(rows, longest, needs, self.cache.variant)

    def settle(self, low: int, logits: Tensor, needs: Needs) -> None:
        """Draws a token for each slot from `low` on."""
        self.board.settle(low, logits, needs, self.stepping.voice.draw)


class Shelf:
    """The deck of the last call, if it stays.

    Example:
        deck = shelf.take(voice, Need(slots=8, length=512, width=384, beginnings=1, longest=128))
        shelf.give(deck)  # when the call has gone well
    """

    def __init__(self, *, stays: bool) -> None:
        self.stays = stays
        self._deck: Deck | None = None

    def take(self, voice: Voice, need: Need) -> Deck:
        """A deck with room for this; the one that was kept, if it has."""
        kept, self._deck = self._deck, None
        if kept is not None and need.within(kept.need):
            return kept
        if kept is not None:
            del kept  # before a larger one is allocated
            if voice.device.type == "cuda":
                torch.cuda.empty_cache()
        return Deck(voice, need)

    def give(self, deck: Deck) -> None:
        """Takes back the deck of a call that went well. One that does not stay goes with its last reference."""
        if self.stays:
            self._deck = deck

    def tidy(self, device: torch.device) -> None:
        """Unused memory goes back to the device, so that others can have it in one piece."""
        if device.type == "cuda" and not self.stays:
            torch.cuda.empty_cache()
