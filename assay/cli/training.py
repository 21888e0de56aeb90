"""The verbs that train, or bring a model to train: `train`, `resume`, `base`, `get`, `demo`.

The modules that a verb needs are imported when it runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from assay.cli.arguments import tracked
from assay.errors import UsageError
from assay.host import terminal


def run_train(arguments: argparse.Namespace) -> Any:
    from assay.cli.problems import pool_of
    from assay.cli.verify import timeout_of
    from assay.known import recipe
    from assay.lab import dry_run
    from assay.recipe import USUAL_RECIPE
    from assay.record.folder import Numbered
    from assay.run import session
    from assay.run.bases import base_for
    from assay.run.pretrained import PRETRAINED
    from assay.tasks import short
    from assay.view.ending import finished

    if arguments.reward and arguments.only_reward:
        raise UsageError("--reward stands beside the recipe's other rewards, and --only-reward alone: leave one out.")
    if arguments.recipe is None and arguments.model is None:
        raise UsageError(
            "the following arguments are required: RECIPE. `assay list recipes` shows their names, and "
            "`assay train --help` all arguments."
        )
    method = recipe(arguments.recipe or USUAL_RECIPE)
    made = PRETRAINED.get(arguments.model)
    pool = pool_of(arguments, (made and made.task) or method.usual_task)
    experiment, rules = session.plan(
        method,
        model=arguments.model or base_for(pool),
        pool=pool,
        profile=arguments.profile,
        seed=arguments.seed,
        steps=arguments.steps,
        overrides=tracked(arguments.track, arguments.overrides),
        system=arguments.system or None,
        rewards=arguments.only_reward or arguments.reward or (),
        only=bool(arguments.only_reward),
        right_from=arguments.right_from,
        reward_timeout=timeout_of(arguments),
    )
    default = Numbered(Path("runs"), f"{experiment.recipe.name}-{short(pool.shares[0].task)}")
    if arguments.dry_run:
        plan = dry_run.planned(experiment, rules)
        if not arguments.json:
            terminal.show(dry_run.text(plan, run=str(arguments.run or f"{default.root / default.name}-N")))
        return dry_run.document(plan)
    for rule in rules:
        session.say(f"  {experiment.profile}: {rule}")
    path = session.start(experiment, arguments.run or default, command=arguments.command, quiet=arguments.quiet)
    return finished(path)


def run_resume(arguments: argparse.Namespace) -> Any:
    from assay.run import session
    from assay.view.ending import finished

    said = {"reward_timeout": arguments.reward_timeout, "learners": arguments.learners}
    said |= {"trust_code": arguments.trust_code, "trust_addresses": arguments.trust_addresses}
    said |= {"overrides": arguments.overrides}
    return finished(session.resume(arguments.run, steps=arguments.steps, quiet=arguments.quiet, **said))


def run_base(arguments: argparse.Namespace) -> Any:
    from assay.run.base_training import build
    from assay.run.bases import base, describe

    path = build(arguments.name, quiet=arguments.quiet, force=arguments.force)
    if not arguments.json:
        terminal.show(str(path))
    return describe(base(arguments.name))


def run_get(arguments: argparse.Namespace) -> Any:
    from assay.run import fetch

    return fetch.run_get(arguments)


def run_demo(arguments: argparse.Namespace) -> Any:
    from assay.lab.demo import demo

    return demo(
        arguments.run, real=arguments.real, seed=arguments.seed, quiet=arguments.quiet, command=arguments.command
    )
