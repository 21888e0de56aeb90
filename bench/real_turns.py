"""Steps of training and sampling of SmolLM2-135M-Instruct, in turn with TRL, transformers and llama.cpp.

    bash bench/setup.sh trl llama_cpp && assay get smollm2     # once; llama.cpp is compiled, a quarter of an hour
    python -m bench.real_turns                                 # on an idle machine half an hour or more
    python -m bench.real_turns --parts sample --rounds 9
    python -m bench.real_turns --arms step-native-bf16 step-trl --paid verdict
    python -m bench.real_turns --dry --rounds 1 --answer 4     # shows whether everything runs, and keeps nothing

The part `step` is a step of dr-grpo with an adapter of rank 16: 8 answers to each of 8 questions of the task `words`,
of at most 32 tokens at temperature 0.7, and one update. The part `sample` is the sampler alone on the same prompts: 64
sequences at once, of 32 tokens each, which no token ends. Every arm is a process that is set up once. All arms of a
part are alive together; they are told in turn to do their work, while the others wait, and another one begins each
round. A ratio is that of two arms in one round. The settings of the other systems are chosen before, on this machine.

Answers are paid the share of even ids (`--paid even`), with which every row teaches; with `--paid verdict` they are
paid what the verifier of the task says, and we save the work on groups whose answers earn the same. Results are kept
in results/. Where other processes want the cores, threads that wait for each other lose by far the most: a busy
machine can only show that everything runs (`--threads 1`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from bench import kept
from bench.arms import busy, spread
from bench.machine import ceiling, describe, load
from bench.pair import ROOT, Broken, System, Worker
from bench.real_files import FOLDER, TYPES, widened
from bench.real_work import PAID, TASK, Question, Work
from bench.tuning import tune

RESULTS = ROOT / "bench" / "results"
NAME = "real-turns"
Part = Literal["step", "sample"]
PARTS: tuple[Part, ...] = get_args(Part)
QUESTIONS, SAMPLES, ANSWER, TEMPERATURE, THREADS = 8, 8, 32, 0.7, 2
MICRO_TOKENS = 1024  # of a pass of ours, the default for a model of this size; micro-batches of TRL's are chosen
WARMUP = 1

OURS = System("assay", ".venv", "bench.real_ours")
TRL_AXES = {
    "dtype": ("fp32", "autocast", "bf16"),
    "parts": (4, 1, 16),
    "attention": ("sdpa", "eager"),
    "cache": (None, "static"),
}
TRL = System("trl", ".venv-trl", "bench.real_trl", axes=TRL_AXES)
TRANSFORMERS = System(
    "transformers",
    ".venv-trl",
    "bench.real_transformers",
    axes={"attention": ("sdpa", "eager"), "cache": (None, "static")},
)
LLAMA = System(
    "llama.cpp",
    ".venv-llama_cpp",
    "bench.real_llama",
    axes={
        "unified": (False, True),
        "flash": (False, True),
        "cells": ("f16", "f32", "bf16"),
        "draw": ("llama", "numpy"),
    },
)


@dataclass(frozen=True)
class Arm:
    """A system with what it is told; `against` are the arms that it is divided by, the other's seconds by its own."""

    name: str
    part: Part
    system: System
    options: Mapping[str, Any] = field(default_factory=dict)
    against: tuple[str, ...] = ()

    def line(self, job: Path, options: Mapping[str, Any]) -> list[str]:
        return ["--job", str(job), "--options", json.dumps({**self.options, **options})]


def _ours(part: Part, engine: str, precision: str, *against: str) -> Arm:
    options = {"kind": part, "engine": engine, "precision": precision, "micro_tokens": MICRO_TOKENS}
    return Arm(f"{part}-{engine}-{precision}", part, OURS, options, against)


_MADE = [
    *(_ours("step", engine, form, "step-trl") for engine in ("native", "torch") for form in ("bf16", "fp32")),
    Arm("step-trl", "step", TRL),
    *(
        arm
        for form in ("fp32", "bf16")
        for arm in (
            *(_ours("sample", e, form, f"sample-llama-{form}", f"sample-hf-{form}") for e in ("native", "torch")),
            Arm(f"sample-hf-{form}", "sample", TRANSFORMERS, {"precision": form}),
            Arm(f"sample-llama-{form}", "sample", LLAMA, {"precision": form}),
        )
    ),
]
ARMS = {arm.name: arm for arm in _MADE}
GOALS = {"step": ("step-trl", 3.0), "sample": ("sample-llama", 0.85)}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def questions() -> tuple[Question, ...]:
    """Of the training split, all kinds of them, as a run of `assay train --model smollm2` is given them."""
    from assay.policy import load_tokenizer
    from assay.rng import Key
    from assay.run.pretrained import SMOLLM2, fetched
    from assay.source import Pool, Share

    codec = load_tokenizer(fetched(SMOLLM2.name))
    pool = Pool((Share.parse(f"{TASK}:1,2,3,4,5"),), wording="natural")
    problems = [pool.problem(Key(NAME)(number)) for number in range(QUESTIONS)]
    return tuple(Question(str(p.prompt), tuple(codec.render(p.prompt).tolist()), dict(p.spec)) for p in problems)


def work_of(given: argparse.Namespace, arms: Sequence[Arm]) -> Work:
    from assay.run.pretrained import SMOLLM2, fetched

    files = {form: str(widened(form, given.wheel)) for form in TYPES} if any(a.system is LLAMA for a in arms) else {}
    return Work(
        folder=str(fetched(SMOLLM2.name)),
        files=files,
        questions=questions(),
        samples=SAMPLES,
        answer=given.answer,
        temperature=TEMPERATURE,
        paid=given.paid,
        steps=max(WARMUP + given.rounds, 8),
        threads=given.threads,
    )


def settings_of(arm: Arm, job: Path, work: Work, *, again: bool) -> dict[str, Any]:
    """The fastest settings of another system on this machine; ours has its defaults."""
    if not arm.system.axes:
        return {}

    def start(options: Mapping[str, Any], steps: int) -> Worker:
        return Worker(arm.system, arm.line(job, options), log=arm.name)

    name = "/".join(
        (kept.machine_key(describe()), "real", arm.name, f"{work.answer} tokens", f"{work.threads} threads")
    )
    return tune(name, arm.system.axes, start, again=again, say=say)


def turns(arms: Sequence[Arm], job: Path, settings: Mapping[str, Any], rounds: int) -> dict[str, dict[str, Any]]:
    """Each arm once a round, another one first in each; its numbers by name."""
    seen: dict[str, list[dict[str, float]]] = {arm.name: [] for arm in arms}
    with ExitStack() as stack:
        workers = {
            arm.name: stack.enter_context(Worker(arm.system, arm.line(job, settings[arm.name]), log=arm.name))
            for arm in arms
        }
        names = list(workers)
        for number in range(WARMUP + rounds):
            first = number % len(names)
            for name in (*names[first:], *names[:first]):
                step = workers[name].step()
                if number >= WARMUP:
                    seen[name].append(step)
                label = f"round {number - WARMUP + 1}/{rounds}" if number >= WARMUP else "warm-up"
                say(f"    {label}: {name} {step['seconds']:.2f} s, {step['tokens']:.0f} tokens")
        facts = {name: worker.facts for name, worker in workers.items()}
    return {
        arm.name: {
            "system": arm.system.name,
            "options": {**arm.options, **settings[arm.name]},
            "facts": facts[arm.name],
            "steps": [{key: round(value, 4) for key, value in step.items()} for step in seen[arm.name]],
        }
        for arm in arms
    }


def require_equal_work(arms: Mapping[str, Mapping[str, Any]], work: Work) -> None:
    """That every sampler wrote as many tokens in every round."""
    for name, arm in arms.items():
        for step in arm["steps"]:
            if ARMS[name].part == "sample" and step["tokens"] != work.rows * work.answer:
                raise Broken(f"{name} wrote {step['tokens']:,.0f} tokens, expected {work.rows * work.answer:,}")


def ratios(arms: Mapping[str, Mapping[str, Any]], name: str, other: str) -> list[float]:
    """The seconds of `other` divided by those of `name`, round by round."""
    pairs = zip(arms[other]["steps"], arms[name]["steps"], strict=True)
    return [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs]


def per_token(arms: Mapping[str, Mapping[str, Any]], name: str, other: str) -> list[float]:
    """As `ratios`, of seconds for each token of the answers, whose number differs where answers end by themselves."""
    tokens = zip(arms[name]["steps"], arms[other]["steps"], strict=True)
    return [
        ratio * ours["tokens"] / theirs["tokens"]
        for ratio, (ours, theirs) in zip(ratios(arms, name, other), tokens, strict=True)
    ]


def table(part: Part, arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Of Markdown: an arm a line."""
    here = {name: arm for name, arm in arms.items() if ARMS[name].part == part}
    if not here:
        return []
    goal = GOALS[part]
    lines = [
        "| arm | seconds | of them sampling | answer tokens a second | peak, MB | beside | ratio | for each token |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for name, arm in here.items():
        steps = arm["steps"]
        column: Callable[[str], list[float]] = lambda key, steps=steps: [step[key] for step in steps if key in step]  # noqa: E731
        sampling = column("generate_s")
        cells = [
            name,
            spread(column("seconds")),
            spread(sampling) if sampling else "all",
            spread([step["tokens"] / step["seconds"] for step in steps], ".0f"),
            f"{max(column('peak_mb')):,.0f}",
        ]
        others = [other for other in ARMS[name].against if other in here]
        for other in others or [""]:
            own = [spread(ratios(here, name, other)), spread(per_token(here, name, other))] if other else ["", ""]
            marked = f"{other} (goal {goal[1]:g})" if other.startswith(goal[0]) else other
            lines.append(f"| {' | '.join([*cells, marked, *own])} |")
            cells = [""] * len(cells)
    return lines


def told(options: Mapping[str, Any]) -> str:
    left_out = ("kind", "engine", "precision", "micro_tokens")
    return ", ".join(f"{name} {value}" for name, value in options.items() if name not in left_out)


def section(folder: Path = RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = [
        "## A pretrained model, in turn with TRL, transformers and llama.cpp",
        "",
        "`python -m bench.real_turns`: SmolLM2-135M-Instruct (restored from Q4_1), LoRA of rank 16, 8 answers to each",
        "of 8 questions of `words`. Medians of rounds, least and greatest in brackets; a ratio is the other's seconds",
        "divided by ours in the same round, so that more is better for us.",
    ]
    for run in runs:
        how = f"{run['rounds']} rounds, {run['threads']} threads, answers of {run['answer']} tokens, paid {run['paid']}"
        lines += ["", f"{kept.title(run['machine'])}, {run['measured']}, {how}{busy(run)}:"]
        for part in PARTS:
            if rows := table(part, run["arms"]):
                lines += ["", *rows]
        chosen = [f"{name}: {told(arm['options'])}" for name, arm in run["arms"].items() if told(arm["options"])]
        lines += ["", f"Chosen settings: {'; '.join(chosen)}."] if chosen else []
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), help="default: all of the parts")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--answer", type=int, default=ANSWER, help="tokens of an answer, at most in a step")
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--paid", choices=PAID, default="even")
    parser.add_argument("--wheel", type=Path, help="the wheel of the model, if there is no network")
    parser.add_argument("--retune", action="store_true", help="choose the settings of the other systems again")
    parser.add_argument("--dry", action="store_true", help="keep nothing, and take the first of all settings")
    parser.add_argument("--json", action="store_true", help="print the result as JSON in the end")
    given = parser.parse_args(arguments)
    arms = [ARMS[name] for name in given.arms] if given.arms else [a for a in _MADE if a.part in given.parts]
    for arm in arms:
        arm.system.check()
    work, job = work_of(given, arms), FOLDER / "job.json"
    work.write(job)
    about = describe() | {"ceilings_gflops": {form: round(ceiling(form), 1) for form in ("float32", "bfloat16")}}
    others = load()
    settings = {
        arm.name: {axis: values[0] for axis, values in arm.system.axes.items()}
        if given.dry
        else settings_of(arm, job, work, again=given.retune)
        for arm in arms
    }
    found: dict[str, dict[str, Any]] = {}
    for part in PARTS:
        if mine := [arm for arm in arms if arm.part == part]:
            found |= turns(mine, job, settings, given.rounds)
    require_equal_work(found, work)
    result = {
        "machine": about,
        "measured": str(date.today()),
        "others": max(others, load()),
        "rounds": given.rounds,
        "answer": given.answer,
        "threads": given.threads,
        "paid": given.paid,
        "prompt_tokens": [len(question.ids) for question in work.questions],
        "arms": found,
    }
    for part in PARTS:
        say("\n".join(table(part, found)))
    if given.json:
        say(json.dumps(result))
    if not given.dry:
        kept.keep(RESULTS, NAME, result)
        from bench.rendering import render

        render()


if __name__ == "__main__":
    main()
