"""The arguments that name reward functions, and the verb `assay verify`."""

from __future__ import annotations

import argparse
from typing import Any

from assay.cli.arguments import Argument, one_of
from assay.errors import UsageError
from assay.host import terminal
from assay.verifiers.explainers import VERIFIERS, verifier
from assay.verifiers.functions.process import SECONDS, check_timeout

REWARD_TIMEOUT: Argument = (
    ("--reward-timeout",),
    {
        "type": float,
        "metavar": "SECONDS",
        "help": f"time limit of one call of a reward function; default {SECONDS:g}, or the limit of the resumed run",
    },
)
REWARD: list[Argument] = [
    (
        ("--reward",),
        {
            "action": "append",
            "metavar": "FILE.py:FUNCTION[=WEIGHT]",
            "help": "a function f(prompts, completions, **columns) that returns numbers, in place of the outcome "
            "reward; repeat for several; default: the verifier of the task",
        },
    ),
    (
        ("--right-from",),
        {
            "type": float,
            "default": 1.0,
            "metavar": "SCORE",
            "help": "an answer is right if the weighted sum of its rewards is at least this; default 1.0",
        },
    ),
    REWARD_TIMEOUT,
]
ONLY_REWARD: Argument = (
    ("--only-reward",),
    {
        "action": "append",
        "metavar": "FILE.py:FUNCTION[=WEIGHT]",
        "help": "as --reward, in place of all rewards of the recipe; default: its other rewards stay",
    },
)
TOOLS: Argument = (
    ("--tools",),
    {
        "action": "append",
        "metavar": "FILE.py:FUNCTION",
        "help": "a function with type hints and a docstring, which the policy may call while it answers rows of data; "
        "repeat for several; default: none",
    },
)
VERIFY: list[Argument] = [
    (("action",), one_of("action", ("explain", "audit"), see="assay verify --help")),
    (
        ("inputs",),
        {
            "nargs": "+",
            "metavar": "GOLD ANSWER | FILE",
            "help": "for explain: a reference answer, and the answer or response to verify; for audit: a file of lines "
            '{"gold", "answer", "label": true or false} and, if known, "type", "kind", "origin"',
        },
    ),
    (
        ("--by",),
        {
            "default": "mathematics",
            "metavar": "VERIFIER",
            "help": "which verifier decides; default mathematics. "
            + "; ".join(f"{name}: GOLD is {one.reference}" for name, one in VERIFIERS.items()),
        },
    ),
]


def timeout_of(arguments: argparse.Namespace) -> float:
    """The seconds of `--reward-timeout`, checked."""
    seconds = SECONDS if arguments.reward_timeout is None else arguments.reward_timeout
    check_timeout(seconds)
    return seconds


def run_verify(arguments: argparse.Namespace) -> Any:
    return (_explain if arguments.action == "explain" else _audit)(arguments)


def _explain(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.lab.verdicts import explained

    if len(arguments.inputs) != 2:
        raise UsageError(
            "assay verify explain takes a reference answer and an answer, each in quotes: explain '1/2' '0.5'."
        )
    document, text = explained(*arguments.inputs, by=arguments.by)
    if not arguments.json:
        terminal.show(text)
    return document


def _audit(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.verifiers.audit import audit, read_rows, table

    if len(arguments.inputs) != 1:
        raise UsageError(f"assay verify audit takes one file, not {len(arguments.inputs)}.")
    found = audit(read_rows(arguments.inputs[0]), verifier(arguments.by).name)
    if not arguments.json:
        terminal.show(table(found))
    return found
