"""The signals by which a run is asked to stop. Its child processes leave them to the run, which saves first.

A terminal sends SIGINT to all processes in front and SIGHUP to them when it is gone; a cluster's scheduler may send
SIGUSR1, some time before the end, to all processes of a job.
"""

from __future__ import annotations

import signal

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


def leave_to_parent(*more: signal.Signals) -> None:
    """From now on this process ignores SIGHUP, SIGUSR1 and `more`. It ends when its parent says so or is gone."""
    for number in (signal.SIGHUP, signal.SIGUSR1, *more):
        signal.signal(number, signal.SIG_IGN)
