"""The verbs that do not train: they inspect models, runs, files, names and this machine, or write a folder.

The modules that a verb needs are imported when it runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.asking import Asking
    from assay.run.grader import Grader
    from assay.source import Pool


def run_sample(arguments: argparse.Namespace) -> Any:
    if arguments.task:
        return _sample_of_task(arguments)
    from assay.lab.playing import refuse_typed, sample_typed, text
    from assay.lab.sample import sample

    if arguments.prompt is None:
        raise UsageError("what is asked is missing: PROMPT, or --task NAME for one of the problems of a task.")
    if arguments.problem != 1:
        raise UsageError("--problem counts the problems of a --task; a PROMPT was given.")
    refuse_typed(arguments.model)
    how = {name: getattr(arguments, name) for name in ("max_new", "temperature", "top_p", "seed")}
    sampled = sample_typed(_asking(arguments), arguments.prompt, count=arguments.n, **how)
    if sampled is not None:
        if not arguments.json:
            terminal.show(text(sampled))
        return sampled
    sampled = sample(arguments.model, arguments.prompt, count=arguments.n, system=arguments.system, **how)
    if not arguments.json:
        if arguments.n > 1:
            terminal.show(f"{'log-prob':>9}  answer (the log-probability of all of its tokens stands before it)")
        for answer in sampled["answers"]:
            terminal.hand_over(answer["text"] if arguments.n == 1 else f"{answer['logp']:9.3f}  {answer['text']}")
    return sampled


def _sample_of_task(arguments: argparse.Namespace) -> Any:
    """Answers to a held-out problem, with the replies of its world."""
    from assay.lab.playing import sample_problem, text

    if arguments.prompt is not None:
        raise UsageError("a PROMPT and --task were given: either your text is asked, or a problem of the task.")
    asking = _asking(arguments)
    how = {"problem": arguments.problem, "count": arguments.n, "top_p": arguments.top_p, "seed": arguments.seed}
    ask = partial(sample_problem, asking.model, system=asking.system, **how)
    sampled = asking.report(ask, temperature=arguments.temperature, max_new=arguments.max_new)
    if not arguments.json:
        terminal.show(text(sampled))
    return sampled


def _asking(arguments: argparse.Namespace) -> Asking:
    """What `assay sample` asks, and what it lets the model's run reach."""
    from assay.lab.asking import Asking
    from assay.run.setup import Setup
    from assay.run.trust import Trust

    setup = Setup(model=arguments.model, task=tuple(arguments.task or ()), system=arguments.system or "")
    return Asking(setup, Trust.of(code=arguments.trust_code, addresses=arguments.trust_addresses))


def run_chat(arguments: argparse.Namespace) -> Any:
    from assay.cli import chat

    return chat.run_chat(arguments)


def run_serve(arguments: argparse.Namespace) -> Any:
    from assay.cli import serve

    return serve.run_serve(arguments)


def _examined(
    arguments: argparse.Namespace, asking: Asking, ask: Callable[..., dict[str, Any]], table: Callable[[Any], Any]
) -> Any:
    """The report of `ask` on what is asked; `table` shows it."""
    how = {name: getattr(arguments, name) for name in ("problems", "temperature", "max_new", "seed")}
    report = asking.report(ask, **how)
    if not arguments.json:
        terminal.show(table(report))
    return report


def run_eval(arguments: argparse.Namespace) -> Any:
    from assay.cli.problems import asked_in
    from assay.lab.sample import examine
    from assay.view.results import eval_table

    asking = asked_in(arguments, arguments.model)
    ask = partial(examine, asking.model, samples=arguments.n, ks=arguments.k, system=asking.system)
    return _examined(arguments, asking, ask, eval_table)


def run_bank(arguments: argparse.Namespace) -> Any:
    from assay.cli import banks

    return banks.run_bank(arguments)


def run_analyse(arguments: argparse.Namespace) -> Any:
    from assay.cli import analyse

    return analyse.run_analyse(arguments)


def run_compare(arguments: argparse.Namespace) -> Any:
    from assay.cli import studies
    from assay.known import RECIPES

    named = [name in RECIPES and not Path(name).is_dir() for name in arguments.what]
    if arguments.study or any(named):
        return studies.run_compare(arguments)
    from assay.lab.compare import as_json, compare_runs, plot, show

    studies.refuse_lone(arguments)
    comparison = compare_runs([Path(name) for name in arguments.what])
    if arguments.plot:
        for path in plot(comparison, arguments.plot):
            terminal.say(f"plot  {path}")
    if not arguments.json:
        show(comparison)
    return as_json(comparison)


def run_sweep(arguments: argparse.Namespace) -> Any:
    from assay.cli import studies

    return studies.run_sweep(arguments)


def run_claims(arguments: argparse.Namespace) -> Any:
    from assay.cli import claims

    return claims.run_claims(arguments)


def run_report(arguments: argparse.Namespace) -> Any:
    from assay.view.ending import finished

    return finished(arguments.run)


def run_list(arguments: argparse.Namespace) -> Any:
    from assay.lab.list_text import listing_text

    rows = rows_of(arguments.what, " ".join(arguments.words))
    if not arguments.json:
        terminal.show(listing_text(rows))
    return rows


def rows_of(what: str, words: str) -> list[dict[str, Any]]:
    """What a list has; of recipes as they are kept."""
    if what == "recipes" and not words:
        from assay.lab.recipe_rows import recipe_rows

        return recipe_rows()
    from assay.lab.catalogue import listing

    return listing(what, words)


def run_show(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import card, card_text
    from assay.lab.settings_card import is_file, run_show_file

    if is_file(arguments.name):
        return run_show_file(arguments)
    if arguments.toml:
        from assay.known import recipe
        from assay.lab.setup_example import example

        written = example(recipe(arguments.name))
        if not arguments.json:
            terminal.show(written.rstrip())
        return {"toml": written}
    shown = card(arguments.name)
    if not arguments.json:
        terminal.show(card_text(shown))
    return shown


def run_explain(arguments: argparse.Namespace) -> Any:
    from assay.lab import explain

    return explain.run_explain(arguments)


def run_data(arguments: argparse.Namespace) -> Any:
    from assay.cli import problems

    return problems.run_data(arguments)


def run_verify(arguments: argparse.Namespace) -> Any:
    from assay.cli import verify

    return verify.run_verify(arguments)


def run_export(arguments: argparse.Namespace) -> Any:
    from assay.lab import export

    return export.run_export(arguments)


def run_extrapolate(arguments: argparse.Namespace) -> Any:
    from assay.lab import extrapolate

    return extrapolate.run_extrapolate(arguments)


def run_transfer(arguments: argparse.Namespace) -> Any:
    from assay.cli.problems import asked_in
    from assay.lab.transfer import table, transfer

    asking = asked_in(arguments, arguments.tuned)  # its run says which problems are asked, unless tasks are named
    models = arguments.large, arguments.tuned, arguments.untuned
    ask = partial(transfer, *models, times=arguments.by, oracle=arguments.oracle, samples=arguments.n)
    return _examined(arguments, asking, partial(_by_one, ask), partial(_named, table))


def run_search(arguments: argparse.Namespace) -> Any:
    from assay.cli.problems import asked_in
    from assay.lab.searched import search, table

    asking = asked_in(arguments, arguments.model)
    how = {"guide": arguments.guide, "width": arguments.width, "rollouts": arguments.rollouts}
    how |= {"trust_addresses": arguments.trust_addresses}
    ask = partial(_by_one, partial(search, arguments.model, **how))
    return _examined(arguments, asking, ask, partial(_named, table))


def _by_one(ask: Callable[..., dict[str, Any]], *, grader: Grader, pool: Pool, **how: Any) -> dict[str, Any]:
    """The report of a verb that takes one verdict on each answer, with the name of the judge who gives it."""
    report = ask(pool=pool, verify=grader.exam, **how)
    return {**report, "judge": grader.judge(share.task for share in pool.shares)}


def _named(table: Callable[[dict[str, Any]], str], report: dict[str, Any]) -> str:
    from assay.view.judged import spoken

    return f"{table(report)}\njudged by {spoken(report['judge'])}"


def run_doctor(arguments: argparse.Namespace) -> Any:
    from assay.lab.doctor import examination, externals, text

    found = externals() if arguments.externals else examination(arguments.model)
    if not arguments.json:
        terminal.show(text(found))
    return found


def run_plan(arguments: argparse.Namespace) -> Any:
    from assay.cli.setups import setup_of
    from assay.planner.show import outlook_of

    setup, _ = setup_of(arguments)  # numbers alone are planned: nothing that a file names is run or reached
    document, told = outlook_of(
        setup.recipe,
        setup.model,
        gpus=arguments.gpus,
        gpu_name=arguments.gpu,
        prompt=arguments.prompt_tokens,
        answer=arguments.answer_tokens,
        settings=setup.settings,
        replies=arguments.reply_tokens,
        tasks=setup.task,
    )
    if not arguments.json:
        terminal.show(told)
    return document


def run_new(arguments: argparse.Namespace) -> Any:
    from assay.cli import new

    return new.run_new(arguments)
