"""Writing beside training: one piece of work at a time, in a thread of its own. `end` returns its result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Beside(Generic[T]):
    """At most one piece of work under way.

    beside.begin(lambda: store.commit(save))
    ...                                      # training goes on
    result = beside.end()                    # waits, and raises what the work raised
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._results: list[T] = []
        self._error: BaseException | None = None

    @property
    def alive(self) -> bool:
        """Whether the work goes on."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, work: Callable[[], T]) -> None:
        if self._thread is not None:
            raise RuntimeError("the work before was never ended")

        def run() -> None:
            try:
                self._results.append(work())
            except BaseException as error:  # it is raised where `end` is called
                self._error = error

        # No daemon: an interpreter that ends waits until the work is done.
        self._thread = threading.Thread(target=run, name="beside training")
        self._thread.start()

    def wait(self) -> None:
        """Waits until the work is done. Its result, or its error, is left to `end`."""
        if self._thread is not None:
            self._thread.join()

    def end(self) -> T | None:
        """Waits for the work and returns its result; None if there was no work. Raises the error of the work."""
        self.wait()
        error, results = self._error, self._results
        self._thread, self._error, self._results = None, None, []
        if error is not None:
            raise error
        return results[0] if results else None
