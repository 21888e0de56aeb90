"""The verbs of the command line: of each what it is for, its arguments and its work. What either needs is imported
when the verb is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay import terminal
from assay.arguments import Argument, one_of, track, tracked


def run_train(arguments: argparse.Namespace) -> Any:
    from assay import session
    from assay.bases import base_for
    from assay.command_problems import pool_of
    from assay.command_verify import timeout_of
    from assay.known import recipe
    from assay.lab import dry_run
    from assay.lab.results import finished
    from assay.record.folder import Numbered
    from assay.tasks import short

    pool = pool_of(arguments)
    experiment, rules = session.plan(
        recipe(arguments.recipe),
        model=arguments.model or base_for(pool),
        pool=pool,
        profile=arguments.profile,
        seed=arguments.seed,
        steps=arguments.steps,
        overrides=tracked(arguments.track, arguments.overrides),
        system=arguments.system or None,
        rewards=arguments.reward or (),
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
    from assay import session
    from assay.lab.results import finished

    said = {"reward_timeout": arguments.reward_timeout, "trust_code": arguments.trust_code}
    return finished(session.resume(arguments.run, steps=arguments.steps, quiet=arguments.quiet, **said))


def run_report(arguments: argparse.Namespace) -> Any:
    from assay.lab.results import finished

    return finished(arguments.run)


def run_sample(arguments: argparse.Namespace) -> Any:
    from assay.lab.sample import sample

    found = sample(
        arguments.model,
        arguments.prompt,
        count=arguments.n,
        max_new=arguments.max_new,
        temperature=arguments.temperature,
        top_p=arguments.top_p,
        seed=arguments.seed,
        system=arguments.system,
    )
    if not arguments.json:
        for answer in found["answers"]:
            terminal.hand_over(answer["text"] if arguments.n == 1 else f"{answer['logp']:9.3f}  {answer['text']}")
    return found


def run_eval(arguments: argparse.Namespace) -> Any:
    from assay.command_problems import exam_of
    from assay.command_verify import judge_of
    from assay.lab.results import eval_table
    from assay.lab.sample import examine

    with judge_of(arguments) as judge:
        found = examine(
            arguments.model,
            exam_of(arguments),
            problems=arguments.problems,
            samples=arguments.n,
            ks=arguments.k,
            temperature=arguments.temperature,
            max_new=arguments.max_new,
            seed=arguments.seed,
            system=arguments.system,
            judge=judge,
        )
    if not arguments.json:
        terminal.show(eval_table(found))
    return found


def run_compare(arguments: argparse.Namespace) -> Any:
    from assay.lab.compare import as_json, compare_runs, plot, show

    comparison = compare_runs(arguments.runs)
    if arguments.plot:
        for path in plot(comparison, arguments.plot):
            terminal.say(f"plot  {path}")
    if not arguments.json:
        show(comparison)
    return as_json(comparison)


def run_list(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import listing, listing_text

    rows = listing(arguments.what)
    if not arguments.json:
        terminal.show(listing_text(rows))
    return rows


def run_show(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import card, card_text

    found = card(arguments.name)
    if not arguments.json:
        terminal.show(card_text(found))
    return found


def run_explain(arguments: argparse.Namespace) -> Any:
    from assay.lab import explain

    return explain.run_explain(arguments)


def run_export(arguments: argparse.Namespace) -> Any:
    from assay.lab import export

    return export.run_export(arguments)


def run_data(arguments: argparse.Namespace) -> Any:
    from assay.command_problems import run_check

    return run_check(arguments)


def run_verify(arguments: argparse.Namespace) -> Any:
    from assay import command_verify

    return command_verify.run_verify(arguments)


def run_base(arguments: argparse.Namespace) -> Any:
    from assay.bases import base, build, describe

    path = build(arguments.name, quiet=arguments.quiet, force=arguments.force)
    if not arguments.json:
        terminal.show(str(path))
    return describe(base(arguments.name))


def run_doctor(arguments: argparse.Namespace) -> Any:
    from assay.lab.doctor import examination, text

    found = examination(arguments.model)
    if not arguments.json:
        terminal.show(text(found))
    return found


def run_demo(arguments: argparse.Namespace) -> Any:
    from assay.lab.demo import demo

    return demo(arguments.run, seed=arguments.seed, quiet=arguments.quiet, command=arguments.command)


QUIET: Argument = (("--quiet",), {"action": "store_true", "help": "no panel"})
SEED: Argument = (("--seed",), {"type": int, "default": 0, "help": "default 0"})
RUN: Argument = (("run",), {"type": Path, "metavar": "RUN", "help": "a run folder"})
MODEL: Argument = (("model",), {"metavar": "MODEL|RUN"})


def of_train() -> list[Argument]:
    from assay.command_problems import HELD_OUT, TASKS
    from assay.command_verify import REWARD
    from assay.recipe import PROFILES

    profiles = ("auto", *PROFILES)
    return [
        (("recipe",), {"metavar": "RECIPE", "help": "a name of `assay list recipes`"}),
        *TASKS,
        HELD_OUT,
        *REWARD,
        (("--model",), {"help": "a folder, a hub id, or a base (default: the base of the task)"}),
        (
            ("--profile",),
            one_of("profile", profiles, see="assay train --help", default="auto", help="scale; default auto"),
        ),
        (("--steps",), {"type": int, "help": "default: the profile's"}),
        SEED,
        (("--run",), {"type": Path, "help": "run folder; default runs/RECIPE-TASK-N"}),
        track(),
        (
            ("--dry-run",),
            {"action": "store_true", "help": "print what the run will use and stop; --json has all of it"},
        ),
        QUIET,
    ]


def of_resume() -> list[Argument]:
    from assay.command_verify import REWARD_TIMEOUT

    return [
        RUN,
        (("--steps",), {"type": int, "help": "extend the run; default: the steps it began with"}),
        (
            ("--trust-code",),
            {"action": "store_true", "help": "run the reward functions that RUN names, though they have changed"},
        ),
        REWARD_TIMEOUT,
        QUIET,
    ]


def of_sample() -> list[Argument]:
    from assay.command_problems import SYSTEM

    return [
        MODEL,
        (("prompt",), {"metavar": "PROMPT"}),
        (("--n",), {"type": int, "default": 1, "help": "answers; default 1"}),
        (("--max-new",), {"type": int, "help": "tokens; default 64, of a run its own limit"}),
        (("--top-p",), {"type": float, "default": 1.0, "help": "default 1.0"}),
        (("--temperature",), {"type": float, "default": 1.0, "help": "default 1.0; 0 is greedy"}),
        SYSTEM,
        SEED,
    ]


def of_eval() -> list[Argument]:
    from assay.command_problems import TASKS
    from assay.command_verify import REWARD

    return [
        MODEL,
        *TASKS,
        *REWARD,
        (("--problems",), {"type": int, "help": "default 256; of --data all rows"}),
        (("--n",), {"type": int, "default": 16, "help": "samples a problem; default 16"}),
        (("--k",), {"type": int, "nargs": "+", "action": "extend", "help": "default 1, 2, 4 ... n"}),
        (("--max-new",), {"type": int, "help": "tokens; default: the run's own limit, else what the task needs"}),
        (("--temperature",), {"type": float, "help": "0 is greedy; default 1.0, of a run that of its exams"}),
        SEED,
    ]


def of_data() -> list[Argument]:
    from assay.command_problems import CHECK

    return CHECK


def of_compare() -> list[Argument]:
    return [
        (("runs",), {"type": Path, "nargs": "+", "metavar": "RUN"}),
        (("--plot",), {"type": Path, "help": "write the curves to this file (png and svg); default: no plot"}),
    ]


def of_list() -> list[Argument]:
    return [(("what",), one_of("list", ("recipes", "tasks", "bases", "parts", "gym"), see="assay list --help"))]


def of_show() -> list[Argument]:
    return [(("name",), {"metavar": "NAME"})]


def of_explain() -> list[Argument]:
    return [(("recipe",), {"metavar": "RECIPE", "help": "a name of `assay list recipes`"})]


def of_base() -> list[Argument]:
    return [
        (("action",), one_of("action", ("build",), see="assay base --help")),
        (("name",), {"metavar": "NAME", "help": "a name of `assay list bases`"}),
        (("--force",), {"action": "store_true", "help": "make it again"}),
        QUIET,
    ]


def of_export() -> list[Argument]:
    return [
        MODEL,
        (("folder",), {"type": Path, "metavar": "FOLDER", "help": "new or empty"}),
        (("--merge",), {"action": "store_true", "help": "an adapter becomes one model with its base"}),
    ]


def of_report() -> list[Argument]:
    return [RUN]


def of_verify() -> list[Argument]:
    from assay.command_verify import VERIFY

    return VERIFY


def of_doctor() -> list[Argument]:
    return [(("--model",), {"help": "a folder or a base: also what training it would need; default none"})]


def of_demo() -> list[Argument]:
    return [(("--run",), {"type": Path, "help": "run folder; default runs/demo-N"}), SEED, QUIET]


VERBS: dict[str, tuple[str, Callable[[], list[Argument]], Callable[[argparse.Namespace], Any]]] = {
    "train": (
        "train a model with a recipe; any setting of it as --a.b.c VALUE (see `assay show RECIPE`)",
        of_train,
        run_train,
    ),
    "resume": ("continue a run from its last checkpoint", of_resume, run_resume),
    "sample": ("answers of a model to a prompt", of_sample, run_sample),
    "eval": ("unbiased pass@k on held-out problems, with intervals", of_eval, run_eval),
    "data": ("look at a file of rows before anything is trained on it", of_data, run_data),
    "compare": ("several runs in one table and one plot", of_compare, run_compare),
    "list": ("what there is", of_list, run_list),
    "show": ("all of a recipe, task, base or part", of_show, run_show),
    "explain": (
        "the formula of a recipe: its factors, what differs from GRPO, and where other implementations deviate",
        of_explain,
        run_explain,
    ),
    "base": ("make a proxy base model from scratch (cached)", of_base, run_base),
    "export": ("write a trained model, or its adapter, as a folder that others load", of_export, run_export),
    "report": ("write the report of a run again", of_report, run_report),
    "verify": ("how a mathematics answer is judged, and how well answers are judged", of_verify, run_verify),
    "doctor": ("what this machine has, and what each missing piece would need", of_doctor, run_doctor),
    "demo": ("train a small model that visibly learns; ends with a table and a report", of_demo, run_demo),
}
