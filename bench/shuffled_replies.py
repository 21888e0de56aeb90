"""Does a policy answer from what a world replies to it? Its right answers, beside those with replies that another play
of the same task and level would have got.

    python -m bench.shuffled_replies runs/search --task search-small:2
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from assay.ask.demonstrate import turns
from assay.errors import UsageError
from assay.lab.sample import examine
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import TASKS, Task, task
from assay.types import Origin
from assay.worlds import Spec
from assay.worlds.shuffled import shuffled


def mistaken(known: Task, level: int) -> Task:
    """The task, whose world replies to each play what the worked solution of another problem would have got."""
    if known.world is None:
        raise UsageError(f"the task '{known.name}' has no world: there are no replies to shuffle.")
    canonical = known.generator.canonical

    def another(spec: Spec, key: Key) -> tuple[Spec, Sequence[str]]:
        for attempt in range(100):
            problem = known.problem(key("another", attempt), level=level)
            wrote = [text for text, origin in turns(problem, known) if origin != Origin.ENV][:-1]
            if wrote and canonical(problem.spec) != canonical(spec):
                return problem.spec, wrote
        raise UsageError(f"no other problem of '{known.name}' of level {level} calls anything.")

    return dataclasses.replace(known, world=shuffled(known.world, another))


@contextmanager
def in_place_of(known: Task, other: Task) -> Iterator[None]:
    """Inside the block the collector finds the other task under the name."""
    TASKS[known.name] = other
    try:
        yield
    finally:
        TASKS[known.name] = known


def measure(model: str, share: Share, *, problems: int, samples: int) -> dict[str, Any]:
    """pass@1 on the split `test` with true and with shuffled replies."""
    known = task(share.task)
    pool = Pool((share,))
    asking = {"problems": problems, "samples": samples, "ks": (1,), "temperature": None, "max_new": None}
    told = {"true": examine(model, pool, **asking, seed=0)}
    with in_place_of(known, mistaken(known, share.levels[0])):
        told["shuffled"] = examine(model, pool, **asking, seed=0)
    return {"model": model, "task": share.written, **{kind: found["pass"] for kind, found in told.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--task", required=True, help="NAME:LEVEL")
    parser.add_argument("--problems", type=int, default=128)
    parser.add_argument("--n", type=int, default=4, help="answers to each")
    given = parser.parse_args()
    print(json.dumps(measure(given.model, Share.parse(given.task), problems=given.problems, samples=given.n)))


if __name__ == "__main__":
    main()
