"""`assay data curate`: what lies near in meaning, what a judge says of it, and what all solutions agree on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import jsonl, problems_of
from fake_judge import Act, blocks, serving
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell

from assay.errors import StorageError, UsageError
from assay.lab.data_curate import Rules, answers_of, contaminated, not_unanimous, too_easy
from assay.policy.sentences import Sentences, nearest
from assay.verifiers.judges.endpoint import MODEL, URL

TEXT = "what is the sum of two and three find it compute product four seven a prime how many days has week"
WORDS = [str(word) for word in TEXT.split()]  # the words that the model of these tests knows
HELD = "What is the sum of two and three?"
OTHER_WORDS = "Find the sum of three and two."
FRESH = "How many days has a week?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-embedding model of some thousand weights, in a folder as the Hub has them."""
    transformers = pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    place = tmp_path_factory.mktemp("sentences")
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(place)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=16, **sizes)
    network = transformers.BertModel(config)
    for name, weights in network.embeddings.named_parameters():  # places of words say nothing, words nearly all
        if "position" in name or "token_type" in name:
            torch.nn.init.zeros_(weights)
        elif "word" in name:
            torch.nn.init.normal_(weights)
    network.save_pretrained(place)
    return place


# --- vectors ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_vectors_have_length_one_and_do_not_depend_on_the_other_texts(model: Path) -> None:
    embed = Sentences(str(model))
    texts = [HELD, "seven", FRESH, OTHER_WORDS, "", "a prime " * 500]
    whole = embed(texts)
    np.testing.assert_allclose(np.linalg.norm(whole[:4], axis=1), 1.0, atol=1e-6)
    assert np.isfinite(whole).all()
    for i, text in enumerate(texts):
        np.testing.assert_allclose(embed([text])[0], whole[i], atol=1e-5)
    assert embed([]).shape == (0, 32)


@pytest.mark.slow
def test_the_mean_is_over_the_tokens_and_not_over_the_padding(model: Path) -> None:
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(model).eval()
    ids = [WORDS.index(word) + 2 for word in ["find", "the", "sum"]]
    with torch.inference_mode():
        states = network(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
    expected = states.mean(0) / np.linalg.norm(states.mean(0))
    found = Sentences(str(model))(["Find the sum", f"{HELD} {HELD}"])[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_what_is_no_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(StorageError, match=r"no sentence-embedding model.*such as sentence-transformers/"):
        Sentences(str(tmp_path))


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 6), st.integers(0, 99))
def test_the_nearest_are_those_of_a_sort(rows: int, others: int, count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    one, two = draw.integers(-2, 3, (rows, 3)).astype(float), draw.integers(-2, 3, (others, 3)).astype(float)
    places, cosines = nearest(one, two, count)
    for i in range(rows):
        products = [sum(a * b for a, b in zip(one[i], other, strict=True)) for other in two]
        order = sorted(range(others), key=lambda j: (-products[j], j))[:count]
        assert places[i].tolist() == order and cosines[i].tolist() == [products[j] for j in order]


# --- decontamination ----------------------------------------------------------------------------------------


def by_words(texts: Sequence[str]) -> np.ndarray:
    """Vectors that count words."""
    said = [text.lower().strip("?. ").split() for text in texts]
    table = np.array([[one.count(word) for word in WORDS] for one in said], dtype=float)
    return table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)


def asked(tmp_path: Path, *texts: str) -> tuple[Any, Rules]:
    rows = problems_of(jsonl(tmp_path / "raw.jsonl", [{"question": text, "answer": "5"} for text in texts]))
    held = jsonl(tmp_path / "exam.jsonl", [{"question": HELD, "answer": "5"}, {"question": "Add.", "answer": "1"}])
    return rows, Rules(held_out=(str(held),), embedder="-")


def test_other_words_are_found_and_other_problems_stay(tmp_path: Path) -> None:
    rows, rules = asked(tmp_path, f"  {HELD.upper()} ", OTHER_WORDS, FRESH)
    found = contaminated(rows, Rules(**{**vars(rules), "alike": 0.6}), embed=by_words)
    assert set(found) == {0, 1} and found[0] == "row 1" and "cosine" in found[1]
    assert set(contaminated(rows, rules, embed=by_words)) == {0}  # the same words, whatever the threshold
    assert contaminated(rows, Rules(), embed=by_words) == {}
    with pytest.raises(UsageError, match="--embedder"):
        contaminated(rows, Rules(held_out=rules.held_out))


def test_one_yes_of_the_judge_drops_a_row_and_no_answer_is_no_clean_bill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge is asked about each of the nearest, whatever their cosine."""

    def script(count: int, body: dict[str, Any]) -> Act:
        found = blocks(body)
        if "prime" in found["candidate"]:
            return Act(status=400)
        same = found["problem"] == HELD and "sum" in found["candidate"]
        return Act(text=json.dumps({"verdict": same}))

    rows, rules = asked(tmp_path, OTHER_WORDS, FRESH, "Find a prime.")
    with serving(script) as server:
        monkeypatch.setenv(URL, server.url)
        monkeypatch.setenv(MODEL, "judge")
        found = contaminated(rows, Rules(**{**vars(rules), "judge": True}), embed=by_words)
        assert len(server.bodies) == 6  # two held-out problems for each of three rows
    assert set(found) == {0, 2}
    assert found[0] == "row 1" and "the judge did not decide" in found[2]


# --- difficulty and answers ---------------------------------------------------------------------------------


def test_difficulty_is_a_number_or_the_mean_of_ratings(tmp_path: Path) -> None:
    said: list[Any] = [5, [4, 6, 5], [4, 5], 4.9, None, "hard", []]
    lines = [{"question": f"{i}?", "answer": "1", "difficulty": one} for i, one in enumerate(said)]
    rows = problems_of(jsonl(tmp_path / "raw.jsonl", lines))
    assert set(too_easy(rows, Rules(difficulty=5.0))) == {2, 3, 4, 5, 6}
    assert too_easy(rows, Rules()) == {}


def solved(*answers: str | None, gold: str | None = None) -> dict[str, Any]:
    texts = ["It is hard." if one is None else f"So it is \\boxed{{{one}}}." for one in answers]
    return {"question": f"{answers} {gold}?", "solutions": texts, **({"final_answer": gold} if gold else {})}


@pytest.mark.slow
def test_all_solutions_and_the_reference_must_agree(tmp_path: Path) -> None:
    lines = [
        (solved("1/2", "0.5", "\\frac{1}{2}"), ""),
        (solved("1/2", "0.5", "\\frac{2}{4}", gold="0.50"), ""),
        (solved("1/2", "1/2", "1/3"), "disagree"),
        (solved("1/2", "1/2", "1/2", gold="2"), "disagree"),
        (solved("1/2", "1/2"), "fewer than 3"),
        (solved("1/2", "1/2", "1/2", None), "without a marked answer"),
        (solved("x+1", "1+x", "x + 1"), ""),
        ({"question": "none?", "answer": "3"}, "fewer than 3"),
        (
            {"question": "as published?", **{f"r1_solution_{n}": "\\boxed{7}" for n in (1, 2, 3)}, "final_answer": "7"},
            "",
        ),
        ({"question": "odd?", "solutions": "\\boxed{7}"}, "fewer than 3"),
    ]
    rows = problems_of(jsonl(tmp_path / "raw.jsonl", [line for line, _ in lines]))
    found = not_unanimous(rows, Rules())
    assert [i in found for i in range(len(lines))] == [bool(why) for _, why in lines], found
    assert [i for i, (_, why) in enumerate(lines) if why and why not in found[i]] == [], found
    assert answers_of(rows[2]) == (None, ["1/2", "1/2", "1/3"])


@pytest.mark.slow
@given(st.permutations([0, 1, 2]))
def test_the_order_of_solutions_is_no_reason(order: list[int]) -> None:
    from assay.tasks.data.rows import Problem

    def row(*answers: str) -> Problem:
        texts = [f"\\boxed{{{answers[i]}}}" for i in order]
        return Problem("data:x", "?", {"gold": None, "row": 1, "columns": {"solutions": texts}}, "?")

    assert not_unanimous([row("2", "2.0", "4/2"), row("2", "2.0", "3")], Rules()).keys() == {1}


# --- the command --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_is_curated_and_trains(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = jsonl(tmp_path / "raw.jsonl", [
        {**solved("5", "5.0", "5"), "question": HELD, "topic": "sums"},
        {**solved("7", "7", "7.0"), "question": FRESH, "topic": "days"},
        {**solved("7", "8", "7"), "question": "How many seven?", "topic": "days"},
    ])  # fmt: skip
    exam = jsonl(tmp_path / "exam.jsonl", [{"question": OTHER_WORDS, "answer": "5"}])
    into, shell = tmp_path / "kept.jsonl", Shell(capsys)
    line = ("data", "curate", raw, "--eval-data", exam, "--embedder", model, "--alike", "0.7", "--into", into)
    found = shell(*line, "--json").document
    assert (found["rows"], found["written"]) == (3, 1), found
    assert found["stages"] == {"contaminated": 1, "answers": 1}
    (kept,) = map(json.loads, into.read_text().splitlines())
    assert (kept["prompt"], kept["final_answer"], kept["topic"]) == (FRESH, "7", "days")
    (problem,) = problems_of(into)
    assert problem.spec["gold"] == "7" and problem.solution == "So it is \\boxed{7}."
    assert "exists already" in shell(*line).err
    assert "not of `assay data tests`" in shell("data", "tests", raw, "--judge", "--into", "x").err
    assert "name it with --into" in shell("data", "curate", raw).err
    for wrong, why in ((("--alike", "0"), "--alike is a cosine"), (("--judge",), "with --eval-data"),
                       (("--model", "x"), "not of `assay data curate`")):  # fmt: skip
        assert why in shell("data", "curate", raw, *wrong, "--into", tmp_path / "other.jsonl").err
