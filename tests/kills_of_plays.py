"""As `kills`, with the worlds of the tests among the tasks: of each job `environment` is that of its commands."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import kills
import trading_world
import waiting_world

from assay.tasks import TASKS

MADE = {
    "trade": trading_world.TRADE,
    "trade-apart": trading_world.TRADE_APART,
    "tiny": waiting_world.WAITING,
}


def main() -> None:
    TASKS.update(MADE)
    plain = kills.run_job

    def run_job(job: dict[str, Any]) -> list[tuple[int, int]]:
        with mock.patch.dict(os.environ, job.pop("environment", {})):
            return plain(job)

    kills.run_job = run_job
    kills.main()


if __name__ == "__main__":
    main()
