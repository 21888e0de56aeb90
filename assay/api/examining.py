"""What is asked of a model from Python: its score on problems, answers to a prompt, its files for other programs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.api import models, rows
from assay.api.given import Data, Model, Place, Reward, places
from assay.api.keywords import require_types, suggesting
from assay.api.results import Result
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.lab.asking import Asking
    from assay.verifiers.answers import Wording


@suggesting
def evaluate(
    model: Model | None = None,
    *,
    data: Data | None = None,
    task: str | Sequence[str] | None = None,
    wording: Wording | None = None,
    system: str | None = None,
    reward: Reward | Sequence[Reward] | None = None,
    right_from: float | None = None,
    reward_timeout: float | None = None,
    prompt_column: str | None = None,
    answer_column: str | None = None,
    answer_from_messages: bool | None = None,
    skip_bad_rows: bool | None = None,
    problems: int | None = None,
    n: int = 16,
    k: Sequence[int] | None = None,
    max_new: int | None = None,
    temperature: float | None = None,
    seed: int = 0,
    tokenizer: Any = None,
    config: Place | Sequence[Place] = (),
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Result:
    """Scores a model on held-out problems: unbiased pass@k with intervals, as `assay eval`.

    scores = assay.evaluate(run, data=rows, n=4)
    print(scores); scores["pass"]["1"]["mean"]

    A run is asked its own held-out problems unless others are named. `n` answers are sampled to each problem. Rows that
    the model was trained on are left out. `config` names files that describe a run: of these model, problems, rewards
    and sampling are read, and of their data the held-out rows are asked.
    """
    from assay.lab.sample import examine
    from assay.view.results import eval_table

    columns = {"prompt_column": prompt_column, "answer_column": answer_column, "skip_bad_rows": skip_bad_rows}
    columns |= {"answer_from_messages": answer_from_messages}
    judging = {"reward": reward, "right_from": right_from, "reward_timeout": reward_timeout}
    fields = {"data": data, "task": task, "wording": wording, "system": system, **columns, **judging}
    require_types({"n": n, "seed": seed})
    asking, functions = asking_of(model, tokenizer, fields, config, trusted=(trust_code, trust_addresses))
    ask = partial(examine, asking.model, samples=n, ks=None if k is None else list(k), system=asking.system)
    how = {"problems": problems, "temperature": temperature, "max_new": max_new, "seed": seed}
    report = asking.report(ask, functions=functions, **how)
    return Result(report, eval_table(report))


def asking_of(
    model: Model | None,
    tokenizer: Any,
    fields: Mapping[str, Any],
    config: Place | Sequence[Place],
    *,
    trusted: tuple[bool, bool],
) -> tuple[Asking, Mapping[str, Callable[..., Any]]]:
    """(what is asked of a model, reward functions by name): objects are written down."""
    from assay.known import others
    from assay.lab.asking import Asking
    from assay.run import file_trust
    from assay.run.grader import reward_names_of
    from assay.run.trust import Trust

    others()
    rewards, functions = reward_names_of(fields.get("reward"), None)
    given = {name: value for name, value in fields.items() if value is not None and name != "reward"}
    require_types({name: value for name, value in given.items() if name not in ("data", "eval_data")})
    given |= {name: rows.places(given[name], name) for name in ("data", "eval_data") if name in given}
    given |= {"reward": rewards} if rewards else {}
    given |= {} if model is None else {"model": models.named(model, tokenizer)}
    code, addresses = trusted
    trust = Trust.of(code=code, addresses=addresses)
    setup, allowed = file_trust.composed_with(places(config), given, trust)
    allowed(setup)
    return Asking(setup, Trust.of(code=code, addresses=addresses), whole="data" in given or not setup.data), functions


@suggesting
def sample(
    model: Model,
    prompt: str | None = None,
    *,
    task: str | Sequence[str] | None = None,
    problem: int = 1,
    n: int = 1,
    max_new: int | None = None,
    temperature: float = 1.0,
    top_p: float = 1.0,
    system: str | None = None,
    seed: int = 0,
    tokenizer: Any = None,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Result:
    """Answers of a model to a prompt, each with its log-probability, as `assay sample`; or to a held-out problem of a
    task, with verdicts, and with turns where its world replies. Tools that a run had are called here too, if they were
    allowed to it before, or with `trust_code` and `trust_addresses`.

    print(assay.sample(run, "3 4 5 = 12", n=4)); assay.sample(run, "3 4 5 = 12")["answers"][0]["text"]
    print(assay.sample(run, task="calculator")); assay.sample(run, task="calculator")["answers"][0]["turns"]
    """
    from assay.lab import playing
    from assay.lab.sample import sample as sampled

    if (prompt is None) == (task is None):
        raise UsageError("either a prompt is asked, or with task= one of the problems of a task.")
    trusted = (trust_code, trust_addresses)
    if prompt is None:
        asking, functions = asking_of(model, tokenizer, {"task": task, "system": system}, (), trusted=trusted)
        how = {"problem": problem, "count": n, "top_p": top_p, "seed": seed}
        ask = partial(playing.sample_problem, asking.model, system=asking.system, **how)
        document = asking.report(ask, functions=functions, temperature=temperature, max_new=max_new)
        return Result(document, playing.text(document))
    playing.refuse_typed(models.named(model, tokenizer))
    how = {"max_new": max_new, "temperature": temperature, "top_p": top_p, "seed": seed}
    asking, _ = asking_of(model, tokenizer, {"system": system}, (), trusted=trusted)
    if (document := playing.sample_typed(asking, prompt, count=n, **how)) is not None:
        return Result(document, playing.text(document))
    document = sampled(asking.model, prompt, count=n, system=system, **how)
    return Result(document, "\n".join(answer["text"] for answer in document["answers"]))


@suggesting
def export(model: Model, folder: Place, *, merge: bool = False, tokenizer: Any = None) -> Path:
    """Writes a model, with its card, as a new folder that transformers, peft and vLLM load; returns the folder.

    assay.export(run, "my-model"); assay.export(run, "whole", merge=True)  # an adapter and its base as one model
    """
    from assay.lab.export import export as written

    place = Path(os.fspath(folder))
    written(models.named(model, tokenizer), place, merge=merge)
    return place


@suggesting
def push(
    model: Model,
    name: str,
    *,
    merge: bool = False,
    public: bool = False,
    revision: str = "main",
    message: str | None = None,
    dry_run: bool = False,
    tokenizer: Any = None,
) -> Result:
    """Uploads a model with its card to the Hugging Face Hub, as `assay export --push`; returns what is there now.

    assay.push(run, "me/my-model")["url"]; assay.push(run, "me/whole", merge=True, dry_run=True)

    A new repository is private unless `public`. The token is that of `hf auth login` or HF_TOKEN.
    """
    from assay.lab.export import published, push_table
    from assay.lab.push import Target

    target = Target(name, public=public, revision=revision, message=message or "")
    done = published(models.named(model, tokenizer), target, merge=merge, dry_run=dry_run)
    return Result(done, push_table(done))


def load(model: str) -> tuple[Any, Any]:
    """(the model, its tokenizer) as objects of transformers; an adapter is merged into its base."""
    from assay.errors import ConfigError
    from assay.lab.export import export as written
    from assay.run.named_model import is_adapter

    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise ConfigError("loading a model as an object needs transformers: `pip install 'assay-rl[hf]'`.") from None
    with tempfile.TemporaryDirectory(prefix="assay-load-") as scratch:
        folder = Path(scratch) / "model"
        written(model, folder, merge=is_adapter(model))
        return AutoModelForCausalLM.from_pretrained(str(folder)), AutoTokenizer.from_pretrained(str(folder))


@suggesting
def verify(gold: str, answer: str, *, by: str = "mathematics") -> Result:
    """The verdict on an answer where `gold` is right, and why, as `assay verify explain`.

    assay.verify("1/2", "The answer is 0.5")["verdict"]  # "ok"
    """
    from assay.lab.verdicts import explained

    return Result(*explained(gold, answer, by=by))
