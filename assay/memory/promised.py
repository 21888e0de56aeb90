"""Episodes that are still being written, as a memory holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from assay.errors import EndpointError, ProcessLost
from assay.types import Episode


class Promised(Sequence[Episode]):
    """So many episodes, which `land` waits for. Whoever looks at one of them waits for all.

    memory = memory.hold("ahead", Promised(len(requests), ticket_to_episodes))
    memory.kept["ahead"][0]  # waits, if it must
    """

    def __init__(self, count: int, land: Callable[[], Sequence[Episode]]) -> None:
        self._size, self._land = count, land
        self._episodes: tuple[Episode, ...] | None = None

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> Episode: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Episode]: ...
    def __getitem__(self, place: int | slice) -> Episode | Sequence[Episode]:
        return self.episodes[place]

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """All of them. What prevented them is raised here."""
        if self._episodes is None:
            self._episodes = tuple(self._land())
        return self._episodes

    def landed(self) -> tuple[Episode, ...]:
        """All of them, to be stored; none where others' servers are gone, which wrote them. Then the run that goes on
        from what is stored asks for them again. Where our own are gone, nothing is stored: the run begins again from
        what was stored before, so that it gets the same answers.
        """
        try:
            return self.episodes
        except ProcessLost:
            raise
        except EndpointError:
            return ()
