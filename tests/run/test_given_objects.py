"""What a program holds in memory: rows and models, which a run takes, repeats and resumes as if they were files."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import sums
from small_runs import SIZES, Shell, came_to, make_model

import assay
from assay.api import models, rows
from assay.errors import DataError, UsageError

ROWS = [{"question": row["question"], "answer": row["answer"]} for row in sums(60)]
SETTINGS: dict[str, Any] = {name.replace("-", "_"): value for name, value in SIZES.items()}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def graded(completions: list[str], **columns: Any) -> list[float]:
    return [sum(map(ord, text)) % 7 / 6 for text in completions]


def content(place: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(place).read_text().splitlines()]


# Rows


def test_equal_rows_are_one_file_and_others_another(state: Path) -> None:
    one, two = {"a": 1, "b": "x"}, {"a": 2, "b": "y"}
    (first,) = rows.places([one, two])
    assert rows.places(({"b": "x", "a": 1}, two)) == (first,), "the order of keys is none of the content"
    others = [[one], [two, one], [{**one, "a": "1"}, two]]
    assert len({first, *(rows.places(other)[0] for other in others)}) == 4
    assert content(first) == [one, two]
    assert Path(first).parent == state / "given"


def test_a_file_that_was_damaged_is_written_anew() -> None:
    (place,) = rows.places(ROWS)
    whole = Path(place).read_bytes()
    Path(place).write_bytes(whole[:-5])
    assert rows.places(ROWS) == (place,) and Path(place).read_bytes() == whole


class Hue(enum.StrEnum):
    RED = "red"


def test_values_become_what_a_file_can_hold() -> None:
    given = {
        "time": datetime.datetime(2026, 1, 2, 3, 4),
        "day": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.50"),
        "missing": float("nan"),
        "hue": Hue.RED,
        "numbers": (1, 2.5, True, None),
        "array": np.array([[1, 2], [3, 4]]),
        "scalar": np.float32(0.5),
        "inner": {"list": [np.int64(7)]},
    }
    assert content(rows.places([given])[0]) == [
        {
            "time": "2026-01-02T03:04:00",
            "day": "2026-01-02",
            "price": "1.50",
            "missing": None,
            "hue": "red",
            "numbers": [1, 2.5, True, None],
            "array": [[1, 2], [3, 4]],
            "scalar": 0.5,
            "inner": {"list": [7]},
        }
    ]


NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([{"a": 1}, {"a": {1, 2}}], "data: row 1 (the first is row 0), column 'a' is a set. Rows hold text"),
        ([{"a": {"b": [1, b"x"]}}], "row 0 (the first is row 0), column 'a'['b'][1] is a bytes"),
        ([{"a": float("inf")}], "column 'a' is infinite"),
        ([{"a": 1}, 3], "row 1 (the first is row 0) is an int, and a row is a dictionary"),
        ([{1: "x"}], "has a column 1, an int: names of columns are text"),
        ([{"a": {2: "x"}}], "column 'a' has a key 2, an int"),
        ([{"a": "\ud800"}], "half of a surrogate pair"),
        ([{"a": NESTED}], "is nested too deeply"),
        ([{"a": object()}], "column 'a' is an object"),
    ],
)
def test_what_no_file_can_hold_is_refused_by_row_and_column(data: Any, says: str) -> None:
    with pytest.raises(DataError) as caught:
        rows.places(data)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "data is empty: a list of rows is data=[{"),
        (3, "and not an int"),
        ([3], "and not an int"),
        (
            {"question": ["1"], "answer": ["2"]},
            "[dict(zip(data, row)) for row in zip(*data.values())]",
        ),
        ({"question": "1", "answer": "2"}, "[row], or"),
        (iter(ROWS), "can be read once only: give list(...) of it"),
    ],
)
def test_what_is_no_data_is_answered_with_what_is(data: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        assay.train("grpo", data=data)
    assert says in str(caught.value)


def test_places_stay_and_several_are_one_set(tmp_path: Path) -> None:
    assert rows.places("owner/name:train") == ("owner/name:train",)
    assert rows.places(tmp_path / "a.jsonl") == (str(tmp_path / "a.jsonl"),)
    several = rows.places(["a.jsonl", ROWS, tmp_path / "b.csv"])
    assert several == ("a.jsonl", rows.places(ROWS)[0], str(tmp_path / "b.csv"))


# Objects of other libraries, which are known by their modules and never imported


def pretended(library: str, name: str, **members: Any) -> Any:
    """A class that says it is of this library."""
    return type(name, (), {"__module__": f"{library}.inner", **members})


class Columns(list[str]):
    is_unique = True


def test_frames_and_data_sets_are_the_rows_that_they_hold() -> None:
    (plain,) = rows.places(ROWS)
    pandas = pretended("pandas", "DataFrame", columns=Columns(), to_dict=lambda self, orient: {"records": ROWS}[orient])
    polars = pretended("polars", "DataFrame", to_dicts=lambda self: ROWS)
    hub = pretended("datasets", "Dataset", __iter__=lambda self: iter(ROWS))
    own = type("Own", (polars,), {"__module__": "__main__"})
    loaded = {"pandas", "polars", "datasets"} & sys.modules.keys()
    for made in (pandas(), polars(), hub(), own()):
        assert rows.places(made) == (plain,)
    assert {"pandas", "polars", "datasets"} & sys.modules.keys() == loaded


@pytest.mark.parametrize(
    ("library", "name", "says"),
    [
        ("datasets", "DatasetDict", "name its splits: data=ds['train'], eval_data=ds['test']"),
        ("datasets", "IterableDataset", "list(ds.take(1000))"),
        ("polars", "LazyFrame", "give frame.collect()"),
        ("pandas", "Series", "give a frame"),
        ("torch", "Tensor", "is a list of rows"),
    ],
)
def test_other_objects_of_these_libraries_are_answered(library: str, name: str, says: str) -> None:
    made: Any = type(name, (dict,), {"__module__": f"{library}.inner"})(train=[], test=[])
    with pytest.raises(UsageError) as caught:
        rows.places(made)
    assert says in str(caught.value)


def test_an_arrow_table_is_the_rows_that_it_holds() -> None:
    import pyarrow as pa

    assert rows.places(pa.Table.from_pylist(ROWS)) == rows.places(ROWS)


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
def test_real_objects_of_these_libraries(library: str) -> None:
    module: Any = pytest.importorskip(library)
    made = module.Dataset.from_list(ROWS) if library == "datasets" else module.DataFrame(ROWS)
    assert rows.places(made) == rows.places(ROWS)


# Models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture
def pair(folder: Path) -> tuple[Any, Any]:
    transformers: Any = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder))
    return model, transformers.AutoTokenizer.from_pretrained(str(folder))


def weights(model: Any) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in model.state_dict().items()}


@pytest.mark.slow
def test_a_model_is_written_once_and_another_one_beside_it(pair: tuple[Any, Any]) -> None:
    import torch

    model, tokenizer = pair
    place = Path(models.named(pair))
    assert models.named(model, tokenizer) == str(place)
    assert [path.name for path in place.parent.glob("model-*")] == [place.name]
    written = {path: path.stat().st_mtime_ns for path in place.iterdir()}
    assert models.named(pair) == str(place) and {p: p.stat().st_mtime_ns for p in place.iterdir()} == written
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] += 1
    assert models.named(pair) != str(place)
    assert not list(place.parent.glob(".tmp-*"))


@pytest.mark.parametrize(
    ("model", "tokenizer", "says"),
    [
        (3, None, "and not an int"),
        ("folder", object(), "leave tokenizer out"),
        ((1, 2, 3), None, "a tuple of 3"),
    ],
)
def test_what_is_no_model_is_refused(model: Any, tokenizer: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        assay.train("grpo", task="countdown", model=model, tokenizer=tokenizer)
    assert says in str(caught.value)


@pytest.mark.slow
def test_a_model_needs_its_tokenizer_and_a_fast_one(pair: tuple[Any, Any]) -> None:
    slow = type("Slow", (), {"is_fast": False, "save_pretrained": print})()
    said = {None: "give model=(model, tokenizer), or", 3: "and not an int", slow: "tokenizer.json"}
    for tokenizer, says in said.items():
        with pytest.raises(UsageError) as caught:
            assay.train("grpo", task="countdown", model=pair[0], tokenizer=tokenizer)
        assert says in str(caught.value)
    adapted: Any = type("PeftModel", (), {"__module__": "peft.model"})()
    with pytest.raises(UsageError, match="merge_and_unload"):
        assay.train("grpo", model=adapted, tokenizer=pair[1])


# Runs


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.mark.slow
def test_a_run_on_objects_is_that_on_their_files_and_its_file_repeats_and_resumes_it(
    pair: tuple[Any, Any], shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = weights(pair[0])
    how: dict[str, Any] = {"recipe": "grpo", "reward": graded, "steps": 2, "settings": SETTINGS, "quiet": True}
    run = assay.train(data=ROWS, model=pair, run=tmp_path / "objects", **how)
    assert weights(pair[0]) == before, "the caller's model is only read"
    file, model = rows.places(ROWS)[0], models.named(pair)
    named = assay.train(data=file, model=model, run=tmp_path / "files", **how)
    assert came_to(run.path) == came_to(named.path)
    again = assay.train(config=run / "run.toml", run=tmp_path / "again", trust_code=True, quiet=True)
    assert came_to(again.path) == came_to(run.path)
    assert came_to(run.resume(steps=3, quiet=True).path) == came_to(named.resume(steps=3, quiet=True).path)
    trained, tokenizer = run.load()
    assert weights(trained).keys() == before.keys() and weights(trained) != before
    assert tokenizer.get_vocab() == pair[1].get_vocab()
