"""`assay doctor`: what this machine has of the things that Assay can use, and how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.host.cache import cache_folder

Check = tuple[str, str, str]  # state (ok, missing, warning), what was found, what to do


def examination(model: str | None = None) -> dict[str, Any]:
    """Check -> its state, what was found, what to do. With a model also whether training it fits into memory."""
    checks: dict[str, Callable[[], Check]] = {
        "python": _python,
        "torch": _torch,
        "processor": _processor,
        "core": _core,
        "gpu": _gpu,
        "memory": _memory,
        "disk": _disk,
        "cache": _cache,
        "reasoning-gym": lambda: _package("reasoning_gym", "reasoning-gym", "its puzzles as tasks", "gym"),
        "gymnasium": lambda: _package("gymnasium", "gymnasium", "its environments as tasks", "control"),
        "bm25s": lambda: _package("bm25s", "bm25s", "searches over pages", "search"),
        "mcp": lambda: _package("mcp", "mcp", "tools of MCP servers", "tools"),
        "tensorboard": lambda: _package("tensorboard", "tensorboard", "curves while a run goes on", "track"),
        "wandb": lambda: _package("wandb", "wandb", "curves on Weights & Biases", "track"),
        "trackio": lambda: _package("trackio", "trackio", "curves in a local trackio project", "track"),
        "mlflow": lambda: _package("mlflow", "mlflow-skinny", "runs of an MLflow experiment", "track"),
        "transformers": lambda: _package("transformers", "transformers", "models of other families than ours", "hf"),
        "huggingface_hub": lambda: _package("huggingface_hub", "huggingface_hub", "models and data of the Hub", "hf"),
        "datasets": lambda: _package("datasets", "datasets", "data sets of the Hub", "hub"),
        "plugins": _plugins,
    }
    if model is not None:
        checks["training"] = lambda: _training(model)
    results = {}
    for name, check in checks.items():
        try:
            state, seen, advice = check()
        except AssayError:
            raise
        except Exception as error:  # a broken installation may raise anything; the other checks go on
            state, seen, advice = "warning", f"the check failed: {type(error).__name__}: {error}", "reinstall it."
        results[name] = {"state": state, "found": seen, "advice": advice}
    return results


def externals() -> dict[str, Any]:
    """Foreign program -> its state, what was found, what to do. Each is asked to verify the two cases of its record."""
    from assay.externals import EXTERNALS, examine

    shown = {}
    for name, external in EXTERNALS.items():
        found = examine(external)
        seen = f"{found.version or 'not installed'} ({external.purpose})"
        seen = f"{seen}: {found.problem}" if found.problem else seen
        shown[name] = {"state": found.state, "found": seen, "advice": found.advice, "version": found.version or None}
    return shown


def text(found: Mapping[str, Any]) -> str:
    """The checks as lines for a person."""
    mark = {"ok": "ok      ", "missing": "missing ", "warning": "warning ", "broken": "broken  "}
    lines = []
    for name, entry in found.items():
        advice = f"\n{'':24}{entry['advice']}" if entry["advice"] else ""
        lines.append(f"{mark[entry['state']]}{name:<16}{entry['found']}{advice}")
    return "\n".join(lines)


def _python() -> Check:
    version = platform.python_version()
    minor = tuple(int(part) for part in version.split(".")[:2])
    if (3, 11) <= minor <= (3, 13):
        return "ok", version, ""
    return "warning", version, "Assay is made for Python 3.11 to 3.13."


def _torch() -> Check:
    if importlib.util.find_spec("torch") is None:
        return (
            "missing",
            "not installed",
            "pip install 'torch>=2.11,<2.14'; on a machine without GPU take the CPU build.",
        )
    version = importlib.metadata.version("torch")
    minor = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if (2, 11) <= minor <= (2, 13):
        return "ok", version, ""
    return "warning", version, "tested with torch 2.11 to 2.13."


def _processor() -> Check:
    cores = f"{os.cpu_count()} cores, {platform.machine()}"
    if importlib.util.find_spec("torch") is None:
        return "ok", cores, ""
    import torch

    from assay.engine.precision import choose

    _, reason = choose("auto", torch.device("cpu"))
    return "ok", f"{cores}; computes in {reason}", ""


def _core() -> Check:
    if importlib.util.find_spec("torch") is None:
        return "missing", "cannot be used without torch", "install torch first."
    import torch

    from assay.engine.native import build
    from assay.engine.native.engine import FORMATS, refusal
    from assay.engine.precision import choose

    compute, _ = choose("auto", torch.device("cpu"))
    reason = refusal(torch.device("cpu"), compute)
    if reason is None:
        chosen = build.chosen(FORMATS[compute])
        others = ", ".join(v.name for v in build.runnable() if not v.emulated)
        origin = "from the package" if build.packaged(chosen) else "compiled here"
        seen = f"small models compute on the compiled core, variant {chosen.name} of {others}, {origin}"
        return "ok", seen, ""
    return "missing", f"models compute with torch: {reason}", "see docs/core.md."


def _gpu() -> Check:
    if importlib.util.find_spec("torch") is None:
        return "missing", "cannot be looked for without torch", "install torch first."
    import torch

    if torch.cuda.is_available():
        return "ok", torch.cuda.get_device_name(0), ""
    built = torch.version.cuda
    if built:
        return "missing", f"no GPU is visible to torch (built for CUDA {built})", "check nvidia-smi and the driver."
    return "missing", "this torch is a CPU build", "small models do not need one; for CUDA install another torch build."


def _memory() -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    state = "ok" if total >= 4 else "warning"
    return state, f"{total:.1f} GiB", "" if state == "ok" else "the demo needs about 2 GiB."


def _training(model: str) -> Check:
    """Whether GRPO at the profile of this model, with all weights trained, fits into memory."""
    from assay.engine.footprint import gib
    from assay.known import recipe
    from assay.run import session
    from assay.run.memory_plan import advice, memory_of
    from assay.run.named_model import shape_of
    from assay.source import Pool, Share

    pool = Pool((Share("countdown", (3, 4)),), wording="natural")
    experiment, _ = session.plan(recipe("grpo"), model=model, pool=pool)
    plan = memory_of(experiment, shape_of(model))
    if plan is None:
        return (
            "missing",
            f"the shape of {model} is not known before it is loaded",
            "name a model folder or a base.",
        )
    seen = f"grpo at profile {experiment.profile}: {gib(plan.budget.peak)} of {gib(plan.room.bytes)} {plan.room.where}"
    return ("ok", seen, "") if plan.fits else ("warning", seen, advice(plan))


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    state = "ok" if free >= 2 else "warning"
    advice = "" if state == "ok" else "checkpoints and rollouts need about 2 GiB: free some space."
    return state, f"{free:.1f} GiB free here", advice


def _cache() -> Check:
    folder = cache_folder()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if os.access(nearest, os.W_OK):
        return "ok", str(folder), ""
    return "warning", f"{folder} cannot be written", "set ASSAY_CACHE to a folder that can be written."


def _plugins() -> Check:
    """The methods and tasks of other installed packages, and whether they can be used."""
    from assay.known import others

    offers = others()
    if wrong := [offer for offer in offers if offer.problem]:
        named = ", ".join(f"{offer.kind} '{offer.name}' of {offer.package}" for offer in wrong)
        return "warning", f"cannot be used: {named}", " ".join(offer.problem for offer in wrong)
    named = ", ".join(f"{offer.kind} '{offer.name}' of {offer.package}" for offer in offers)
    return "ok", named or "no other package offers methods or tasks", ""


def _package(module: str, name: str, purpose: str, extra: str | None) -> Check:
    if importlib.util.find_spec(module) is None:
        how = f"pip install 'assay-rl[{extra}]'" if extra else f"pip install {name}"
        return "missing", f"not installed ({purpose})", how
    return "ok", f"{importlib.metadata.version(name)} ({purpose})", ""
