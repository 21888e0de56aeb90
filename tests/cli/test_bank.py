"""`assay bank`: sampling into a file that a kill does not spoil, wrong usage, and what the tables say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from banked import FIRST, OTHER, SMALL, flips, made
from small_runs import Shell, make_model, program

import assay.lab.bank_sampling
from assay.lab.bank_sampling import Wish
from assay.lab.sample import examine
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.scoring.samples import SampleBank
from assay.source import Pool, Share
from assay.tasks import ALPHABET

ASKED = ["--task", "countdown:3", "--n", "2", "--problems", "40", "--max-new", "6", "--seed", "5"]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


# --- sampling -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_bank_goes_on_and_has_the_rows_of_one_that_was_not(shell: Shell, model: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.parquet", tmp_path / "killed.parquet"
    line = ["bank", "sample", model, *ASKED, "--into"]
    reply = shell(*line, whole, "--json")
    assert reply.code == 0, reply.err
    assert reply.document["problems"] == 40 and reply.document["samples"] == 2
    assert [progress.split("  ")[0] for progress in reply.err.splitlines()] == [
        f"{n} of 40 problems" for n in (16, 32, 40)
    ]
    dead = program(["-m", "assay", *map(str, line), str(killed)], ASSAY_FAILPOINT="samples.after_rename:kill:2")
    assert dead.returncode == -9 and not killed.exists()
    parts = tmp_path / "killed.parquet.parts"
    assert len(list(parts.glob("*.parquet"))) == 2
    reply = shell(*line, killed)
    assert reply.code == 0 and "going on: 2 of 3 portions" in reply.err
    assert killed.read_bytes() == whole.read_bytes() and not parts.exists()


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("place", ["after_write:kill:2", "after_rename:kill:3"])
def test_a_kill_while_the_file_is_made_leaves_nothing_behind(
    shell: Shell, model: Path, tmp_path: Path, place: str
) -> None:
    """One portion; the second file to be written is the whole, and the third rename gives it its name."""
    into = tmp_path / "bank.parquet"
    line = ["bank", "sample", model, "--task", "countdown:3", "--n", "1", "--problems", "8", "--max-new", "4"]
    line += ["--quiet", "--into", into]
    dead = program(["-m", "assay", *map(str, line)], ASSAY_FAILPOINT=f"samples.{place}")
    assert dead.returncode == -9 and into.exists() == place.startswith("after_rename")
    assert shell(*line).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["bank.parquet"]


def test_the_samples_are_those_of_assay_eval(model: Path, tmp_path: Path) -> None:
    pool = Pool((Share("countdown", (3,)),))
    wish = Wish(samples=4, problems=20, max_new=6, seed=3)
    bank = assay.lab.bank_sampling.sample_bank(str(model), pool, tmp_path / "b.parquet", wish, quiet=True)
    found = examine(str(model), pool, problems=20, samples=4, ks=[1], temperature=1.0, max_new=6, seed=3)
    counts = bank.counts()
    assert float((counts.correct / counts.n).mean()) == found["pass"]["1"]["mean"]
    assert float(counts.tokens.sum() / counts.n.sum()) == found["length"]


def test_a_file_is_never_overwritten_by_another_bank(shell: Shell, model: Path, tmp_path: Path) -> None:
    into = tmp_path / "bank.parquet"
    line = ["bank", "sample", model, "--task", "countdown:3", "--n", "1", "--problems", "8", "--max-new", "4"]
    assert shell(*line, "--into", into, "--quiet").err == ""
    before = into.read_bytes()
    assert "holds this bank already" in shell(*line, "--into", into).err
    refused = shell(*line, "--into", into, "--temperature", "0.5", "--json")
    assert refused.code == 2 and "another bank, with other temperature" in refused.document["message"]
    assert into.read_bytes() == before and not into.with_name("bank.parquet.parts").exists()


@pytest.mark.slow
def test_reward_functions_are_known_by_their_code_wherever_it_lies(shell: Shell, model: Path, tmp_path: Path) -> None:
    line = [
        "bank",
        "sample",
        model,
        "--task",
        "countdown:3",
        "--n",
        "2",
        "--problems",
        "8",
        "--max-new",
        "4",
        "--quiet",
    ]
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "rewards.py").write_text(
            "def full(prompts, completions, **columns):\n    return [1.0] * len(prompts)\n"
        )
        reply = shell(*line, "--reward", f"{folder}/rewards.py:full", "--into", folder / "bank.parquet")
        assert reply.code == 0, reply.err
    one, two = (SampleBank.read(tmp_path / name / "bank.parquet") for name in ("one", "two"))
    assert one.asked.judge[0].startswith("full=1 ") and one.asked.judge == two.asked.judge
    assert shell(*line, "--into", tmp_path / "plain.parquet").code == 0
    assert "judge is" in shell("bank", "compare", tmp_path / "one" / "bank.parquet", tmp_path / "plain.parquet").err


WRONG = {
    "bank": "assay bank --help",
    "bank shwo x": "'show'",  # codespell:ignore shwo
    "bank sample m": "--into FILE.parquet",
    "bank sample m --into bank.csv": "name it bank.parquet",
    "bank sample m other --into b.parquet": "takes MODEL, not 2 names",
    "bank sample m --into b.parquet --temperature -1": "--temperature must be 0 (greedy) or more",
    "bank sample m --into b.parquet --temperature 0": "temperature 0 gives the same answer each time",
    "bank sample m --into b.parquet --n 0": "--problems and --n must be at least 1, not 256 and 0",
    "bank sample m --into b.parquet --worth 0.1": "--worth is an option of `assay bank compare`",
    "bank show a.parquet --n 4": "--n is an option of `assay bank sample` and `assay bank parity`",
    "bank show a.parquet --k 1,none": "such as 1,8,64, not 'none'",
    "bank compare a.parquet": "takes FILE FILE, not 1 names",
    "bank compare a.parquet b.parquet --worth 0": "above 0 and at most 1, not 0",
    "bank parity a b --split valid": "--split is an option of `assay bank sample`",
    "bank show a.parquet --right-from 0.5": "--right-from is an option of `assay bank sample` and",
    "bank sample m --into b.parquet --split valid --data rows.jsonl": "of --data all rows are asked",
    "bank parity a b --data rows.jsonl": "--data is an option of `assay bank sample`",
    "bank parity a b --n 4 --k 8": "pass@8 needs --n of at least 8",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_says_what_to_do(shell: Shell, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reply = shell(*line.split(), "--json")
    assert reply.code == 2 and WRONG[line] in reply.document["message"], reply.err
    assert not list(tmp_path.iterdir())


# --- tables -------------------------------------------------------------------------------------------------


def test_show_prints_what_it_gives_as_json(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "small.parquet"
    made(SMALL).write(path)
    reply = shell("bank", "show", path, "--k", "1,4")
    assert "small (weights 0123): 2 problems x 4 samples of split test" in reply.out
    (row,) = [line for line in reply.out.splitlines() if line.startswith("1  ")]
    assert row.split()[1] == "0.250" and "0.1443" in row and "0.2500" in row
    assert "1 of 2 problems, each with a chance below 0.5271" in reply.out
    document = shell("bank", "show", path, "--k", "1,4", "--json").document
    assert document["judged_by"] == "verifier" and reply.out.endswith("judged by the verifier\n")
    assert list(document["pass"]) == ["1", "4"] and document["pass"]["4"]["mean"] == 0.5
    refused = shell("bank", "show", path, "--k", "8")
    assert refused.code == 64 and "ask for k <= 4" in refused.err
    assert shell("bank", "show", tmp_path / "none.parquet").code == 64


def test_compare_prints_what_changed_beside_what_luck_changes(shell: Shell, tmp_path: Path) -> None:
    first, other = tmp_path / "first.parquet", tmp_path / "other.parquet"
    made(FIRST).write(first)
    made(OTHER, model="trained").write(other)
    reply = shell("bank", "compare", first, other, "--worth", "1")
    assert reply.code == 0, reply.err
    table = {line.split("  ")[0]: line.split()[-2:] for line in reply.out.splitlines()}
    assert table["of all samples"] == ["1", "1"] and table["half against half"] == ["1.5", "1"]
    assert table["by luck, within first"] == ["1", "1"] and table["by luck, within other"] == ["0.5", "0.5"]
    assert "4 problems at 2 samples each; or, with these problems, 2 samples of each would do" in reply.out
    assert "both banks have one seed" in reply.out
    document = shell("bank", "compare", first, other, "--json").document
    assert document["difference"]["pass"]["1"]["mean"] == 0.125 and document["settle"]["worth"] == 0.02
    made(OTHER, top_p=0.9).write(other)
    assert "top_p is 1.0 and 0.9" in shell("bank", "compare", first, other).err
    assert "asked otherwise, in: top_p" in shell("bank", "compare", first, other, "--differ").out


def test_parity_chooses_on_valid_and_says_that_it_depends(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, float, str]] = []

    def sampler(model: str, pool: Pool, into: Path, wish: Wish, **rest: Any) -> SampleBank:
        asked.append((model, wish.temperature, wish.split))
        assert wish.samples == 2
        return flips(model, wish.temperature, wish.split)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(assay.lab.bank_sampling, "sample_bank", sampler)
    reply = shell("bank", "parity", "base", "child", "--n", "2", "--k", "1")
    assert reply.code == 0, reply.err
    row = next(line for line in reply.out.splitlines() if line.startswith("pass@1"))
    assert row.endswith("temperature-dependent") and "BETTER" in row and "WORSE" in row and "0.4, 0.8" in row
    tested = [place for place in asked if place[2] == "test"]
    assert tested == [("base", 1.0, "test"), ("child", 1.0, "test"), ("base", 0.4, "test"), ("child", 0.8, "test")]
    assert len(asked) == 8 + 4


@pytest.mark.slow
def test_a_bank_is_read_by_the_model_that_wrote_it_and_by_another(shell: Shell, model: Path, tmp_path: Path) -> None:
    """At temperature 1 the cost of an answer is what the sampler said, whose products may be bf16; a model is at no
    distance from itself.
    """
    bank, other = tmp_path / "bank.parquet", tmp_path / "other"
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 64, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("other")), other)
    assert shell("bank", "sample", model, *ASKED, "--into", bank, "--quiet").code == 0
    reply = shell("bank", "score", bank, "--against", model, "--json")
    assert reply.code == 0, reply.err
    found = reply.document
    assert found["all"]["kl"] == 0.0 and found["all"]["answers"] == 80 and found["model"] == str(model)
    scores = pq.read_table(tmp_path / "bank.scores.parquet").to_pylist()
    rows = SampleBank.read(bank).table.to_pylist()
    for score, row in zip(scores, rows, strict=True):
        assert (score["problem"], score["sample"]) == (row["problem"], row["sample"])
        assert score["nll_sum"] == pytest.approx(-row["logp"], abs=0.02)
        assert sum(score["nll"]) == pytest.approx(score["nll_sum"], rel=2e-3) and len(score["rank"]) == row["tokens"]
    costs = [score["nll_sum"] / row["tokens"] for score, row in zip(scores, rows, strict=True)]
    assert found["all"]["perplexity"] == pytest.approx(math.exp(sum(costs) / len(costs)), rel=1e-4)
    text = shell("bank", "score", bank, "--model", other, "--against", model, "--into", tmp_path / "o.parquet").out
    assert f"{other} reads the answers of {model}, and how far it is from {model}" in text and "perplexity" in text


@pytest.mark.slow
def test_verdicts_choose_among_the_answers_of_a_bank(shell: Shell, model: Path, tmp_path: Path) -> None:
    bank = tmp_path / "bank.parquet"
    assert shell("bank", "sample", model, *ASKED, "--into", bank, "--quiet").code == 0
    reply = shell("bank", "vote", bank, "--k", "1,2", "--json")
    assert reply.code == 0, reply.err
    chosen = reply.document["chosen"]
    assert list(chosen) == ["majority", "weighted", "best", "pessimistic"] and list(chosen["best"]) == ["1", "2"]
    assert len({values["1"] for values in chosen.values()}) == 1, "of one answer there is nothing to choose"
    assert "chosen among" in shell("bank", "vote", bank, "--k", "2", "--alpha", "0").out
    assert "is more" in shell("bank", "vote", bank, "--k", "4096").err
    assert "0 or more" in shell("bank", "vote", bank, "--alpha", "-1").err


def test_a_bank_of_other_tokens_is_not_read(shell: Shell, model: Path, tmp_path: Path) -> None:
    made(SMALL).write(tmp_path / "bank.parquet")
    reply = shell("bank", "score", tmp_path / "bank.parquet", "--model", model)
    assert reply.code == 64 and "are others than those of" in reply.err
    assert shell("bank", "show", tmp_path / "bank.parquet", "--model", model).code == 2


@pytest.mark.parametrize("action", ["score", "vote"])
def test_a_file_does_not_say_what_is_downloaded(action: str, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "bank.parquet"
    made(FIRST, model="stranger/model").write(file)
    reply = shell("bank", action, file, "--json")
    assert reply.code == 78, reply.err
    assert "'stranger/model'" in reply.document["message"] and "--model stranger/model" in reply.document["message"]
