"""Episodes that are still being written, as a memory holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from assay.errors import EndpointError, ProcessLost
from assay.types import Episode


class Promised(Sequence[Episode]):
    """A known number of episodes, for which `land` waits. A look at one of them waits for all.

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
        """All episodes. An error that prevented them is raised here."""
        if self._episodes is None:
            self._episodes = tuple(self._land())
        return self._episodes

    def landed(self) -> tuple[Episode, ...]:
        """All episodes, to be stored; none if the servers of others that wrote them are gone. A run that goes on from
        the stored state then asks for them again. If our own servers are gone, nothing is stored: the run begins again
        from the state stored before, so that it gets the same answers.
        """
        try:
            return self.episodes
        except ProcessLost:
            raise
        except EndpointError:
            return ()
