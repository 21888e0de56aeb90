"""The verb `assay analyse`: measures of a base and of what was trained from it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument
from assay.cli.problems import TASKS, asked_in
from assay.cli.setups import OF_EXAMS
from assay.cli.verify import REWARD
from assay.errors import UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair, Side

FOLDER = Path("analyses")
ARGUMENTS: list[Argument] = [
    (("base",), {"metavar": "BASE", "help": "a model, or the file of its bank (`assay bank sample`)"}),
    (("child",), {"metavar": "RUN", "help": "what was trained from it: a run or a model, or the file of its bank"}),
    (
        ("--only",),
        {"nargs": "+", "metavar": "NAME", "help": "measures of `assay list measures`; default: all"},
    ),
    *TASKS,
    *REWARD,
    *OF_EXAMS,
    (("--problems",), {"type": int, "help": "of models: number of problems; default 256, or all rows of --data"}),
    (("--n",), {"type": int, "help": "of models: number of answers to each problem; default 256"}),
    (("--max-new",), {"type": int, "help": "of models: the most tokens of an answer; default: the limit of the run"}),
    (("--temperature",), {"type": float, "help": "of models: the temperature of both; default 1.0"}),
    (("--seed",), {"type": int, "default": 0, "help": "the seed of all random numbers; default 0"}),
    (
        ("--into",),
        {
            "type": Path,
            "metavar": "FOLDER",
            "help": "where the page, its numbers and the banks are written; default analyses/RUN",
        },
    ),
]


def run_analyse(arguments: argparse.Namespace) -> Any:
    """Runs `assay analyse BASE RUN`."""
    from assay.lab.analyses import page
    from assay.lab.analyses.analysis import analyse, chosen, document, text
    from assay.record import disk

    only = arguments.only or ()
    chosen(only)  # a name that is none is refused before anything is sampled
    folder = arguments.into or FOLDER / Path(arguments.child).stem
    pair = _pair(arguments, folder)
    taken = analyse(pair, only, tell=(lambda said: None) if arguments.quiet else terminal.say)
    told = document(pair, taken)
    path = page.write(pair, taken, folder)
    disk.replace(folder / "analysis.json", (json.dumps(told, indent=1) + "\n").encode(), point="analysis")
    if not arguments.json:
        terminal.show(f"{text(taken)}\n\npage  {path}")
    return told | {"page": str(path)}


def _pair(arguments: argparse.Namespace, folder: Path) -> Pair:
    from assay.lab.analyses.pair import Pair, Side
    from assay.scoring.samples import SampleBank

    names = arguments.base, arguments.child
    files = [name.endswith(".parquet") for name in names]
    if all(files):
        base, child = (Side(name, bank=SampleBank.read(Path(name))) for name in names)
        return Pair(base, child)
    if any(files):
        raise UsageError(f"{names[0]} and {names[1]}: give two banks, or two models, which are then asked alike.")
    return Pair(*_asked(arguments, folder))


def _asked(arguments: argparse.Namespace, folder: Path) -> tuple[Side, Side]:
    """Both models, with banks of their answers if a measure needs any. Banks that are there are not sampled again."""
    from assay.cli.banks import wish_of
    from assay.lab.analyses.analysis import needs
    from assay.lab.analyses.pair import Side
    from assay.lab.bank_sampling import asked_alike, sample_bank

    base, child = arguments.base, arguments.child
    if "banks" not in needs(arguments.only or ()):
        return Side(base, model=base), Side(child, model=child)
    asking = asked_in(arguments, child)
    with asking.judge() as grader, asking.equipped(asking.pool()) as pool:
        wish = asked_alike(child, pool, wish_of(arguments, asking))
        banks = []
        for side, model in (("base", base), ("child", child)):
            if not arguments.quiet:
                terminal.say(f"{side}: {model}")
            file = folder / f"{side}.parquet"
            banks.append(sample_bank(model, pool, file, wish, grader=grader, quiet=arguments.quiet))
    return Side(base, banks[0], base), Side(child, banks[1], child)
