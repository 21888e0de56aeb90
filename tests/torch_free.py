"""What needs no torch: command lines, and the program that runs them in an interpreter that refuses to import it."""

from __future__ import annotations

from pathlib import Path

from drawn import BEST_KNOWN

VERBS = (
    *("train", "resume", "sample", "eval", "data", "compare", "sweep", "list", "show", "base", "get", "export"),
    *("report", "verify", "doctor", "demo", "explain", "new", "claims", "bank", "plan", "extrapolate", "transfer"),
    *("search", "chat", "serve", "analyse"),
)
EXAMPLE = Path(__file__).parents[1] / "examples" / "word_problems.jsonl"
LINES = [
    "--help",
    *(f"{verb} --help" for verb in VERBS),
    *(
        f"list {what}"
        for what in ("recipes", "tasks", "worlds", "bases", "parts", "measures", "gym", "papers", "papers GRPO")
    ),
    *(f"show {name}" for name in ("dapo", "countdown", "smollm2", "gate:clip", "paper:dapo")),
    *(f"show {recipe} --toml" for recipe in BEST_KNOWN),
    "verify explain 1/2 0.5",
    "plan grpo --model Qwen/Qwen2.5-0.5B --gpus 2 --scale.num-prompts 4 --scale.max-new 64 --json",
    f"data check {EXAMPLE}",
]
CHECK = """
import json, sys

HEAVY = {"torch", "transformers", "matplotlib", "pyarrow", "rich", "tokenizers", "safetensors", "reasoning_gym"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HEAVY:
            raise ImportError(f"{name} is not needed for this")

sys.meta_path.insert(0, Blocker())
from assay.cli.main import main

for line in json.load(sys.stdin):
    code = main(line.split())
    assert code == 0, (line, code)
"""
