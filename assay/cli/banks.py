"""The verb `assay bank`: samples a model into a file, and says what one such file or two of them tell."""

from __future__ import annotations

import argparse
import dataclasses
import re
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import OPTIONAL, Argument, one_of
from assay.cli.problems import TASKS, asked_in
from assay.cli.setups import OF_EXAMS
from assay.cli.verify import REWARD
from assay.errors import UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.asking import Asking
    from assay.lab.bank_sampling import Wish
    from assay.scoring.samples import SampleBank
    from assay.tasks.task import Split

ACTIONS = {  # action -> its arguments
    "sample": ("MODEL",),
    "show": ("FILE",),
    "compare": ("FILE", "FILE"),
    "score": ("FILE",),
    "parity": ("BASE", "CHILD"),
    "vote": ("FILE",),
}
SAMPLING = ("sample", "parity")  # actions that sample models

ARGUMENTS: list[Argument] = [
    (
        ("action",),
        one_of(
            "action",
            tuple(ACTIONS),
            see="assay bank --help",
            help="sample: MODEL's answers into a file; show: the estimates of a FILE; compare: the models of two FILEs "
            "on the same problems; score: what --model makes of the answers of a FILE; parity: BASE and CHILD at "
            "temperature 1, and each at its own best; vote: which answers of a FILE the verdicts of --model choose",
        ),
    ),
    (
        ("names",),
        {
            "nargs": "+",
            OPTIONAL: True,
            "default": [],
            "metavar": "MODEL|FILE",
            "help": "the models to sample, or the files of banks; default of sample: the model of --config",
        },
    ),
    *TASKS,
    *REWARD,
    *OF_EXAMS,
    (
        ("--problems",),
        {"type": int, "help": "sample, parity: number of problems; default 256, or all rows of --data"},
    ),
    (("--n",), {"type": int, "help": "sample, parity: number of answers to each problem; default 256"}),
    (
        ("--temperature",),
        {"type": float, "help": "sample: the sampling temperature, above 0; default 1.0"},
    ),
    (
        ("--top-p",),
        {"type": float, "help": "sample, parity: the share of probability that is sampled from; default 1.0"},
    ),
    (
        ("--max-new",),
        {
            "type": int,
            "help": "sample, parity: the most tokens of an answer; default: the limit of the run, or what the task "
            "needs",
        },
    ),
    (
        ("--split",),
        one_of(
            "split", ("test", "valid"), see="assay bank --help", help="sample: the split of the problems; default test"
        ),
    ),
    (("--seed",), {"type": int, "help": "sample, parity: the seed of all random numbers; default 0"}),
    (
        ("--into",),
        {
            "type": Path,
            "metavar": "FILE.parquet|FOLDER",
            "help": "sample: the file of the bank; no default. score: the file of the scores; default "
            "FILE.scores.parquet. parity: a folder that keeps its banks; default: none is kept",
        },
    ),
    (("--model",), {"help": "score, vote: the model that reads the answers; default: the model of the bank"}),
    (("--against",), {"help": "score: a model whose distance from the first is computed too; default: none"}),
    (
        ("--k",),
        {
            "nargs": "+",
            "action": "extend",
            "metavar": "K",
            "help": "the k of pass@k, such as 1,8,64; default 1, 2, 4 ... n; of parity: 1 and half of n; vote: the "
            "number of answers to choose among",
        },
    ),
    (
        ("--alpha",),
        {"type": float, "help": "vote: how much the pessimistic choice takes off for few verdicts; default 0.1"},
    ),
    (("--worth",), {"type": float, "help": "compare: the smallest difference that would matter; default 0.02"}),
    (
        ("--differ",),
        {
            "action": "store_true",
            "help": "compare: take banks that were asked otherwise, for example by temperature; default: refuse them",
        },
    ),
]
FITTING = {
    **dict.fromkeys(("task", "wording", "system", "problems", "n", "top_p", "max_new", "seed"), SAMPLING),
    **dict.fromkeys(("reward", "right_from", "reward_timeout", "config", "trust_code", "trust_addresses"), SAMPLING),
    **dict.fromkeys(("prompt_column", "answer_column", "answer_from_messages", "skip_bad_rows", "data"), ("sample",)),
    **dict.fromkeys(("temperature", "split"), ("sample",)),
    **dict.fromkeys(("worth", "differ"), ("compare",)),
    "model": ("score", "vote"),
    "against": ("score",),
    "alpha": ("vote",),
    "into": ("sample", "score", "parity"),
    "k": ("show", "compare", "parity", "vote"),
}


DEFAULTS = {flags[0].strip("-").replace("-", "_"): options.get("default") for flags, options in ARGUMENTS}


def run_bank(arguments: argparse.Namespace) -> Any:
    """Runs `assay bank ACTION`."""
    _refuse_what_does_not_fit(arguments)
    document, table = ACTS[arguments.action](arguments)
    if not arguments.json:
        terminal.show(table)
    return document


def _refuse_what_does_not_fit(arguments: argparse.Namespace) -> None:
    """Refuses options of other actions, and another number of names than the action takes."""
    action, expected = arguments.action, ACTIONS[arguments.action]
    for name, fitting in FITTING.items():
        given = getattr(arguments, name)
        if given not in (None, False, DEFAULTS[name]) and action not in fitting:
            told = " and ".join(f"`assay bank {other}`" for other in fitting)
            raise UsageError(f"--{name.replace('_', '-')} is an option of {told}, not of `assay bank {action}`.")
    if action == "sample" and arguments.config and not arguments.names:
        return  # the file names the model
    if len(arguments.names) != len(expected):
        raise UsageError(f"`assay bank {action}` takes {' '.join(expected)}, not {len(arguments.names)} names.")


def _sample(arguments: argparse.Namespace) -> tuple[Any, str]:
    from assay.lab.bank_sampling import sample_bank

    if not arguments.into:
        raise UsageError("assay bank sample writes a new file: name it with --into FILE.parquet.")
    if arguments.data and arguments.split == "valid":
        raise UsageError("--split valid is for generated tasks and runs: of --data all rows are asked.")
    asking = asked_in(arguments, *arguments.names)
    wish = wish_of(arguments, asking, split=arguments.split or "test")
    with asking.judge() as grader, asking.equipped(asking.pool()) as pool:
        bank = sample_bank(asking.model, pool, arguments.into, wish, grader=grader, quiet=arguments.quiet)
    document, table = _told(bank, [])
    return document | {"file": str(arguments.into)}, f"{table}\nbank  {arguments.into}"


def _show(arguments: argparse.Namespace) -> tuple[Any, str]:
    from assay.scoring.samples import SampleBank

    ks = _ks(arguments)
    return _told(SampleBank.read(Path(arguments.names[0])), ks)


def _told(bank: SampleBank, ks: list[int]) -> tuple[Any, str]:
    from assay.lab.judged_banks import show

    return show(bank, ks)


def _compare(arguments: argparse.Namespace) -> tuple[Any, str]:
    from assay.lab.judged_banks import compare
    from assay.scoring.conclusion import WORTH
    from assay.scoring.samples import SampleBank

    worth = WORTH if arguments.worth is None else arguments.worth
    if not 0 < worth <= 1:
        raise UsageError(f"--worth is a difference of pass@1, above 0 and at most 1, not {worth:g}.")
    ks = _ks(arguments)
    first, other = (SampleBank.read(Path(name)) for name in arguments.names)
    return compare(first, other, ks, worth=worth, differ=arguments.differ)


def _score(arguments: argparse.Namespace) -> tuple[Any, str]:
    from assay.lab.bank_scores import reader, score
    from assay.scoring.samples import SampleBank
    from assay.view.bank_tables import scored_table

    file = Path(arguments.names[0])
    bank = SampleBank.read(file)
    model = reader(_reading(arguments, bank.asked.model), bank.asked.system)
    against = reader(arguments.against, bank.asked.system) if arguments.against else None
    found = score(bank, model, arguments.into or file.with_suffix(".scores.parquet"), against=against)
    return found, f"{scored_table(found)}\nscores  {found['file']}"


def _reading(arguments: argparse.Namespace, named: str) -> str:
    """The model that reads the answers of a bank. A file may come from a stranger: a model that it names is not
    downloaded.
    """
    from assay.errors import ConfigError
    from assay.host.reach import HubModel, mark_of

    mark = mark_of(HubModel)
    if not arguments.model and mark is not None and mark.places(named):
        raise ConfigError(
            f"{arguments.names[0]} names the model '{named}', which would be downloaded from the Hub. Nothing was "
            f"downloaded. If it may be, name it yourself: --model {named}."
        )
    return arguments.model or named


def _vote(arguments: argparse.Namespace) -> tuple[Any, str]:
    from assay.lab.bank_scores import reader
    from assay.lab.bank_votes import vote
    from assay.scoring.samples import SampleBank
    from assay.view.bank_tables import voted_table

    alpha = 0.1 if arguments.alpha is None else arguments.alpha
    if not alpha >= 0:
        raise UsageError(f"--alpha is 0 or more, not {alpha:g}.")
    bank = SampleBank.read(Path(arguments.names[0]))
    verifier = reader(_reading(arguments, bank.asked.model), bank.asked.system)
    ks = _ks(arguments) or [2**i for i in range(bank.asked.samples.bit_length())]
    found = vote(bank, verifier, ks, alpha=alpha)
    return found, voted_table(found)


def _parity(arguments: argparse.Namespace) -> tuple[Any, str]:
    from assay.lab.bank_sampling import asked_alike, require_two_sets, sample_bank
    from assay.lab.judged_banks import with_judge
    from assay.scoring.bank_reports import parity
    from assay.view.bank_tables import parity_table

    base, child = arguments.names
    asking = asked_in(arguments, child)
    wish = wish_of(arguments, asking)
    samples = wish.samples
    ks = _ks(arguments) or sorted({1, max(1, samples // 2)})
    if max(ks) > samples:
        raise UsageError(f"pass@{max(ks)} needs --n of at least {max(ks)} samples a problem, not {samples}.")
    pool = asking.pool()
    require_two_sets(pool)
    wish = asked_alike(child, pool, wish)
    if arguments.into:
        arguments.into.mkdir(parents=True, exist_ok=True)
    into = nullcontext(str(arguments.into)) if arguments.into else tempfile.TemporaryDirectory(prefix="assay-parity-")
    with into as folder, asking.judge() as grader, asking.equipped(pool):

        def sampled(model: str, heat: float, split: Split) -> SampleBank:
            side = "base" if model == base else "child"
            file = Path(folder) / f"{side}-{split}-{heat:g}.parquet"
            if not arguments.quiet:
                terminal.say(f"{side} at temperature {heat:g} on split {split}")
            this = dataclasses.replace(wish, split=split, temperature=heat)
            return sample_bank(model, pool, file, this, grader=grader, quiet=True)

        comparison = parity(base, child, sampled, ks)
    return with_judge(comparison, parity_table(comparison), grader.judge(share.task for share in pool.shares))


def wish_of(arguments: argparse.Namespace, asking: Asking, **more: Any) -> Wish:
    """The questions for a model, as the given options and the files describe them."""
    from assay.lab.bank_sampling import Wish

    options = {"samples": "n", **{name: name for name in ("problems", "top_p", "seed")}}
    values = {name: getattr(arguments, option, None) for name, option in options.items()}
    given = {name: value for name, value in values.items() if value is not None}
    how = asking.sampling(temperature=arguments.temperature, max_new=arguments.max_new)
    given |= {name: value for name, value in how.items() if value is not None}
    return Wish(**given | more, system=asking.system)


def _ks(arguments: argparse.Namespace) -> list[int]:
    """The numbers of `--k 1,8,64` or `--k 1 8 64`."""
    texts = [text for word in arguments.k or () for text in word.split(",")]
    if wrong := [text for text in texts if not re.fullmatch(r"[1-9]\d{0,8}", text)]:
        raise UsageError(f"--k takes numbers from 1 on, such as 1,8,64, not {wrong[0]!r}.")
    return [int(text) for text in texts]


ACTS = {"sample": _sample, "show": _show, "compare": _compare, "score": _score, "parity": _parity, "vote": _vote}
