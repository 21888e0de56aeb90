"""Files of rows as tasks: what is read of them, how they are split, and in which order they are drawn."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from data_files import jsonl, problems_of, sums, table_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_runs import ROOT, Shell, came_to, copy_of

import assay.tasks.data.task
from assay.errors import ConfigError, DataError, UsageError
from assay.memory import Memory
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.record.folder import RunFolder
from assay.record.rollouts import file_of, read_rollouts
from assay.rng import Key
from assay.source import Epochs, Pool, Share, Uniform, check_pool, uniform
from assay.source.epochs import epochs
from assay.source.rows import count_rows
from assay.tasks import ALPHABET, short, task
from assay.tasks.data.task import Data, data, rows_of
from assay.tasks.verifying import verify
from assay.verifiers.answers import before_answer

EXAMPLE = ROOT / "examples" / "word_problems.jsonl"
SEVERAL = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
TALK = ({"role": "user", "content": "And now?"},)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
WORDS = TEXT.filter(lambda text: text.strip() != "")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"prompt": WORDS.map(lambda text: f"Q {text}"), "answer": st.integers(-99, 99).map(str)},
        optional=dict.fromkeys(("id", "source", "extra_info"), VALUES),
    ),
    min_size=1,
    max_size=8,
)


def name_of(path: Path, **said: Any) -> str:
    return data(path, **said).name


def pool_of(*names: str, weights: tuple[float, ...] | None = None) -> Pool:
    shares = zip(names, weights or (1.0,) * len(names), strict=True)
    return Pool(tuple(Share(name, weight=weight) for name, weight in shares), wording="natural")


# --- reading ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@SEVERAL
@given(rows=ROWS)
def test_every_row_of_any_objects_comes_back(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """Each different row once, in its order, with its line, its answer and all columns but the prompt."""
    found = problems_of(jsonl(tmp_path / "rows.jsonl", rows))
    first = {json.dumps(row, sort_keys=True): line for line, row in reversed(list(enumerate(rows, 1)))}
    expected = sorted(first.values())
    assert [problem.spec["row"] for problem in found] == expected
    for problem in found:
        row = dict(rows[problem.spec["row"] - 1])
        assert problem.prompt == row.pop("prompt")
        assert problem.spec["gold"] == row["answer"].strip()
        assert problem.spec["columns"] == row


@SEVERAL
@given(rows=ROWS, data_=st.data())
@pytest.mark.slow
def test_the_order_of_keys_and_rows_changes_no_problem(
    rows: list[dict[str, Any]], data_: st.DataObject, tmp_path: Path
) -> None:
    mixed = [dict(data_.draw(st.permutations(list(row.items())))) for row in data_.draw(st.permutations(rows))]
    before = {problem.id for problem in problems_of(jsonl(tmp_path / "a.jsonl", rows))}
    after = {problem.id for problem in problems_of(jsonl(tmp_path / "b.jsonl", mixed))}
    assert before == after


def test_ids_say_the_content_and_not_the_place(tmp_path: Path) -> None:
    row = {"prompt": "Q", "answer": "1"}
    (here,) = problems_of(jsonl(tmp_path / "a.jsonl", [row]))
    (there,) = problems_of(jsonl(tmp_path / "b.jsonl", [row]), system="Think.")
    assert here.id == there.id
    for change in ({"prompt": "R"}, {"answer": "2"}, {"level": 3}):
        (other,) = problems_of(jsonl(tmp_path / "c.jsonl", [row | change]))
        assert other.id != here.id


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_every_kind_of_file_says_the_same(suffix: str, tmp_path: Path) -> None:
    rows = [
        {"question": 'He said "two, three".\nWhat follows?', "answer": "four", "source": None},
        {"question": "Größe ½?", "answer": "1,5", "source": "é"},
    ]
    path = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    elif suffix == ".jsonl":
        jsonl(path, rows)
    else:
        separator = "," if suffix == ".csv" else "\t"
        cells = [["question", "answer", "source"], *[[row[n] or "" for n in row] for row in rows]]
        quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in line] for line in cells]
        path.write_text("\r\n".join(separator.join(line) for line in quoted), newline="")
    found = problems_of(path)
    assert [problem.prompt for problem in found] == [row["question"] for row in rows]
    assert [problem.spec["gold"] for problem in found] == ["four", "1,5"]
    assert [problem.spec["columns"]["source"] for problem in found] == [None, "é"]
    lines = {".csv": [2, 4], ".tsv": [2, 4]}  # the first row has two lines, behind the header
    assert [problem.spec["row"] for problem in found] == lines.get(suffix, [1, 2])


def test_a_mark_of_utf8_windows_line_ends_and_empty_lines_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a", "answer": "1"}\r\n\r\n{"prompt": "b", "answer": "2"}\r\n')
    assert [(p.prompt, p.spec["row"]) for p in problems_of(path)] == [("a", 1), ("b", 3)]


def test_verls_parquet_is_read_as_it_is(tmp_path: Path) -> None:
    row = {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": "What is 2 + 3?"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "5"},
        "extra_info": {"split": "train", "index": 0},
    }
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "verl.parquet")
    (problem,) = problems_of(tmp_path / "verl.parquet")
    assert problem.prompt == ({"role": "user", "content": "What is 2 + 3?"},)
    assert problem.spec["gold"] == "5"
    assert problem.spec["columns"] == {name: value for name, value in row.items() if name != "prompt"}


def test_what_parquet_has_and_json_has_not(tmp_path: Path) -> None:
    columns = {
        "prompt": ["a", "b"],
        "answer": [42.0, 0.5],
        "seen": [datetime.date(2026, 1, 2), None],
        "price": [decimal.Decimal("1.50"), None],
        "picture": [b"\x89PNG", b""],
        "noise": [float("nan"), 1.0],
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    table = table_of(tmp_path / "rows.parquet")
    first, second = table.problems
    assert (first.spec["gold"], second.spec["gold"]) == ("42", "0.5")
    assert first.spec["columns"] == {"answer": 42.0, "seen": "2026-01-02", "price": "1.50", "noise": None}
    assert any("'picture' holds bytes" in note for note in table.notes)


# --- columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "gold", "solution"),
    [
        ({"answer": "6*7=42\n#### 42"}, "42", "6*7=42\n#### 42"),
        ({"answer": "a #### 1 #### 1,042 "}, "1,042", "a #### 1 #### 1,042"),
        ({"solution": "So \\boxed{\\frac{1}{2}}."}, "\\frac{1}{2}", "So \\boxed{\\frac{1}{2}}."),
        ({"answer": 42}, "42", None),
        ({"answer": -0.5}, "-0.5", None),
        ({"answer": True}, "True", None),
        ({"answer": " 7 ", "solution": "3 + 4"}, "7", "3 + 4"),
        ({"final_answer": "7", "answer": "long"}, "7", None),
        ({"ground_truth": "7", "completion": "It is 7."}, "7", "It is 7."),
        ({"gold": "7", "completion": [{"role": "assistant", "content": "It is 7."}]}, "7", "It is 7."),
        ({"answer": None}, None, None),
        ({"answer": "  "}, None, None),
        ({"id": 3}, None, None),
    ],
)
def test_where_the_answer_stands(row: dict[str, Any], gold: str | None, solution: str | None, tmp_path: Path) -> None:
    (problem,) = problems_of(jsonl(tmp_path / "rows.jsonl", [{"question": "Q", **row}]))
    assert problem.spec["gold"] == gold
    assert problem.solution == solution


def test_columns_are_named_and_dots_lead_inwards(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [{"ask": "Q", "prompt": "no", "info": {"gold": "5"}, "answer": "no"}])
    (problem,) = problems_of(path, prompt_column="ask", answer_column="info.gold")
    assert (problem.prompt, problem.spec["gold"]) == ("Q", "5")
    assert problem.spec["columns"]["prompt"] == "no", "a column that is not the prompt stays, whatever its name"


def test_a_system_message_is_put_before_rows_that_have_none(tmp_path: Path) -> None:
    """With the rows, as runs have it that are older than the setting of the chat, which does the same."""
    talk = [{"role": "user", "content": "Q"}]
    own = [{"role": "system", "content": "Mine."}, *talk]
    path = jsonl(tmp_path / "rows.jsonl", [{"prompt": talk, "answer": 1}, {"prompt": own, "answer": 2}])
    table = table_of(path, system="Yours.")
    assert [problem.prompt[0]["content"] for problem in table.problems] == ["Yours.", "Mine."]  # type: ignore[index]
    (text,) = problems_of(jsonl(tmp_path / "text.jsonl", [{"prompt": "Q", "answer": 1}]), system="Yours.")
    assert text.prompt == ({"role": "system", "content": "Yours."}, {"role": "user", "content": "Q"})


def test_parts_of_a_message_are_joined(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What is "}, {"type": "text", "text": "1 + 1?"}]
    path = jsonl(tmp_path / "rows.jsonl", [{"messages": [{"role": "user", "content": parts}], "answer": "2"}])
    assert problems_of(path)[0].prompt == ({"role": "user", "content": "What is 1 + 1?"},)


def test_a_conversation_that_ends_with_the_assistant_is_split(tmp_path: Path) -> None:
    """Its last message is the worked solution, and of that the answer is what its mark says, or else all."""
    asked = [{"role": "user", "content": "6 * 7?"}, {"role": "assistant", "content": "?"}, *TALK]
    rows = [
        {"prompt": "not this", "messages": [*asked, {"role": "assistant", "content": "So \\boxed{42}."}], "source": 1},
        {"prompt": "not this", "messages": [*TALK, {"role": "assistant", "content": " 43 "}], "source": 2},
    ]
    path = jsonl(tmp_path / "rows.jsonl", rows)
    first, second = problems_of(path, answer_from_messages=True)
    assert [message["content"] for message in first.prompt] == ["6 * 7?", "?", "And now?"]  # type: ignore[index]
    assert (first.spec["gold"], first.solution) == ("42", "So \\boxed{42}.")
    assert (second.spec["gold"], second.solution) == ("43", "43")
    assert first.spec["columns"]["source"] == 1
    name = name_of(path, answer_from_messages=True)
    assert Data.of(name).answer_from_messages and Data.of(name).name == name
    with pytest.raises(DataError, match="--answer-from-messages"):
        problems_of(jsonl(tmp_path / "plain.jsonl", [{"messages": rows[0]["messages"]}]))
    with pytest.raises(DataError, match="does not end 'messages' with an answer of the assistant"):
        problems_of(jsonl(tmp_path / "open.jsonl", [{"messages": list(TALK)}]), answer_from_messages=True)
    with pytest.raises(UsageError, match="two places for the answer"):
        data(path, answer_from_messages=True, answer_column="source")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", json.dumps([{"prompt": "a", "answer": "1"}] * 200, indent=1), "rename it to a.json"),
        ("a.jsonl", json.dumps([{"prompt": "a", "answer": "1"}] * 200), "rename it to a.json"),
        ("a.jsonl", "\n".join(json.dumps({"prompt": p}, indent=1) for p in "ab"), "jq -c . a.jsonl"),
        ("a.json", json.dumps({"data": [{"prompt": "a"}]}, indent=1), "Keep what is under 'data'"),
        ("a.jsonl", json.dumps([{"prompt": "a"}], indent=1)[:-5], "is broken further on"),
        ("a.csv", "PAR1 and more", "rename it to .parquet"),
    ],
)
def test_a_file_of_another_form_is_told_as_that(name: str, content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as caught:
        problems_of(tmp_path / name)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_rows_that_repeat_are_kept_once_and_counted(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "answer": 1}, {"prompt": "b", "answer": 1}, {"answer": 1, "prompt": "a"}]
    table = table_of(jsonl(tmp_path / "rows.jsonl", rows))
    assert (table.num_rows, len(table.problems), table.repeats) == (3, 2, (3,))
    assert "1 row left out, because an earlier row is the same: line 3" in table.notes


def test_bad_rows_are_left_out_only_if_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    cut_off = '{"prompt": "b", "ans'  # codespell:ignore ans
    path.write_text(f'{{"prompt": "a", "answer": 1}}\n{cut_off}\n{{"prompt": "", "answer": 2}}\n')
    with pytest.raises(DataError, match="2 of 3 rows"):
        table_of(path)
    table = table_of(path, skip_bad_rows=True)
    assert [problem.prompt for problem in table.problems] == ["a"]
    assert "2 rows left out: lines 2, 3" in table.notes


# --- names --------------------------------------------------------------------------------------------------


PATHS = TEXT.filter(lambda text: text.strip("/. ") != "" and "\n" not in text and ".." not in text).map(
    lambda text: str(Path(f"/data/{text.strip('/. ')}").resolve())
)


@given(
    places=st.lists(PATHS, min_size=1, max_size=3),
    held_out=st.lists(PATHS, max_size=2),
    system=TEXT,
    column=TEXT,
    skip=st.booleans(),
)
def test_a_name_says_everything(places: list[str], held_out: list[str], system: str, column: str, skip: bool) -> None:
    said = Data(tuple(places), tuple(held_out), prompt_column=column, system=system, skip_bad_rows=skip)
    assert Data.of(said.name) == said


def test_names_are_plain_where_they_can_be() -> None:
    assert Data(("/a/b c.jsonl",)).name == "data:/a/b c.jsonl"
    assert Data(("/a.jsonl",), ("/b.jsonl",)).name == "data:/a.jsonl?held_out=/b.jsonl", "as in runs of before"
    assert Data.of("data:/a/b c.jsonl").places == ("/a/b c.jsonl",)
    assert short("data:/long/way/my.jsonl?system=Think") == "my"
    assert short("data:owner/name:test") == "owner-name-test"
    with pytest.raises(UsageError, match="data has no setting 'colour'"):
        Data.of("data:/a.jsonl?colour=red")


# --- splits -------------------------------------------------------------------------------------------------


def test_splits_are_disjoint_and_hold_all(tmp_path: Path) -> None:
    name = name_of(jsonl(tmp_path / "rows.jsonl", sums(200)))
    splits = {split: {p.id for p in task(name).rows_of(split)} for split in ("train", "valid", "test")}  # type: ignore[arg-type]
    assert sum(map(len, splits.values())) == len(set().union(*splits.values())) == 200
    # 0.8, 0.1 and 0.1 of 200, within four standard deviations
    assert abs(len(splits["train"]) - 160) <= 23
    assert abs(len(splits["valid"]) - 20) <= 17
    assert abs(len(splits["test"]) - 20) <= 17


def test_what_reads_the_same_is_in_one_split(tmp_path: Path) -> None:
    rows = [{"prompt": text, "answer": i} for i, text in enumerate(["What is it?", " what  IS it?", "What is it?"])]
    name = name_of(jsonl(tmp_path / "rows.jsonl", rows), system="Think.")
    assert sorted(len(task(name).generator.rows(split)) for split in ("train", "valid", "test")) == [0, 0, 3]  # type: ignore[misc]


def test_held_out_rows_come_from_their_file_and_are_not_trained_on(tmp_path: Path) -> None:
    ours, theirs = jsonl(tmp_path / "a.jsonl", sums(40)), jsonl(tmp_path / "b.jsonl", sums(30, first=35))
    name = name_of(ours, held_out=theirs)
    splits = {split: [p.prompt for p in task(name).rows_of(split)] for split in ("train", "valid", "test")}  # type: ignore[arg-type]
    assert splits["train"] == [row["question"] for row in sums(35)], "five rows of 40 are held out in the other file"
    assert Counter(splits["valid"] + splits["test"]) == Counter(row["question"] for row in sums(30, first=35))
    assert len(splits["valid"]) < len(splits["test"])


def test_all_rows_of_a_file_can_be_an_exam(tmp_path: Path) -> None:
    name = data(jsonl(tmp_path / "rows.jsonl", sums(12)), rows="test").name
    assert len(pool_of(name).held_out(Key(0), 99, "test")) == 12
    with pytest.raises(DataError, match="none falls into 'train'"):
        pool_of(name).rows("train")


def test_rows_of_files_need_a_natural_pool(tmp_path: Path) -> None:
    name = name_of(jsonl(tmp_path / "rows.jsonl", sums(12)))
    with pytest.raises(DataError, match="natural"):
        check_pool(Pool((Share(name),)))


# --- drawing ------------------------------------------------------------------------------------------------


def steps(pool: Pool, drawn: int, count: int, *, refill_at: int | None = None) -> list[str]:
    """The prompts that `count` steps draw; one of them draws again as many."""
    memory, prompts = Memory(0), []
    for step in range(count):
        problems = uniform(memory, 0, drawn, pool=pool)
        if step == refill_at:
            problems += uniform(memory, drawn, drawn, pool=pool)
        prompts += [str(problem.prompt) for problem in problems]
        episodes = [tiny.episode([1], draw=ordinal) for ordinal in range(len(problems))]
        memory = count_rows(memory, episodes, pool=pool, drawn=drawn)
        memory = tiny.reopened(dataclasses.replace(memory, step=step + 1))
    return prompts


@pytest.mark.parametrize("refill_at", [None, 1])
def test_every_row_once_an_epoch(refill_at: int | None, tmp_path: Path) -> None:
    """Epochs need not end with a step, refills go on where the step stands, and no two epochs have one order."""
    pool = pool_of(name_of(jsonl(tmp_path / "rows.jsonl", sums(30))))
    size = len(pool.rows("train"))
    drawn = 7
    prompts = steps(pool, drawn, 3 * size // drawn + 1, refill_at=refill_at)
    epochs_ = [prompts[i * size : (i + 1) * size] for i in range(3)]
    assert all(sorted(epoch) == sorted(epochs_[0]) and len(set(epoch)) == size for epoch in epochs_)
    assert epochs_[0] != epochs_[1] != epochs_[2]


def test_in_a_mixture_each_file_has_its_own_epochs(tmp_path: Path) -> None:
    names = [name_of(jsonl(tmp_path / f"{i}.jsonl", sums(20, first=100 * i))) for i in range(2)]
    pool = pool_of(*names, "countdown", weights=(1.0, 2.0, 1.0))
    pool = dataclasses.replace(
        pool, shares=tuple(dataclasses.replace(s, levels=(3,)) if s.task == "countdown" else s for s in pool.shares)
    )
    prompts = steps(pool, 5, 24)
    for share in pool.shares[:2]:
        rows = [p.prompt for p in task(share.task).rows_of("train")]
        mine = [prompt for prompt in prompts if prompt in rows]
        assert len(mine) > len(rows), "this test looks at more than an epoch"
        assert set(mine[: len(rows)]) == set(rows)
    assert len(prompts) == 120


def test_a_source_of_epochs_takes_no_more_rows_than_there_are(tmp_path: Path) -> None:
    pool = pool_of(name_of(jsonl(tmp_path / "rows.jsonl", sums(20))))
    size = len(pool.rows("train"))
    found = epochs(Memory(0), 0, 2 * size, pool=pool, drawn=4, size=Epochs().size)
    assert sorted(Counter(p.id for p in found).values()) == [2] * size


def test_the_answer_of_a_worked_solution_begins_behind_its_last_mark() -> None:
    assert before_answer("6 * 7\n#### 42", "natural") == "6 * 7\n####"
    assert before_answer("#### a\n\\boxed{42}", "natural") == "#### a\n\\boxed{"
    assert before_answer("no mark", "natural") == ""


def test_endless_pools_are_drawn_as_before() -> None:
    pool = Pool((Share("countdown", (3,)),))
    memory = Memory(3)
    key = memory.key("problem", 0)
    assert [p.id for p in uniform(memory, 2, 3, pool=pool)] == [pool.problem(key(i)).id for i in (2, 3, 4)]
    assert count_rows(memory, [], pool=pool, drawn=8) is memory
    assert isinstance(Uniform(), Uniform)


def test_answers_are_judged_by_mathematics(tmp_path: Path) -> None:
    (problem,) = problems_of(jsonl(tmp_path / "rows.jsonl", [{"question": "Q", "answer": "so\n#### 1,200"}]))
    asked = tiny.episode([1]).request
    texts = ["\\boxed{1200}", "#### 1200.0", "\\boxed{120}", ""]
    episodes = [
        dataclasses.replace(tiny.episode([1]), request=dataclasses.replace(asked, problem=problem), text=text)
        for text in texts
    ]
    verdicts = verify(episodes)
    assert [verdict.status for verdict in verdicts] == ["ok", "ok", "fail", "fail"]
    assert [task(problem.task).verify(problem, text) for text in texts] == verdicts, "alone as together"


# --- runs ---------------------------------------------------------------------------------------------------

SMALL = {
    "scale.num-prompts": "4",
    "scale.group-size": "2",
    "scale.max-new": "6",
    "evaluation.every": "2",
    "evaluation.num-samples": "1",
    "evaluation.final-samples": "1",
    "saving.every": "1",
    "saving.keep": "9",
    "saving.rollouts-every": "1",
    "machine.threads": "1",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "small"
    tokenizer = character_tokenizer(ALPHABET + "\n")
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 192, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("data")), folder)
    return folder


def line(model: Path, run: Path, *more: str, steps: int = 2) -> list[str]:
    small = [part for name, value in SMALL.items() for part in (f"--{name}", value)]
    base = ["train", "grpo", "--model", str(model), "--data", str(EXAMPLE), "--steps", str(steps), "--run", str(run)]
    return [*base, *small, "--quiet", *more]


def prompts_of(run: Path, step: int) -> list[str]:
    """Of each group."""
    columns = read_rollouts(file_of(run / "rollouts", step), ["group", "prompt"])
    return list(dict(zip(columns["group"], columns["prompt"], strict=True)).values())


@pytest.mark.slow
def test_a_run_on_a_file_and_its_continuation_bit_for_bit(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(capsys)
    reply = shell(*line(model, tmp_path / "whole", steps=4))
    assert reply.code == 0, reply.err
    assert "62 rows; questions in 'question', answers in 'answer'" in reply.err
    assert "evaluation.final_problems: 256 -> 6 (all rows of 'test')" in reply.err
    stopped = copy_of(tmp_path / "whole", tmp_path / "stopped")
    for step in (3, 4):
        shutil.rmtree(stopped / "ckpt" / f"step-{step:08d}")
    assert RunFolder.read_only(stopped).store.steps()[-1] == 2
    assert json.loads((stopped / "run.json").read_text())["task"] == ["word_problems"]
    assert shell("resume", stopped, "--quiet").code == 0
    assert came_to(stopped) == came_to(tmp_path / "whole")
    asked = [row for step in (1, 2, 3, 4) for row in prompts_of(stopped, step)]
    assert len(asked) == 4 * 4
    assert len(set(asked)) == 16, "no row twice before all 53 were asked"


@pytest.mark.slow
def test_a_run_refuses_a_file_that_changed(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    path = jsonl(tmp_path / "rows.jsonl", sums(40))
    run = tmp_path / "run"
    assert shell(*[str(path) if part == str(EXAMPLE) else part for part in line(model, run)]).code == 0
    jsonl(path, sums(39))
    assay.tasks.data.task.tables.cache_clear()
    reply = shell("resume", run, "--steps", "3")
    assert (reply.code, "the rows of rows have changed" in reply.err) == (ConfigError.exit_code, True)


@pytest.mark.slow
def test_from_python_in_a_few_lines(model: Path, tmp_path: Path) -> None:
    settings_ = {name.replace("-", "_"): value for name, value in SMALL.items()}
    run = assay.train(
        "grpo", model=str(model), data=EXAMPLE, steps=1, settings=settings_, run=tmp_path / "run", quiet=True
    )
    assert [record["step"] for record in run.metrics()] == [1]
    assert run.scores()["before"]["problems"] == 6


@pytest.mark.slow
def test_an_exam_asks_all_rows_or_those_that_a_run_did_not_see(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, run = Shell(capsys), tmp_path / "run"
    assert shell(*line(model, run, steps=1)).code == 0
    few = ("--n", "1", "--max-new", "4", "--json")
    assert shell("eval", model, "--data", EXAMPLE, *few).document["problems"] == 62
    reply = shell("eval", run, "--data", EXAMPLE, *few)
    assert reply.document["problems"] == 6
    assert "56 of 62 rows were used by run" in reply.err and "evaluated on the other 6 only" in reply.err
    policy = next((run / "ckpt").glob("step-*")) / "policy"
    assert shell("eval", policy, "--data", EXAMPLE, *few).document["problems"] == 6
    assert shell("eval", model, "--data", EXAMPLE, "--problems", "5", *few).document["problems"] == 5


@pytest.mark.slow
def test_answers_are_cut_to_what_the_context_leaves(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longest prompt has 156 characters and two marks in 192 positions: 34 are left of 100 asked for, a third."""
    shell = Shell(capsys)
    found = [len(json.loads(row)["question"]) for row in EXAMPLE.read_text().splitlines()]
    room = 192 - (max(found) + 2)
    reply = shell(*line(model, tmp_path / "run", "--scale.max-new", "100", steps=1))
    assert reply.code == 0, reply.err
    assert f"max_new: 100 -> {room} (the context of 192 less the longest prompt" in reply.err
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert document["experiment"]["recipe"]["scale"]["max_new"] == room


def test_the_example_holds_what_it_says() -> None:
    """At least sixty different problems, each with a marked answer, and the traps among them."""
    table = table_of(EXAMPLE)
    golds = [problem.spec["gold"] for problem in table.problems]
    assert len(golds) >= 60
    assert all(problem.solution for problem in table.problems)
    for trap in ("frac", "%", ",", "-", "$", "text{", "pi", "sqrt", "."):
        assert any(trap in gold for gold in golds), trap


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_few_held_out_rows_are_in_both_splits(count: int, tmp_path: Path) -> None:
    """By content alone none of five rows may fall into a fifth: then one is put there."""
    for name, numbers in (("rows", range(100, 120)), ("held", range(count))):
        lines = [json.dumps({"question": f"What is {n} + 1?", "answer": str(n + 1)}) for n in numbers]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    made = data(tmp_path / "rows.jsonl", held_out=tmp_path / "held.jsonl").name
    valid, test = ({row.prompt for row in rows_of(made, split)} for split in ("valid", "test"))
    assert valid and test and not valid & test and len(valid | test) == count


def test_a_single_held_out_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "What is 1 + 1?", "answer": "2"}')
    (tmp_path / "held.jsonl").write_text('{"question": "What is 2 + 1?", "answer": "3"}')
    made = data(tmp_path / "rows.jsonl", held_out=tmp_path / "held.jsonl").name
    with pytest.raises(DataError, match=r"held\.jsonl: 1 row, and held-out rows are at least two"):
        for split in ("valid", "test"):
            task(made).rows_of(split)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"instruction": "1+1?", "input": "", "output": "2"}, "--prompt-column instruction --answer-column output"),
        ({"conversations": [{"from": "human", "value": "1+1?"}]}, "conversations of ShareGPT's form"),
        ({"data": [{"question": "1+1?", "answer": "2"}]}, "`jq .data rows.jsonl` gives them"),
        ({"text": "1+1? 2"}, "Name it with --prompt-column."),
    ],
)
def test_rows_of_a_form_that_others_write_are_told_what_to_do(row: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column holds the question") as told:
        table_of(jsonl(tmp_path / "rows.jsonl", [row]))
    assert words in str(told.value)
