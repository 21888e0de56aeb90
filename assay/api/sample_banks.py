"""Banks from Python: all answers of a model in a file, and what one such file or two of them tell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.api import models
from assay.api.examining import asking_of
from assay.api.given import Data, Model, Place, Reward
from assay.api.keywords import suggesting
from assay.api.records import Records
from assay.api.results import Result
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.scoring.samples import SampleBank
    from assay.verifiers.answers import Wording


@dataclass(frozen=True)
class Bank:
    """The answers of a model to problems, known by their file.

    before = assay.bank(base, into="base.parquet", data=rows, n=64)
    print(assay.bank(run, into="run.parquet", data=rows, n=64).compare(before))
    """

    path: Path

    def read(self) -> SampleBank:
        """The bank as its file holds it."""
        from assay.scoring.samples import SampleBank

        return SampleBank.read(self.path)

    def answers(self) -> Records:
        """The answers, one dictionary each: `bank.answers().frame()`. Where a world replied, `turns` says who wrote
        what.
        """
        from assay.host.tables import rows_of
        from assay.record.turns import with_texts

        rows = ((row, row.get("turns")) for row in rows_of(self.path))
        return Records(row if turns is None else row | {"turns": with_texts(turns, row["text"])} for row, turns in rows)

    def show(self, k: Sequence[int] = ()) -> Result:
        """pass@k and the other estimates of the bank, with intervals."""
        from assay.lab import judged_banks

        return Result(*judged_banks.show(self.read(), list(k)))

    def compare(self, other: Bank | Place, k: Sequence[int] = (), *, worth: float | None = None) -> Result:
        """How this model differs from that of another bank on the same problems."""
        from assay.lab import judged_banks
        from assay.scoring.conclusion import WORTH

        first = other if isinstance(other, Bank) else Bank(Path(os.fspath(other)))
        worth = WORTH if worth is None else worth
        if not 0 < worth <= 1:
            raise UsageError(f"worth is a difference of pass@1, above 0 and at most 1, not {worth:g}.")
        return Result(*judged_banks.compare(first.read(), self.read(), list(k), worth=worth, differ=False))

    def score(self, model: Model, *, tokenizer: Any = None, into: Place | None = None) -> Result:
        """What a model makes of the answers: the log-probability of each, in a file beside the bank."""
        from assay.lab.bank_scores import reader, score
        from assay.view.bank_tables import scored_table

        bank = self.read()
        place = self.path.with_suffix(".scores.parquet") if into is None else Path(os.fspath(into))
        found = score(bank, reader(models.named(model, tokenizer), bank.asked.system), place, against=None)
        return Result(found, f"{scored_table(found)}\nscores  {found['file']}")

    def vote(self, model: Model, k: Sequence[int] = (), *, tokenizer: Any = None, alpha: float = 0.1) -> Result:
        """Which answers the verdicts of a model choose, and how often these are right."""
        from assay.lab.bank_scores import reader
        from assay.lab.bank_votes import vote
        from assay.view.bank_tables import voted_table

        bank = self.read()
        verifier = reader(models.named(model, tokenizer), bank.asked.system)
        ks = list(k) or [2**i for i in range(bank.asked.samples.bit_length())]
        found = vote(bank, verifier, ks, alpha=alpha)
        return Result(found, voted_table(found))

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


@suggesting
def bank(
    model: Model | None = None,
    *,
    into: Place | None = None,
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
    n: int = 256,
    temperature: float | None = None,
    top_p: float = 1.0,
    max_new: int | None = None,
    split: Literal["test", "valid"] = "test",
    seed: int = 0,
    tokenizer: Any = None,
    config: Place | Sequence[Place] = (),
    quiet: bool = False,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Bank:
    """Samples a model into the file `into` and returns its bank, as `assay bank sample`; of a file alone, the bank that
    it holds.

    bank = assay.bank(run, into="run.parquet", n=64)
    print(assay.bank("run.parquet").show([1, 8, 64]))

    `config` names files that describe a run, as for `assay.evaluate`.
    """
    from assay.lab.bank_sampling import Wish, sample_bank

    if into is None:
        return _there(model)
    if data is not None and split == "valid":
        raise UsageError("split='valid' is for generated tasks and runs: of data all rows are asked.")
    columns = {"prompt_column": prompt_column, "answer_column": answer_column, "skip_bad_rows": skip_bad_rows}
    columns |= {"answer_from_messages": answer_from_messages}
    judging = {"reward": reward, "right_from": right_from, "reward_timeout": reward_timeout}
    fields = {"data": data, "task": task, "wording": wording, "system": system, **columns, **judging}
    asking, functions = asking_of(model, tokenizer, fields, config, trusted=(trust_code, trust_addresses))
    how = asking.sampling(temperature=temperature, max_new=max_new)
    heat = 1.0 if how["temperature"] is None else how["temperature"]
    wish = Wish(n, problems, heat, top_p, how["max_new"], split, seed, asking.system)
    made = Bank(Path(os.fspath(into)))
    with asking.judge(functions) as judge, asking.equipped(asking.pool()) as pool:
        sample_bank(asking.model, pool, made.path, wish, grader=judge, quiet=quiet)
    return made


def _there(file: Model | None) -> Bank:
    """The bank of a file that is there."""
    place = Path(os.fspath(file)) if isinstance(file, str | os.PathLike) else Path()
    if place.suffix != ".parquet":
        raise UsageError("assay.bank samples a model into a new file: name it with into='FILE.parquet'.")
    made = Bank(place)
    made.read()
    return made
