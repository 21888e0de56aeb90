"""`assay claims`: the cards, what each asks and by which rule it is decided, and the gate that all pass."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from assay.cli.arguments import Argument, one_of
from assay.errors import ClaimError, UsageError, unknown
from assay.host import terminal

ACTIONS = ("list", "show", "run")
ARGUMENTS: list[Argument] = [
    (("action",), one_of("action", ACTIONS, see="assay claims --help")),
    (("card",), {"nargs": "?", "metavar": "ID", "help": "of show and run: a card of `assay claims list`, say CC-00"}),
    (
        ("--into",),
        {
            "type": Path,
            "metavar": "FOLDER",
            "help": "of run: where ID.json and ID.html are written, and what is done so far is kept; default claims",
        },
    ),
    (
        ("--quick",),
        {
            "action": "store_true",
            "help": "of run: leave out checks that train or sample models; they count as not run, and cards that need "
            "them are refused",
        },
    ),
]


def run_claims(arguments: argparse.Namespace) -> Any:
    from assay.lab.claims import CARDS

    action, name = arguments.action, arguments.card
    if action != "run" and (arguments.into or arguments.quick):
        raise UsageError(f"--{'into' if arguments.into else 'quick'} is an option of `assay claims run`.")
    if action == "list":
        if name:
            raise UsageError(f"`assay claims list` lists all cards: leave {name} out.")
        rows = [{"id": card.id, "claim": card.claim, "checks": len(card.checks)} for card in CARDS.values()]
        if not arguments.json:
            terminal.show("\n".join(f"{row['id']}  {row['claim']}" for row in rows))
        return rows
    if not name:
        raise UsageError(f"say which card: `assay claims {action} CC-00`. `assay claims list` shows all.")
    if name not in CARDS:
        raise unknown("card", name, CARDS, "assay claims list")
    return _shown(name, as_json=arguments.json) if action == "show" else _run(arguments)


def _shown(name: str, *, as_json: bool) -> Any:
    from assay.lab.claims import CARDS

    card = CARDS[name]
    document = {
        "id": card.id,
        "claim": card.claim,
        "metric": card.metric,
        "rule": card.rule,
        "checks": {check.name: check.expected for check in card.checks},
        "needs": list(card.needs),
    }
    if not as_json:
        lines = [f"{card.id}  {card.claim}", f"metric  {card.metric}", f"rule    {card.rule}"]
        width = max((len(check.name) for check in card.checks), default=0)
        terminal.show("\n".join([*lines, *(f"  {check.name:{width}}  {check.expected}" for check in card.checks)]))
    return document


def _run(arguments: argparse.Namespace) -> Any:
    from assay.lab.claims import CARDS, gate, page

    card, folder = CARDS[arguments.card], arguments.into or gate.FOLDER
    tell = _silent if arguments.quiet else terminal.say
    record, path = gate.run(folder, card=card, quick=arguments.quick, tell=tell)
    report = page.write(card, record, path)
    if not arguments.json:
        terminal.show(page.table(record.outcomes))
        terminal.show(page.conclusion(record))
    terminal.say(f"report  {report}")
    if record.failed:
        raise ClaimError(f"{', '.join(record.failed)} of {card.id} did not hold: {path} says what came.")
    return record.document()


def _silent(_: str) -> None:
    """Says nothing, for --quiet."""
