"""What runs inside a tree for `bench.equal_bits`: the digests of what each recipe computes there.

    PYTHONPATH=TREE python -P bench/equal_bits_probe.py list
    PYTHONPATH=TREE python -P bench/equal_bits_probe.py model FOLDER
    PYTHONPATH=TREE python -P bench/equal_bits_probe.py digests MODEL SCRATCH < jobs

A job is a line [kind, recipe, engine, task], and its answer a line of JSON. Each is worked in a process of its own, a
fork of one that has imported everything. Trees differ in their layout: what is imported of a tree stands in `PLACES`,
and what it calls its fields in `FIELDS`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import io
import json
import multiprocessing
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

PLACES = {  # what is asked of a tree: where it stands, or stood before
    "main": ("assay.cli.main:main", "assay.cli:main"),
    "errors": ("assay.errors",),
    "recipes": ("assay.known:RECIPES", "assay.recipes:RECIPES"),
    "assemble": ("assay.assemble:assemble",),
    "session": ("assay.run.session", "assay.session"),
    "loading": ("assay.run.loading", "assay.run.session", "assay.session"),
    "build_models": ("assay.run.loading:build_models", "assay.run.session:build_models", "assay.session:build_models"),
    "rng": ("assay.rng",),
    "memory": ("assay.memory",),
    "interface": ("assay.engine.interface",),
    "types": ("assay.types",),
    "source": ("assay.source",),
    "tasks": ("assay.tasks",),
    "policy": ("assay.policy",),
    "config": ("assay.policy.config",),
}
FIELDS = {  # of records: what is asked for, and what else it was or will be called
    "forwards": ("forwards", "assess"),
    "codec": ("codec", "tokenizer"),
    "old": ("old",),
    "ref": ("ref",),
    "value": ("value",),
    "process": ("process",),
    "log_z": ("log_z", "partition"),
    "blend_ids": ("blend_ids", "beside"),
    "blend_share": ("blend_share", "share"),
}

SEED = 20261122
STEPS = 5
ROWS, LENGTH = 32, 12  # of fixed rows: how many, in groups as large as the recipe's, and their tokens at most
FIRST, LAST = 5, 95  # ids that fixed rows are drawn from, none of which ends an answer
TAGS = {  # of every fourth fixed row, where a recipe tells rows apart by it
    **dict.fromkeys(("spo", "azr"), "probe"),
    **dict.fromkeys(("hpt", "srft", "ampo"), "teacher"),
    **dict.fromkeys(("rlad", "rlad-hierarchical", "rlad-two", "rlad-joint"), "bare"),
    "remax": "greedy",
    "guide": "hint",
    "l1-exact": "exact 9",
    "l1-max": "max 9",
}
MACHINE = {"machine.threads": 1, "machine.precision": "fp32", "machine.probe": 0}
SMALL = {
    **MACHINE,
    "scale.num-prompts": 8,
    "evaluation.every": 0,
    "evaluation.final-problems": 4,
    "evaluation.final-samples": 2,
    "saving.every": 1000,
    "saving.rollouts-every": 0,
}
HELD = {  # numbers of recipes that follow the prompts of a step in one tree and not in another: said, they are alike
    "erpo": {"mechanism.source.size": 32},
    "spo": {"mechanism.source.size": 64},
    "rlep": {"mechanism.source.size": 32, "stages.0.mechanism.source.size": 32},
    "seele": {"mechanism.source.size": 688},
    "relift": {"mechanism.expand.0.size": 8},
    "spec-rl": {"mechanism.source.size": 48, "mechanism.remember.0.problems": 48},
    "deepsearch": {f"{stage}mechanism.source.size": 16 for stage in ("", "stages.0.", "stages.2.")},
    "azr": {"stages.0.mechanism.source.size": 11, "stages.1.when.size": 11},
}
TAUGHT = ("mod-chain-7:1,2", "calculator:2", "dsl-deduction:2")  # what the model of the runs can do a little
TEACH = {**SMALL, "scale.num-prompts": 64, "scale.learning-rate": 0.01}
LESSONS = 240
CLOCKED = ("time/", "perf/")  # metrics that differ from run to run

Digests = dict[str, str]


class Refused(Exception):
    """A tree's own word for what it does not do."""


@functools.cache
def of_tree(name: str) -> Any:
    """What a tree has under this name, in the first of its places that is there."""
    for place in PLACES[name]:
        module, _, item = place.partition(":")
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not module.startswith(error.name or "-"):
                raise
            continue
        if not item or hasattr(found, item):
            return getattr(found, item) if item else found
    raise SystemExit(f"this tree has '{name}' at none of {', '.join(PLACES[name])}: add its place to PLACES")


def field_of(record: Any, name: str) -> str:
    """What a record of this tree calls the field."""
    for known in FIELDS[name]:
        if hasattr(record, known):
            return known
    raise SystemExit(f"{type(record).__name__} has none of {', '.join(FIELDS[name])}: add its name to FIELDS")


def digest(value: Any) -> str:
    """Type, shape and SHA-256 of the bytes of an array; of anything else, of its JSON, where names are a list."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().contiguous().numpy()
    if not isinstance(value, np.ndarray):
        return hashlib.sha256(json.dumps(value, sort_keys=True, default=list).encode()).hexdigest()
    said = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return f"{value.dtype}{list(value.shape)} {said}"


# Fixed rows


def pool_of(text: str) -> Any:
    """The pool that the tasks `NAME:LEVEL,LEVEL ...` name."""
    source, shares = of_tree("source"), []
    for name, _, levels in (part.partition(":") for part in text.split()):
        shares.append(source.Share(name, tuple(int(level) for level in levels.split(","))))
    return source.Pool(tuple(shares))


def answers(recipe: Any, key: int) -> list[Any]:
    """Episodes from a seed: right and wrong ones, some cut, some with a reply in the middle, one without a verdict, a
    group that is all right and one that is all wrong; where a recipe imitates, some that a teacher wrote.
    """
    t, random = of_tree("types"), np.random.default_rng((SEED, key))
    size, roles, tag = max(4, recipe.scale.group_size), list(recipe.roles), TAGS.get(recipe.name, "")
    imitates = any(mechanism.objective.injected == "train" for mechanism in recipe.mechanisms)
    found = []
    for draw in range(ROWS // size):
        share = (0.5, 1.0, 0.0, 0.3)[draw % 4]
        context = random.integers(FIRST, LAST, 6).astype(np.int32)
        names = {"task": "mod-chain-7", "prompt": f"M7 {draw}", "solution": "4*6=3#3", "canonical": f"{key} {draw}"}
        problem = t.Problem(spec={"p": 7, "start": 4, "steps": [["*", 6]]}, level=1 + draw % 2, **names)
        for sample in range(size):
            right, cut = bool(random.random() < share), sample % 5 == 4
            about = {"draw": draw, "sample": sample, "role": roles[draw % len(roles)]}
            about |= {"tag": tag if sample % 4 == 1 else "", "temperature": recipe.scale.temperature}
            request = t.Request(problem, context, f"{key}:{draw}", LENGTH + 4, **about)
            segments = pieces(random, sample, f"{key}:{draw}")
            given = imitates and sample % 8 == 3
            if given:
                segments = (segment(random, segments[-1].ids, t.Origin.INJECTED, ""),)
            verdict = t.Verdict.ok("3") if right else t.Verdict.fail("format" if sample % 3 == 0 else "wrong")
            rewards = (t.Reward("outcome", 0.75 * right), t.Reward("format", 0.125 * (random.random() < 0.5)))
            if draw == 3 and sample == 0:
                verdict, rewards = t.Verdict.invalid("bug"), ()
            text, finish = f"{draw}*{sample}#{int(right)}", "length" if cut else "stop"
            whose = {"provenance": "teacher" if given else "fresh"}
            found.append(t.Episode(request, segments, finish, text, verdict, rewards, **whose))
    return found


def pieces(random: np.random.Generator, sample: int, group: str) -> tuple[Any, ...]:
    """The segments of an answer: a node that two answers of the group share, in every third one a reply, a rest."""
    t, count = of_tree("types"), int(random.integers(2, LENGTH - 3))
    shared = np.random.default_rng((SEED, *group.encode(), sample // 2)).integers(FIRST, LAST, 3).astype(np.int32)
    made = [(shared, t.Origin.POLICY, f"{group}/{sample // 2}")]
    if sample % 3 == 2:
        made.append((random.integers(FIRST, LAST, 2).astype(np.int32), t.Origin.ENV, ""))
    made.append(
        (random.integers(FIRST, LAST, count).astype(np.int32), t.Origin.POLICY, f"{group}/{sample // 2}/{sample}")
    )
    return tuple(segment(random, *piece) for piece in made)


def segment(random: np.random.Generator, ids: np.ndarray, origin: Any, node: str) -> Any:
    """Tokens with what a sampler would say of those that the policy wrote."""
    t, known = of_tree("types"), {}
    old, mu, entropy = (random.normal(-2.0, 0.5, len(ids)).astype(np.float32) for _ in range(3))
    if origin == t.Origin.POLICY:
        known = {"old": old, "mu": mu, "entropy": -entropy}
    return t.Segment(ids, np.full(len(ids), origin, np.int8), node=node, **known)


def with_streams(rows: Sequence[Any], engine: Any, key: int) -> list[Any]:
    """The rows with what forwards may say of each token: ratios on both sides of every clip, references too."""
    random, found = np.random.default_rng((SEED, key, 1)), []
    span = of_tree("interface").Span
    spans = [span(row.episode.training_context, row.episode.stream("ids").astype(np.int32)) for row in rows]
    for row, score in zip(rows, engine.score(spans) if spans else [], strict=True):
        far, away, value, process = random.normal(size=(4, len(score.logp))).astype(np.float32)
        known = {"old": score.logp + 0.3 * far, "ref": score.logp + 0.5 * away}
        known |= {"value": value, "process": 0.01 / (1 + process**2)}
        streams = {field_of(row, name): stream.astype(np.float32) for name, stream in known.items()}
        found.append(row.mark(**streams))
    return found


@contextlib.contextmanager
def watched(models: Any, found: Digests, place: Callable[[], str]) -> Iterator[None]:
    """Inside, what is differentiated and the gradient of each optimiser step are put down.

    A tree may call the functions of its learner as it likes: every loss goes back by `Tensor.backward`, and every
    gradient is used by `step` of an engine.
    """
    import torch

    plain, seen = torch.Tensor.backward, [0]

    def backward(self: Any, *arguments: Any, **more: Any) -> Any:
        if self.dim() == 0:
            found[f"{place()}/loss {seen[0]}"] = digest(self)
            seen[0] += 1
        return plain(self, *arguments, **more)

    def stepping(name: str, engine: Any) -> Callable[..., Any]:
        step = engine.step

        def stepped(**settings: Any) -> Any:
            engine.hand_out()
            at = f"{place()}/{name} update {seen[0]}"
            for parameter, value in engine.model.named_parameters():
                if value.grad is not None:
                    found[f"{at}/gradient {parameter}"] = digest(value.grad)
            return step(**settings)

        return stepped

    torch.Tensor.backward = backward
    for name in models:
        models[name].step = stepping(name, models[name])
    try:
        yield
    finally:
        torch.Tensor.backward = plain


def fixed(name: str, engine: str, task: str, model: str) -> Digests:
    """Of two steps of every stage on fixed rows: the batches, the losses and the gradients."""
    session, loading, recipe = of_tree("session"), of_tree("loading"), of_tree("recipes")[name]
    settings = {**MACHINE, "machine.engine": engine}
    made, _ = session.plan(
        recipe, model=model, pool=pool_of(task), profile="laptop", steps=STEPS, overrides=strings(settings)
    )
    policy, found = loading.load_model(made), {}
    loading.set_threads(made.machine)
    models = of_tree("build_models")(made, policy)
    codec = getattr(policy, field_of(policy, "codec"))
    stages = of_tree("assemble")(made.recipe, pool=made.pool, codec=codec, micro_tokens=256)
    memory, where = of_tree("memory").Memory(SEED), [""]
    with watched(models, found, lambda: where[0]):
        for number, stage in enumerate(stages[:3]):
            for step in range(2):
                where[0] = f"stage {number} step {step}"
                episodes = answers(made.recipe, 10 * number + step)
                rows = with_streams(stage.curate(models, episodes, memory), models["policy"], 10 * number + step)
                rows, stats = getattr(stage, field_of(stage, "forwards"))(models, rows, memory)
                for place, batch in enumerate(stage.credit(rows, memory)):
                    found |= of_batch(batch, f"{where[0]}/batch {place}")
                    stats = {**stats, **stage.improve(models, batch, memory)}
                memory = stage.remember(memory, models, episodes, rows, stats)
    return found


def of_batch(batch: Any, place: str) -> Digests:
    """Every stream that is not None; names of rows as one list; what a tree keeps by the row for each of its tokens."""
    found, called = {}, {other: name for name, others in FIELDS.items() for other in others}
    for field, value in vars(batch).items():
        if isinstance(value, Mapping):
            for key, stream in value.items():
                name = getattr(key, "name", key)
                spread = np.repeat(stream, batch.lengths, axis=0) if len(stream) == len(batch) else stream
                found[f"{place}/weight {called.get(name, name)}"] = digest(spread)
        elif value is not None:
            found[f"{place}/{called.get(field, field)}"] = digest(value)
    return found


# Runs


def strings(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name.replace("-", "_"): str(value) for name, value in settings.items()}


def train(recipe: str, task: str, model: str, run: Path, steps: int, settings: Mapping[str, Any]) -> None:
    """`assay train` of this tree; Refused with its message where it refuses."""
    line = [
        "train",
        recipe,
        "--model",
        model,
        "--steps",
        str(steps),
        "--run",
        str(run),
        "--profile",
        "laptop",
        "--quiet",
    ]
    line += [part for name in task.split() for part in ("--task", name)]
    line += [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    told = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(told):
        code = of_tree("main")([*line, "--json"])
    if code:
        told.seek(0)
        said = json.load(told)
        raise (SystemError if said["error"] == "Bug" else Refused)(said["message"])


def run(name: str, engine: str, task: str, model: str, scratch: Path) -> Digests:
    """Of a small run: every weight of its last checkpoint, and the metrics of its last step."""
    from safetensors.numpy import load_file

    place = scratch / f"{name}-{engine}-{task.partition(':')[0]}"
    shutil.rmtree(place, ignore_errors=True)
    train(name, task, model, place, STEPS, {**SMALL, **HELD.get(name, {}), "machine.engine": engine})
    last = max((place / "ckpt").glob("step-*"))
    found = {"steps": digest(int(last.name.removeprefix("step-")))}
    for path in sorted(last.glob("*/*.safetensors")):
        tensors = load_file(path)
        found |= {f"{path.relative_to(last)}/{key}": digest(tensors[key]) for key in sorted(tensors)}
    metrics = json.loads((place / "metrics.jsonl").read_text().splitlines()[-1])
    found |= {f"metric {key}": repr(value) for key, value in metrics.items() if not key.startswith(CLOCKED)}
    shutil.rmtree(place)
    return found


# Jobs


def alone(work: Callable[[], Digests]) -> dict[str, Any]:
    """{"digests"}, or {"refused": why}, of a call in a process of its own."""
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)

    def body() -> None:
        sys.stdout = sys.stderr
        try:
            there.send({"digests": work()})
        except (Refused, of_tree("errors").AssayError) as error:
            there.send({"refused": str(error)})
        except (Exception, SystemExit) as error:  # of the tree, whatever it is: told with its place
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(at.filename).name}, {at.name}"
            there.send({"failed": f"{type(error).__name__}: {error} ({place})"})

    process = multiprocessing.get_context("fork").Process(target=body)
    process.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = {"failed": "the process died"}
    process.join()
    return found


def work(model: str, scratch: Path) -> None:
    """Answers each job of standard input as soon as it is done."""
    import torch

    torch.set_num_threads(1)
    for part in ("recipes", "session", "main"):
        of_tree(part)
    for line in sys.stdin:
        kind, name, engine, task = json.loads(line)
        if name not in of_tree("recipes"):
            found: dict[str, Any] = {"absent": True}
        elif kind == "fixed":
            found = alone(functools.partial(fixed, name, engine, task, model))
        else:
            found = alone(functools.partial(run, name, engine, task, model, scratch))
        print(json.dumps({"job": [kind, name, engine, task], **found}), flush=True)


def make_model(folder: Path) -> None:
    """A small model that is right now and then, so that rewards differ: a few seconds of imitation."""
    config, policy, key = of_tree("config"), of_tree("policy"), of_tree("rng").Key
    tokenizer = policy.character_tokenizer(of_tree("tasks").ALPHABET)
    shape = config.PolicyConfig("qwen2", tokenizer.vocab, 32, 2, 2, 2, 16, 64, 256, attention_bias=True)
    policy.save_policy(policy.fresh_policy(shape, tokenizer, key=key(SEED)), folder / "fresh")
    train("sft", " ".join(TAUGHT), str(folder / "fresh"), folder / "run", LESSONS, {**TEACH, "machine.engine": "torch"})
    shutil.move(max((folder / "run" / "ckpt").glob("step-*")) / "policy", folder / "model")


def main() -> None:
    command, *arguments = sys.argv[1:]
    if command == "list":
        print(json.dumps({"recipes": list(of_tree("recipes")), "place": importlib.import_module("assay").__file__}))
    elif command == "model":
        make_model(Path(arguments[0]))
    else:
        work(arguments[0], Path(arguments[1]))


if __name__ == "__main__":
    main()
