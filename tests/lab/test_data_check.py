"""`assay data check`: lengths, repeats, overlap, answers, what a reward says of right answers, and the template."""

from __future__ import annotations

import dataclasses
import importlib.machinery
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from data_files import jsonl, problems_of, sums
from small_runs import ROOT, Shell

from assay.errors import ConfigError, EndpointError
from assay.lab.data_check import check_data, reader_of, text
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import ALPHABET
from assay.types import Verdict
from assay.verifiers.mathematics.golds import careless

EXAMPLE = ROOT / "examples" / "word_problems.jsonl"
TURNS = "{% for m in messages %}{{ bos_token }}{{ m['role'] }}\n{{ m['content'] }}{{ eos_token }}\n{% endfor %}"
OPENING = "{% if add_generation_prompt %}{{ bos_token }}assistant\n{% endif %}"


def save_model(folder: Path, *, template: str | None = None, context: int = 200) -> Path:
    tokenizer = character_tokenizer(ALPHABET + "\n")
    if template is not None:
        settings = json.loads(tokenizer.files["tokenizer_config.json"]) | {"chat_template": template}
        files = {**tokenizer.files, "tokenizer_config.json": json.dumps(settings).encode()}
        tokenizer = dataclasses.replace(tokenizer, files=files, template=template)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 8, 1, 1, 1, 8, 8, context, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("check")), folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model") / "small")


def prompts(path: Path, texts: Sequence[Any], **more: Any) -> Path:
    return jsonl(path, [{"prompt": text, "answer": str(i), **more} for i, text in enumerate(texts)])


def test_lengths_are_those_of_the_prompts(tmp_path: Path, model: Path) -> None:
    """Of lengths 1, 2, ..., 21: median 11, and 95 of a hundred below 20. A model's marks count too: two a prompt."""
    path = prompts(tmp_path / "rows.jsonl", ["x" * n for n in range(1, 22)])
    found = check_data(str(path))["lengths"]
    assert found == {"unit": "characters", "min": 1, "median": 11.0, "p95": 20.0, "max": 21, "longest": 21}
    found = check_data(str(path), model=str(model))["lengths"]
    assert (found["unit"], found["min"], found["median"], found["max"]) == ("tokens", 3, 13.0, 23)
    assert (found["context"], found["too_long"], found["template"]) == (200, 0, True)


def test_prompts_beyond_the_context_are_counted(tmp_path: Path, model: Path) -> None:
    path = prompts(tmp_path / "rows.jsonl", ["x" * n for n in (3, 197, 198, 500)])
    found = check_data(str(path), model=str(model))["lengths"]
    assert found["too_long"] == 2, "198 characters and two marks leave no room in 200 positions"


def test_no_weight_is_read(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    assert reader_of(str(folder)).context == 200


def test_what_a_tokenizer_cannot_read_is_named(tmp_path: Path, model: Path) -> None:
    found = check_data(str(prompts(tmp_path / "rows.jsonl", ["a", "Größe?", "b"])), model=str(model))
    assert found["lengths"]["refused"]["count"] == 1
    assert found["lengths"]["refused"]["rows"][0]["row"] == 2
    assert "'ö'" in text(found)


def test_repeats_are_found_whatever_their_spaces_and_case(tmp_path: Path) -> None:
    rows = [
        {"prompt": "What is it?", "answer": "1"},
        {"prompt": "what  is\nIT?", "answer": "1"},
        {"prompt": "What is it?", "answer": "1"},
        {"prompt": "Another", "answer": "1"},
        {"prompt": "another", "answer": "2"},
    ]
    found = check_data(str(jsonl(tmp_path / "rows.jsonl", rows)))["repeats"]
    assert found["exact"] == {"count": 1, "rows": [3]}
    assert found["alike"] == {"count": 2, "rows": [2, 5]}
    assert found["contradicting"] == {"count": 2, "rows": [4, 5]}


def test_overlap_with_held_out_rows(tmp_path: Path) -> None:
    ours = prompts(tmp_path / "a.jsonl", ["One", "two", "three", "four"])
    theirs = prompts(tmp_path / "b.jsonl", ["One", "TWO ", "five"])
    found = check_data(str(ours), held_out=str(theirs))
    assert found["overlap"]["exact"] == {"count": 1, "rows": [1]}
    assert found["overlap"]["alike"] == {"count": 2, "rows": [1, 2]}
    assert found["splits"]["train"] == 2
    assert "2 rows are also held out (1 word for word)" in text(found)


def test_answers_that_cannot_be_read_and_those_that_are_missing(tmp_path: Path) -> None:
    rows = [
        {"prompt": "a", "answer": "1/2"},
        {"prompt": "b", "answer": "\\frac{1}{2"},
        {"prompt": "c", "answer": None},
        {"prompt": "d", "answer": "12\\text{ km}"},
    ]
    found = check_data(str(jsonl(tmp_path / "rows.jsonl", rows)))["answers"]
    assert found["given"] == 3
    assert found["missing"] == {"count": 1, "rows": [3]}
    assert [row["row"] for row in found["unreadable"]["rows"]] == [2]


@pytest.mark.slow
def test_what_a_reward_says_of_right_answers(tmp_path: Path) -> None:
    """Of 3 rows one is right, one wrong, and of one the function has nothing to say."""
    (tmp_path / "mine.py").write_text(
        "def score(completions, answer):\n"
        "    return [None if a == '3' else float('boxed{1}' in c) for c, a in zip(completions, answer)]\n"
    )
    rows = [{"prompt": name, "answer": str(i)} for i, name in enumerate("abc", 1)]
    path = jsonl(tmp_path / "rows.jsonl", rows)
    found = check_data(str(path), reward=f"{tmp_path / 'mine.py'}:score")
    reward = found["reward"]
    assert (reward["name"], reward["asked"], reward["none"], reward["mean"]) == ("score", 3, 1, 0.5)
    assert reward["values"] == {"0": 1, "1": 1}
    assert reward["below_best"] == {"count": 1, "rows": [2]}
    assert "1 right answers get None" in text(found)


@pytest.mark.parametrize(
    ("template", "unopened"),
    [
        (None, 0),  # that of a character tokenizer, whose mark stands behind every question
        (TURNS + OPENING, 0),
        ("Q: {{ messages[-1]['content'] }}\nA:", 0),
        (TURNS, 2),
        ("Q: {{ messages[-1]['content'] }}\n", 2),
    ],
)
def test_templates_that_do_not_open_the_answer(template: str | None, unopened: int, tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model", template=template)
    found = check_data(str(prompts(tmp_path / "rows.jsonl", ["One?", "Two?"])), model=str(folder))
    assert found["lengths"]["no_generation_prompt"]["count"] == unopened
    assert ("correct the chat template" in text(found)) == bool(unopened)


def test_prompts_that_spell_special_tokens(tmp_path: Path) -> None:
    tokenizer = character_tokenizer("abc ")
    name = str(tokenizer.special["eos_token"])
    shape = PolicyConfig("qwen2", tokenizer.vocab, 8, 1, 1, 1, 8, 8, 64, attention_bias=True)
    save_policy(fresh_policy(shape, dataclasses.replace(tokenizer, alphabet=None), key=Key("x")), tmp_path / "model")
    path = prompts(tmp_path / "rows.jsonl", ["abc", f"abc{name}cab"])
    with mock.patch("assay.policy.tokenizer.Tokenizer._check_alphabet"):
        found = check_data(str(path), model=str(tmp_path / "model"))
    assert found["lengths"]["special_tokens"] == {"count": 1, "rows": [2]}


def test_how_to_mark_the_answer_is_asked_for(tmp_path: Path) -> None:
    path = str(jsonl(tmp_path / "rows.jsonl", sums(4)))
    assert "no prompt says how to mark the final answer" in text(check_data(path))
    marked = check_data(path, system="Put the final answer in \\boxed{}.")
    assert marked["marks"] == 4
    assert "how to mark" not in text(marked)


def test_the_example_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    found = shell("data", "check", EXAMPLE, "--json").document
    assert (found["rows"], found["problems"], found["answers"]["given"]) == (62, 62, 62)
    assert found["answers"]["unreadable"]["count"] == found["answers"]["missing"]["count"] == 0
    assert found["repeats"]["alike"]["count"] == 0
    reply = shell("data", "check", EXAMPLE, "--system", "Write the answer in \\boxed{}.")
    assert reply.code == 0
    assert "!" not in reply.out, "nothing calls for anything to be done"


def test_without_math_verify_the_rest_is_still_said(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "rows.jsonl", sums(4))
    with mock.patch("assay.verifiers.mathematics.golds.explain", side_effect=ConfigError("needs math-verify")):
        found = check_data(str(path))
    assert found["answers"] == {
        "given": 4,
        "missing": {"count": 0, "rows": []},
        "unreadable": {"count": None, "rows": []},
        "careless": {"count": None, "rows": []},
        "judges": None,
        "why": "needs math-verify",
    }
    assert "4 given; needs math-verify" in text(found)


# --- the Hub, with a package that stands in for the real one ------------------------------------------------


def load_dataset(name: str, configuration: str | None = None, *, split: str) -> list[dict[str, Any]]:
    if name == "away/now":
        raise ConnectionError("no route")
    return [{"question": f"{name} {configuration} {split} {i}?", "answer": f"so\n#### {i}"} for i in range(3)]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    package = SimpleNamespace(load_dataset=load_dataset, __spec__=importlib.machinery.ModuleSpec("datasets", None))
    monkeypatch.setitem(sys.modules, "datasets", package)  # type: ignore[arg-type]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("openai/gsm8k", "openai/gsm8k None train"),
        ("openai/gsm8k:test", "openai/gsm8k None test"),
        ("openai/gsm8k:main:test", "openai/gsm8k main test"),
    ],
)
def test_a_data_set_of_the_hub_is_rows_like_any_other(place: str, said: str) -> None:
    found = problems_of(place)  # type: ignore[arg-type]
    assert [problem.prompt for problem in found] == [f"{said} {i}?" for i in range(3)]
    assert [problem.spec["gold"] for problem in found] == ["0", "1", "2"]


@pytest.mark.usefixtures("hub")
def test_a_hub_that_is_away_is_said() -> None:
    with pytest.raises(EndpointError, match="cannot be read from the Hub: no route"):
        problems_of("away/now")  # type: ignore[arg-type]


# --- golds that nobody can be judged by, and those that careless writers lose -------------------------------


def test_a_gold_is_read_as_a_careless_model_would_write_it() -> None:
    """A person's reading of what may be left out: thin spaces, commas of thousands, units; nothing else."""
    assert careless(r"10,\!080") == {"thin spaces": "10,080", "all of these": "10080"}
    assert careless("1,234,567") == {"commas": "1234567"}
    assert careless(r"12\,\text{cm}^2") == {"thin spaces": r"12\text{cm}^2", "the unit": "12"}
    assert careless(r"\$18.00") == {"the unit": "18.00"}
    assert careless(r"90^\circ") == {"the unit": "90"}
    assert careless(r"2\sqrt{3}\text{ m}") == {"the unit": r"2\sqrt{3}"}
    for gold in ("42", "(1,200)", r"\{1,200\}", r"\text{Evelyn}", r"3\text{ or }5", r"101_\text{two}", "x+1", "1,2"):
        assert careless(gold) == {}, gold


def test_a_gold_that_is_lost_when_written_carelessly_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a verifier to which only `10,080` is `10,\\!080`: the gold equals itself, and a right answer is lost."""
    from assay.verifiers.mathematics import golds
    from assay.verifiers.mathematics.against_gold import Explained

    def explain(pairs: Sequence[tuple[str | None, str]]) -> list[Explained]:
        verdicts = [Verdict.fail("wrong") if answer == "\\boxed{10080}" else Verdict.ok() for _, answer in pairs]
        return [Explained(verdict, gold, "", "", "", "") for verdict, (gold, _) in zip(verdicts, pairs, strict=True)]

    monkeypatch.setattr(golds, "explain", explain)
    rows = [{"prompt": gold, "answer": gold} for gold in ("7", "10,\\!080", "12\\text{ km}")]
    found = check_data(str(jsonl(tmp_path / "rows.jsonl", rows)))
    expected = {"row": 2, "gold": "10,\\!080", "without": "all of these", "as": "10080", "why": "wrong"}
    assert found["answers"]["careless"] == {"count": 1, "rows": [expected]}
    assert "1 answers that the verifier no longer recognises if a part is left out" in text(found)


PROSE = (
    "First we see that the number of apples is what was bought less what was eaten on the way home, which leaves five."
)


@pytest.mark.parametrize(
    "answers",
    [["\\frac{1}{2", "{3", "4}}"], [PROSE, PROSE + " So it is.", PROSE + " Or six."]],
)
def test_data_in_which_no_gold_can_be_read_does_not_pass(
    answers: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [{"prompt": f"Q{i}", "answer": a} for i, a in enumerate(answers)])
    shell = Shell(capsys)
    reply = shell("data", "check", path, "--json")
    assert reply.code == reply.document["code"] == 64
    assert "none of the answers in the column 'answer'" in reply.document["message"]
    assert "--answer-column" in reply.document["message"] and "--reward" in reply.document["message"]
    reply = shell("data", "check", path)
    assert reply.code == 64 and "3 rows, 3 problems" in reply.out, "the rest is said all the same"
    reply = shell("train", "grpo", "--model", "nowhere", "--data", path, "--run", tmp_path / "run", "--json")
    assert reply.code == 64 and not (tmp_path / "run").exists()


def test_prompts_without_answers_pass_as_data_for_a_reward_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [{"prompt": f"Question {i}"} for i in range(60)])
    assert Shell(capsys)("data", "check", path).code == 0


def test_what_training_would_refuse_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell, model = Shell(capsys), save_model(tmp_path / "model", template=None)
    few = jsonl(tmp_path / "few.jsonl", sums(2))
    reply = shell("data", "check", few)
    assert reply.code == 0 and "! none falls into 'test'" in reply.out, "they may be the rows of a held-out file"
    long = prompts(tmp_path / "long.jsonl", ["a b" * 5000, *(f"{'abc'[i % 3]} {'ab ' * i}c" for i in range(60))])
    reply = shell("data", "check", long, "--model", model)
    assert reply.code == 64 and "--skip-bad-rows" in reply.err and "do not fit into the context" in reply.err
    assert shell("data", "check", long).code == 0, "without a model nothing is known of the context"
    assert shell("data", "check", jsonl(tmp_path / "empty.jsonl", [{"prompt": "a", "answer": ""}] * 3)).code == 64


def test_worked_solutions_before_an_answer_are_told(tmp_path: Path) -> None:
    rows = [{"question": row["question"], "answer": f"I add.\n#### {row['answer']}"} for row in sums(4)]
    told = text(check_data(str(jsonl(tmp_path / "rows.jsonl", rows))))
    assert "worked solution of 4 rows in 'answer', before the answer" in told
    told = text(check_data(str(jsonl(tmp_path / "bare.jsonl", sums(4)))))
    assert "worked solution none" in told


def test_prose_that_no_answer_repeats_is_flagged(tmp_path: Path) -> None:
    prose = "I think they end up with quite a lot of them in total"
    rows = [{"question": f"Question {i}", "answer": prose} for i in range(6)]
    found = check_data(str(jsonl(tmp_path / "rows.jsonl", rows)))
    assert found["answers"]["unreadable"]["count"] == 6 and "to which only the same words are equal" in text(found)


@pytest.mark.slow
def test_a_gold_on_which_the_verifier_hangs_is_named_before_training(tmp_path: Path) -> None:
    from assay.run.data_needs import answer_warnings
    from assay.source import Pool, Share
    from assay.tasks.data.task import data

    rows = [{"prompt": "a", "answer": "5"}, {"prompt": "b", "answer": r"\sum_{k=1}^{10^9} \frac{1}{k}"}]
    path = str(jsonl(tmp_path / "rows.jsonl", rows))
    pool = Pool((Share(data(path).name),), wording="natural")
    (line,) = answer_warnings(pool)
    assert line.startswith("warning: 1 reference answer of ") and r"row 2, '\\sum_{k=1}^{10^9}" in line
    assert check_data(path)["answers"]["unreadable"]["rows"][0]["row"] == 2
