"""What a reward teaches: one model, one prompt, and two exact verifiers. One of them can be won by a trick.

    assay get smollm2 && python -m bench.two_judges   # trains what is missing, half an hour on two cores
    python -m bench.two_judges --render               # docs/what_a_reward_teaches.md out of what is kept

`sentence` and `sentence-strict` ask the same: write one sentence that uses these words. The first accepts every
sentence that has them; the second also refuses those that repeat them or are a list. Each arm trains on the rewards of
its own verifier; afterwards all models answer the same held-out questions, and both verifiers read the same answers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from assay.known import recipe
from assay.lab.sample import examine
from assay.lab.study.charts import Line, chart
from assay.record import RunFolder
from assay.run import session
from assay.run.grader import Grader
from assay.run.pretrained import PRETRAINED
from assay.scoring.bank import RESAMPLING
from assay.scoring.intervals import LEVEL, over_problems
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.sentences import FUNCTION, is_plain, is_strict, others, repeats, said
from assay.tasks.versions import version_of
from assay.types import Episode, Verdict
from bench.kept import machine_key
from bench.machine import describe

ROOT = Path(__file__).resolve().parents[1]
MODEL = "smollm2"
RECIPE, SEED, STEPS = "dr-grpo", 0, 40
LEVELS = (2, 3)
VERIFIERS = {"plain": "sentence", "strict": "sentence-strict"}
"""Arm -> the task whose verifier it is rewarded by."""
RESULT = ROOT / "bench" / "results" / f"two-judges-{MODEL}.json"
RUNS = ROOT / "runs"
PAGE = ROOT / "docs" / "what_a_reward_teaches.md"
PICTURE = PAGE.with_suffix(".svg")
SHOWN = 10  # questions whose answers the page shows
REPEATS = "reward/repeats/mean"
STYLE = "text { font: 11px sans-serif; fill: #666 } .axis { stroke: #ddd }"
COLORS = {"--blue": "#2a6fdb", "--orange": "#d9730d"}  # of the page of a run, where a style sheet says them
COUNTS = ("reward/mean", REPEATS, "reward/others/mean", "length/mean", "truncated/share")

PAGE_TEXT = """# What a reward teaches

Two verifiers, both exact, read the same answers to the same question: write one sentence that uses these words. One
reward can be won by a trick, and the other cannot by that one. SmolLM2-135M-Instruct, restored from Q4_1, learns from
each for {steps} steps of 8 x 8 answers (`dr-grpo`, an adapter of rank 16, seed {seed}, {measured}); afterwards all
three models answer the same {questions} held-out questions {samples} times each.

**Rewarded by the plain verifier**, the model came to be right in {plain[plain]:.1%} of its answers by that one, from
{untrained[plain]:.1%}, and by the strict one in {plain[strict]:.1%}, from {untrained[strict]:.1%}. **Rewarded by the
strict verifier**, it came to {strict[strict]:.1%} by that one, and to {strict[plain]:.1%} by the plain one.

- **The plain verifier** (`sentence`) accepts one sentence that has all the given words.
- **The strict verifier** (`sentence-strict`) accepts it only if each given word stands in it once, the words are not
  one list, and as many others tell something.

| | untrained | rewarded by the plain verifier | rewarded by the strict verifier |
|---|---:|---:|---:|
{table}

![The share of accepted answers that repeat a given word, step by step]({picture})

Blue: rewarded by the plain verifier; orange: by the strict one. The chart counts training answers that the plain
verifier accepts. This is one seed of one model.

## The first answers

| given words | untrained | rewarded by the plain verifier | rewarded by the strict verifier |
|---|---|---|---|
{read}

## Do it again

    assay train --model smollm2 --task sentence:2,3
    assay train --model smollm2 --task sentence-strict:2,3

The progress of both shows `reward/repeats/mean` and `reward/others/mean`: what an exact verifier does not look at can
be counted all the same, and its curve bends long before anybody reads an answer. `python -m bench.two_judges` made this
page.
"""


def pool(name: str) -> Pool:
    return Pool((Share(name, LEVELS),), wording="natural")


def trained(arm: str) -> Path:
    """The run of an arm, from where it is."""
    path = RUNS / f"two-judges-{arm}"
    if not path.exists():
        planned = {"model": MODEL, "pool": pool(VERIFIERS[arm]), "seed": SEED, "steps": STEPS}
        experiment, _ = session.plan(recipe(RECIPE), **planned, overrides={"saving.rollouts-every": "1"})
        session.start(experiment, path, command="python -m bench.two_judges")
    else:
        session.resume(path)
    return path


def answers(model: str) -> list[dict[str, Any]]:
    """What a model answers to the held-out questions of `sentence`, each answer read by both verifiers."""
    reader = Reader()
    about = {"problems": 48, "samples": 16, "ks": (1,), "temperature": 0.7, "max_new": 48, "seed": SEED}
    examine(model, pool("sentence"), **about, grader=reader)
    return reader.rows


class Reader(Grader):
    """The verifier of `sentence`, which keeps what both verifiers say of each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []

    def verified(self, episodes: Sequence[Episode]) -> list[Verdict | None]:
        verdicts = super().verified(episodes)
        for episode, verdict in zip(episodes, verdicts, strict=True):
            assert verdict is not None, "every question of the task is verified"
            self.rows.append(read(episode, verdict))
        return verdicts


def read(episode: Episode, verdict: Verdict) -> dict[str, Any]:
    """One answer, by both verifiers."""
    spec, text = episode.request.problem.spec, episode.text
    words, whole = said(text), verdict.kind != "truncated"
    return {
        "words": spec["words"],
        "text": text,
        "plain": whole and is_plain(spec, text),
        "strict": whole and is_strict(spec, text),
        "repeats": repeats(spec["words"], words),
        "telling": len({*words} - {*spec["words"]} - FUNCTION),
        "others": others(spec["words"], words),
        "tokens": len(episode),
    }


def measure() -> dict[str, Any]:
    models = {"untrained": MODEL, **{arm: str(trained(arm)) for arm in VERIFIERS}}
    said_by = {name: answers(model) for name, model in models.items()}
    curves = {arm: RunFolder.read_only(Path(models[arm])).read("metrics") for arm in VERIFIERS}
    return {
        "model": MODEL,
        "fingerprint": PRETRAINED[MODEL].fingerprint,
        "steps": STEPS,
        "seed": SEED,
        "judges": {arm: version_of(task(name)) for arm, name in VERIFIERS.items()},
        "machine": machine_key(describe()),
        "measured": str(date.today()),
        "models": {name: summary(found) for name, found in said_by.items()},
        "curves": {arm: {name: [one.get(name) for one in steps] for name in COUNTS} for arm, steps in curves.items()},
        "read": first_answers(said_by),
    }


def summary(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The share of right answers by each verifier, over questions, and what those that the plain one takes are like."""
    of_question: dict[str, list[Mapping[str, Any]]] = {}
    for one in found:
        of_question.setdefault(" ".join(one["words"]), []).append(one)
    shares = np.array([[np.mean([one[arm] for one in group]) for arm in VERIFIERS] for group in of_question.values()])
    accepted = [one for one in found if one["plain"]]
    found_of = zip(VERIFIERS, (mean.within(LEVEL) for mean in over_problems(shares, RESAMPLING)), strict=True)
    return {
        "questions": len(of_question),
        "answers": len(found),
        "right": {verifier: {"mean": one.mean, "low": one.low, "high": one.high} for verifier, one in found_of},
        **{name: float(np.mean([one[name] for one in accepted])) for name in ("repeats", "others", "telling")},
        "tokens": float(np.mean([one["tokens"] for one in found])),
    }


def first_answers(said_by: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The first answer of each model to each of the first questions."""
    first: dict[str, dict[str, str]] = {}
    for name, found in said_by.items():
        for one in found:
            first.setdefault(", ".join(one["words"]), {}).setdefault(name, one["text"].strip())
    return [{"words": words, **texts} for words, texts in list(first.items())[:SHOWN]]


def picture(kept: Mapping[str, Any]) -> str:
    """The share of accepted answers that repeat a given word, step by step."""
    lines = [
        Line(
            f"rewarded by the {arm} verifier",
            tuple((i + 1, v, v, v) for i, v in enumerate(of[REPEATS]) if v is not None),
        )
        for arm, of in kept["curves"].items()
    ]
    drawn = chart(lines, x="step", y="share that repeats a given word", up=(0.0, 1.0))
    for name, color in COLORS.items():
        drawn = drawn.replace(f"var({name})", color)
    opened = '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="260" '
    return drawn.replace("<svg ", opened, 1).replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def page(kept: Mapping[str, Any]) -> str:
    base, plain, strict = (kept["models"][name] for name in ("untrained", *VERIFIERS))
    rows = {
        "right by the plain verifier": lambda of: share(of["right"]["plain"]),
        "right by the strict verifier": lambda of: share(of["right"]["strict"]),
        "of those that the plain one accepts, repeat a word": lambda of: f"{of['repeats']:.0%}".replace("%", " %"),
        "their distinct other words": lambda of: f"{of['others']:.1f}",
        "of these, words that tell something": lambda of: f"{of['telling']:.1f}",
        "tokens of an answer": lambda of: f"{of['tokens']:.1f}",
    }
    table = [f"| {name} | {' | '.join(tell(of) for of in (base, plain, strict))} |" for name, tell in rows.items()]
    read = [
        f"| {one['words']} | {' | '.join(cell(one[name]) for name in ('untrained', *VERIFIERS))} |"
        for one in kept["read"]
    ]
    return PAGE_TEXT.format(
        **{name: kept[name] for name in ("steps", "seed", "measured")},
        **{
            model: {verifier: one["mean"] for verifier, one in of["right"].items()}
            for model, of in kept["models"].items()
        },
        questions=base["questions"],
        samples=base["answers"] // base["questions"],
        picture=PICTURE.name,
        table="\n".join(table),
        read="\n".join(read),
    )


def share(of: Mapping[str, float]) -> str:
    return f"{of['mean']:.3f} [{of['low']:.3f}, {of['high']:.3f}]"


def cell(text: str) -> str:
    """A text in one line that ends no cell of a table and begins no tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def render() -> None:
    kept = json.loads(RESULT.read_text())
    PAGE.write_text(page(kept))
    PICTURE.write_text(picture(kept))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true", help="write the page, and measure nothing")
    given = parser.parse_args(arguments)
    if not given.render:
        RESULT.write_text(json.dumps(measure(), indent=1) + "\n")
    render()
    print(PAGE)


if __name__ == "__main__":
    main()
