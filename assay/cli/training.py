"""The verbs that train, or bring a model to train: `train`, `resume`, `base`, `get`, `demo`.

The modules that a verb needs are imported when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any

from assay.errors import UsageError
from assay.host import terminal


def run_train(arguments: argparse.Namespace) -> Any:
    from assay.cli.setups import setup_of
    from assay.lab import dry_run
    from assay.run import own_tools, session
    from assay.run.memory_plan import require_memory
    from assay.view.ending import finished

    setup, allowed = setup_of(arguments)
    experiment, rules = session.planned(setup)
    allowed(experiment)
    folder = session.place_of(setup, experiment)
    if arguments.dry_run:
        with own_tools.equipping(experiment, None) as equipped:
            plan = dry_run.planned(equipped, rules, folder)
            if not arguments.json:
                terminal.show(dry_run.text(plan, run=str(folder)))
            require_memory(plan.memory)
            return dry_run.document(plan)
    for rule in rules:
        session.say(f"  {experiment.profile}: {rule}")
    path = session.start(experiment, folder, command=arguments.command, quiet=arguments.quiet, setup=setup)
    return finished(path)


def run_resume(arguments: argparse.Namespace) -> Any:
    from assay.run import continued, session
    from assay.view.ending import finished

    consents = {"trust_code": arguments.trust_code, "trust_addresses": arguments.trust_addresses}
    given = {name: getattr(arguments, name) for name in ("steps", "learners", "reward_timeout")}
    asked = continued.asked(arguments.run, arguments.config or (), given, arguments.overrides, **consents)
    return finished(session.resume(arguments.run, quiet=arguments.quiet, **consents, **asked))


def run_base(arguments: argparse.Namespace) -> Any:
    from assay.run.base_training import build
    from assay.run.bases import base, describe, numbered

    if arguments.seeds < 1:
        raise UsageError(f"--seeds is the number of bases to build, 1 or more, not {arguments.seeds}.")
    base(arguments.name)
    rows = []
    for seed in range(arguments.seeds):
        name = numbered(arguments.name, seed)
        path = build(name, quiet=arguments.quiet, force=arguments.force)
        if not arguments.json:
            terminal.show(str(path))
        rows.append(describe(base(name)))
    return rows[0] if arguments.seeds == 1 else rows


def run_get(arguments: argparse.Namespace) -> Any:
    from assay.run import fetch

    return fetch.run_get(arguments)


def run_demo(arguments: argparse.Namespace) -> Any:
    from assay.lab.demo import demo

    return demo(
        arguments.run, real=arguments.real, seed=arguments.seed, quiet=arguments.quiet, command=arguments.command
    )
