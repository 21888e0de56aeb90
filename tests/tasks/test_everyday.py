"""Tasks in everyday words: what they ask, and exact verdicts on answers that a model says in its own words."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from answers import answered
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.record.measure import step_stats
from assay.rng import Key
from assay.tasks import TASKS, figures, objects, sentences, task
from assay.tasks.figures import ADDENDS, EXAMPLES, FACTORS
from assay.tasks.said import PHRASES, gives_number, names_one, words_of
from assay.tasks.task import SPLITS, Split
from assay.tasks.verifying import verify
from assay.tasks.vocabulary import KIND, NAMES, OPPOSITE, PAST, PLURAL
from assay.tasks.words import KINDS, WORDS
from assay.types import Problem, Reward
from bench import base_rates

LIMIT = 0.05
UNMARKED = [name for name in TASKS if TASKS[name].wordings.unmarked]
ASKED = [{"kind": kind.name, "word": word} for kind in KINDS.values() for word in kind.questions]
LEVEL = {kind.name: level for level, kind in KINDS.items()}
SAYINGS = ("{}", "{}.", '"{}"', "The answer is {}.", "It is called {}!", "**{}**", "the {}\n")


def problem(name: str, level: int, seed: int = 0) -> Problem:
    return task(name).problem(Key(seed, name, level), level=level, wording="natural")


def posed(kind: str, word: str) -> Problem:
    return WORDS.pose({"kind": kind, "word": word}, level=1, wording="natural")


def judged(kind: str, word: str, text: str) -> str:
    return WORDS.verify(posed(kind, word), text).status


def test_a_response_without_a_mark_is_judged_whole_in_natural_wording_alone() -> None:
    asked = {wording: WORDS.problem(Key(0), level=1, wording=wording) for wording in ("compact", "natural")}
    gold = asked["natural"].solution or ""
    assert asked["compact"].solution == gold and "#" not in gold and "boxed" not in gold
    assert WORDS.traces(asked["natural"]) == [gold]
    assert WORDS.verify(asked["natural"], f"thoughts # {gold}").status == "fail"
    assert WORDS.verify(asked["compact"], f"thoughts # {gold}").status == "ok"
    assert WORDS.verify(asked["natural"], f" {gold}\n").status == "ok"
    assert WORDS.verify(asked["natural"], f"\\boxed{{{gold}}}").status == "ok"
    assert WORDS.verify(asked["natural"], " ").kind == "empty"


# --- words: what is asked --------------------------------------------------------------------------------------------


def test_a_word_is_asked_for_in_one_kind_and_one_split() -> None:
    words = Counter(spec["word"].lower() for spec in ASKED)
    assert max(words.values()) == 1 and len(words) == len(ASKED) > 600
    assert all(len(kind.questions) >= 80 for kind in KINDS.values())


def test_splits_hold_five_one_and_two_of_eight() -> None:
    for kind in KINDS.values():
        held = Counter(WORDS.split_of({"kind": kind.name, "word": word}) for word in kind.questions)
        for split, share in (("train", 5), ("valid", 1), ("test", 2)):
            assert held[split] == pytest.approx(len(kind.questions) * share / 8, abs=4), kind.name


def test_both_words_of_a_pair_of_opposites_are_in_one_split() -> None:
    listed = list(OPPOSITE)
    for first, second in zip(listed[::2], listed[1::2], strict=True):
        assert second in OPPOSITE[first] and first in OPPOSITE[second]
        splits = {WORDS.split_of({"kind": "opposite", "word": word}) for word in (first, second)}
        assert len(splits) == 1


def test_no_question_is_answered_by_itself_or_by_words_that_are_set_aside() -> None:
    """Else an answer could not be told from the question, or from a phrase around it."""
    for spec in ASKED:
        if spec["kind"] == "kind":
            continue
        for answer in KINDS[LEVEL[spec["kind"]]].questions[spec["word"]]:
            words = set(words_of(answer) or ())
            assert words and not words & (PHRASES | set(words_of(spec["word"]) or ())), spec
            assert " ".join(words_of(answer) or ()) == answer.lower()


def test_regular_forms_follow_the_rules_of_spelling() -> None:
    """An oracle for the lists: a form that ends as a regular one is spelled as the rules say."""
    for verb, forms in PAST.items():
        for form in (f for f in forms if f.endswith("ed") and verb not in ("feed", "lead")):
            stem = verb[:-1] + "i" if verb[-1] == "y" and verb[-2] not in "aeiou" else verb.removesuffix("e")
            assert form in (f"{stem}ed", f"{stem}{stem[-1]}ed"), verb
    for noun, forms in PLURAL.items():
        for form in (f for f in forms if f.startswith(noun) and f not in ("oxen", "children", "grandchildren")):
            hissing = noun.endswith(("s", "x", "z", "ch", "sh"))
            assert form in ((f"{noun}es", f"{noun}zes", f"{noun}ses") if hissing else (f"{noun}s", f"{noun}es")), noun


def test_kinds_are_equally_many_in_every_split() -> None:
    assert len({kind for (kind,) in KIND.values()}) == 29 and set(Counter(KIND.values()).values()) == {8}
    for split, share in (("train", 5), ("valid", 1), ("test", 2)):
        inside = Counter(KIND[word] for word in KIND if WORDS.split_of({"kind": "kind", "word": word}) == split)
        assert set(inside.values()) == {share}, "a constant is right for one question of 29"


@pytest.mark.parametrize("split", SPLITS)
def test_no_constant_is_right_for_a_twentieth_of_the_questions(split: Split) -> None:
    """By enumeration of the questions and of all accepted answers. Splits with few questions hold few answers twice."""
    for kind in KINDS.values():
        inside = [w for w in kind.questions if WORDS.split_of({"kind": kind.name, "word": w}) == split]
        counts = Counter(answer for word in inside for answer in set(kind.questions[word]))
        assert max(counts.values()) / len(inside) < LIMIT or max(counts.values()) == 1, kind.name


# --- words: what is right --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "word", "text"),
    [
        ("past", "drink", 'The past tense of "drink" is "drank."'),
        ("past", "send", 'The past tense of "send" was sent.'),
        ("past", "learn", "learnt"),
        ("past", "go", "went. So the answer is went"),
        ("plural", "half", 'The plural of the word "half" is halves.'),
        ("opposite", "closed", 'the opposite of "closed" is "open".'),
        ("capital", "Japan", "The capital of Japan is Tokyo."),
        ("capital", "Peru", "Lima is the capital of Peru."),
        ("capital", "Argentina", "Buenos Aires"),
        ("capital", "Brazil", "Bras\u00edlia"),
        ("capital", "Haiti", "The capital of Haiti is Port-au-Prince."),
        ("kind", "trout", "A trout is a freshwater fish."),
        ("kind", "aluminum", "This is a type of metal."),
        ("kind", "elbow", "It is a part of the body."),
        ("kind", "lion", "A lion is a mammal."),
    ],
)
def test_answers_that_are_right(kind: str, word: str, text: str) -> None:
    assert judged(kind, word, text) == "ok"


@pytest.mark.parametrize(
    ("kind", "word", "text"),
    [
        ("past", "drink", 'The past tense of the verb "drink" is "drinked" or "drank"'),
        ("past", "drink", "drank, drunk"),
        ("past", "drink", "drink drank drunk"),
        ("past", "drink", "drink drinks drinking drank"),
        ("past", "learn", "learned learnt"),
        ("past", "drink", "drink"),
        ("past", "drink", "The past tense of drink is not drank."),
        ("past", "go", "went 1"),
        ("past", "go", "w e n t"),
        ("past", "go", "wentgoed"),
        ("past", "go", "\uff57\uff45\uff4e\uff54"),
        ("past", "go", "went \u0433\u043e"),
        ("past", "go", "went " * 100),
        ("opposite", "hot", "cold, warm, cool"),
        ("opposite", "hot", "hot"),
        ("capital", "Japan", "Kyoto or Tokyo"),
        ("capital", "Argentina", "Buenos"),
        ("capital", "Argentina", "Aires Buenos"),
        ("kind", "trout", "A trout is a fish, an animal."),
        ("kind", "trout", "animal bird fish insect"),
        ("kind", "trout", "It is not a fish."),
        ("kind", "trout", "It isn't a fish."),
        ("kind", "trout", "A trout."),
        ("kind", "red", "red red red"),
    ],
)
def test_answers_that_are_wrong(kind: str, word: str, text: str) -> None:
    assert judged(kind, word, text) == "fail"


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(spec=st.sampled_from(ASKED), saying=st.sampled_from(SAYINGS), data=st.data())
def test_the_gold_wins_however_it_is_said_and_no_list_of_candidates_does(spec, saying, data) -> None:
    kind, word = spec["kind"], spec["word"]
    gold = KINDS[LEVEL[kind]].questions[word]
    asked = posed(kind, word)
    for answer in gold:
        assert WORDS.verify(asked, saying.format(answer)).status == "ok"
    everything = sorted({a for answers in KINDS[LEVEL[kind]].questions.values() for a in answers} - {*gold})
    others = data.draw(st.lists(st.sampled_from(everything), min_size=1, max_size=6, unique=True))
    candidates = data.draw(st.permutations([*others, gold[0]]))
    for joint in (", ", " or ", " is ", ". ", "\n", " and ", "/"):
        assert WORDS.verify(asked, saying.format(joint.join(candidates))).status == "fail"


def test_naming_all_candidates_of_a_level_is_wrong_for_every_question() -> None:
    for spec in ASKED:
        kind = KINDS[LEVEL[spec["kind"]]]
        pool = sorted({answer for answers in kind.questions.values() for answer in answers})
        assert judged(spec["kind"], spec["word"], ", ".join(pool[:25])) == "fail"
        own = kind.questions[spec["word"]]
        if len(own) > 1:
            assert judged(spec["kind"], spec["word"], " or ".join(own)) == "fail"


def test_words_are_read_without_accents_and_in_small_letters() -> None:
    assert words_of("\u201cS\u00e3o Paulo\u2019s\u201d") == ["sao", "paulo"]
    assert words_of("Port-au-Prince") == ["port", "au", "prince"]
    assert words_of("\u0430") is None and words_of("a" * 301) is None
    assert names_one("New Delhi New Delhi", ("New Delhi",)) == "New Delhi"
    assert names_one("New New Delhi Delhi", ("New Delhi",)) is None
    assert names_one("", ("a",)) is names_one("the answer is", ("b",)) is None
    assert NAMES["mammals"] == "animal"


# --- sentence --------------------------------------------------------------------------------------------------------

GIVEN = {"words": ["music", "island", "table"]}
HACK = "The music, island, and table are music, island, and table."


@pytest.mark.parametrize(
    ("text", "plain", "strict"),
    [
        (HACK, True, False),
        ("The music, island, and table are here.", True, False),
        ("The music, island, and table are very nice things to see today.", True, False),
        ("Music played on the island while Ava set the table.", True, True),
        ("The music of the island shook the old table, said Ava.", True, True),
        ("The music of the island shook the table.", True, False),  # two words that tell more, for three that are given
        ("Music! The island has a table.", False, False),
        ("music played on the island while Ava set the table.", False, False),
        ("Music played on the island while Ava set the table", False, False),
        ("Music played on the islands while Ava set the table.", False, False),
        ("Music played on the island\nwhile Ava set the table.", False, False),
        ("Music played on the island while Ava set the tablecloth.", False, False),
        ("\u201cMusic played on the island while Ava set the table.\u201d", True, True),
        ("Music played on the island while " + "very " * 100 + "old Ava set the table.", False, False),
    ],
)
def test_the_rules_of_both_sentences(text: str, plain: bool, strict: bool) -> None:
    for name, right in (("sentence", plain), ("sentence-strict", strict)):
        assert (TASKS[name].checker.check(GIVEN, text).status == "ok") == right, name


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9), level=st.integers(2, 5), order=st.randoms())
def test_repeating_the_words_wins_the_plain_rules_and_no_order_of_it_the_strict_ones(seed, level, order) -> None:
    words = list(problem("sentence", level, seed).spec["words"])
    order.shuffle(words)
    listed = f"{', '.join(words[:-1])}, and {words[-1]}"
    for text in (f"The {listed} are {listed}.", f"The {listed} are in the {words[0]}.", f"A {listed} were there."):
        assert TASKS["sentence"].checker.check({"words": words}, text).status == "ok"
        assert TASKS["sentence-strict"].checker.check({"words": words}, text).status == "fail"


def test_the_two_counts_of_a_sentence() -> None:
    scores = TASKS["sentence"].checker.check(GIVEN, HACK).scores
    assert scores == {"repeats": 1.0, "others": 3.0}  # the, and, are
    assert TASKS["sentence-strict"].checker.check(GIVEN, HACK).scores == scores
    assert TASKS["sentence"].checker.check(GIVEN, "Music played on the island near a table.").scores == {
        "repeats": 0.0,
        "others": 5.0,  # played, on, the, near, a
    }
    assert TASKS["sentence"].checker.check(GIVEN, "No.").scores == {}


def test_a_step_reports_both_counts_as_means_over_the_answers_that_keep_the_plain_rules() -> None:
    asked = TASKS["sentence"].pose(GIVEN, level=3, wording="natural")
    texts = (HACK, "Music played on the island near a table.", "No.")
    episodes = [answered(asked, text, sample=i) for i, text in enumerate(texts)]
    judged = zip(episodes, verify(episodes), strict=True)
    paid = [dataclasses.replace(e, verdict=v, rewards=(Reward("outcome", float(v.status == "ok")),)) for e, v in judged]
    stats = step_stats(paid, ())
    assert (stats["reward/repeats/mean"], stats["reward/others/mean"]) == (0.5, 4.0)


def test_the_words_of_a_sentence_are_never_among_those_of_its_worked_solution() -> None:
    pieces = {word for piece in sentences._GOLD for word in piece.lower().split()}
    assert not pieces & {*sentences.POOL} and not {*sentences.POOL} & sentences.FUNCTION
    assert len({*sentences.POOL}) == len(sentences.POOL) > 80


# --- object ----------------------------------------------------------------------------------------------------------

FIELDS = {"fields": {"name": "Ava", "age": 1, "open": True}}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"name": "Ava", "age": 1, "open": true}', "ok"),
        ('{"open":true,"age":1,"name":"\\u0041va"}', "ok"),
        ('```json\n{"name": "Ava", "age": 1, "open": true}\n```', "ok"),
        ('```\n{\n  "name": "Ava",\n  "age": 1,\n  "open": true\n}\n```', "ok"),
        ('```python\n{"name": "Ava", "age": 1, "open": true}\n```', "format"),
        ('Here: {"name": "Ava", "age": 1, "open": true}', "format"),
        ('{"name": "Ava", "age": 1, "open": true} Done.', "format"),
        ('{"name": "Ava", "age": 2, "age": 1, "open": true}', "format"),
        ('{"name": "Ava", "age": NaN, "open": true}', "format"),
        ("{'name': 'Ava', 'age': 1, 'open': true}", "format"),
        ('{"name": "Ava", "age": 1, "open": true,}', "format"),
        ('{"name": "Ava", "age": 1, "open": True}', "format"),
        ('{"name": "Ava", "age": 1.0, "open": true}', "wrong"),
        ('{"name": "Ava", "age": true, "open": true}', "wrong"),
        ('{"name": "Ava", "age": 1, "open": 1}', "wrong"),
        ('{"name": "Ava", "age": "1", "open": true}', "wrong"),
        ('{"name": "Ava", "age": 1}', "wrong"),
        ('{"name": "Ava", "age": 1, "open": true, "city": "Rome"}', "wrong"),
        ('{"name": "ava", "age": 1, "open": true}', "wrong"),
        ('[{"name": "Ava", "age": 1, "open": true}]', "wrong"),
        ("1", "wrong"),
        ("[" * 900, "format"),
        ("[" * 5000, "format"),
    ],
)
def test_an_object_is_read_strictly(text: str, status: str) -> None:
    verdict = TASKS["object"].checker.check(FIELDS, text)
    assert (verdict.kind or verdict.status) == status


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9), level=st.integers(2, 6), data=st.data())
def test_an_object_with_one_field_changed_or_left_out_is_wrong(seed, level, data) -> None:
    fields = problem("object", level, seed).spec["fields"]
    assert len(fields) == level
    key = data.draw(st.sampled_from(sorted(fields)))
    value = data.draw(st.none() | st.booleans() | st.integers(-5, 3000) | st.text(max_size=5))
    changed = {**fields, key: value}
    if (type(value), value) != (type(fields[key]), fields[key]):
        assert TASKS["object"].checker.check({"fields": fields}, json.dumps(changed)).kind == "wrong"
    assert TASKS["object"].checker.check({"fields": fields}, json.dumps(changed | {key: fields[key]})).status == "ok"
    del changed[key]
    assert TASKS["object"].checker.check({"fields": fields}, json.dumps(changed)).kind == "wrong"


def test_no_object_is_right_often() -> None:
    """The likeliest values: both flags, at the level of two fields: 1 of 66 pairs of keys, 1 of 4 of values."""
    assert 1 / math.comb(len(objects.KEYS), 2) / 4 < LIMIT


# --- times and sums --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("56", True),
        ("56.", True),
        ("7 times 8 is 56.", True),
        ("8 x 7 = 56", True),
        ("7*8=56, hence 56", True),
        ("The result is 56.", True),
        ("\\boxed{56}", True),
        ("55 56", False),
        ("54 or 56", False),
        ("7 8", False),
        ("-56", False),
        ("56.0", False),
        ("156", False),
        ("7 times 9 is 56", False),
        ("7 8 9 56", False),
        ("\uff15\uff16", False),
        ("\uff15\uff16 56", False),
        ("fifty-six", False),
        ("56 " * 150, False),
        ("", False),
    ],
)
def test_one_number_is_given(text: str, right: bool) -> None:
    assert gives_number(text, 56, (7, 8)) == right


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    first=st.integers(0, 99), second=st.integers(0, 99), others=st.lists(st.integers(0, 9999), min_size=1, max_size=5)
)
def test_no_list_of_numbers_gives_one(first: int, second: int, others: list[int]) -> None:
    value = first * second
    assert gives_number(f"{first} times {second} is {value}", value, (first, second))
    if {*others} != {value}:
        for order in itertools.islice(itertools.permutations([*others, value]), 24):
            said = " ".join(map(str, order))
            terms_first = sorted(order[:2]) == sorted((first, second)) and {*order[2:]} == {value}
            assert gives_number(said, value, (first, second)) == terms_first


@pytest.mark.parametrize("level", FACTORS)
def test_no_product_is_frequent(level: int) -> None:
    """Products are drawn uniformly, so that a constant is right in one case of as many as there are products."""
    products = {math.prod(pair) for pair in itertools.product(*FACTORS[level])}
    drawn = [math.prod(figures._factors(Key(seed, level).generator(), level)["terms"]) for seed in range(300)]
    assert {*drawn} <= products and 1 / len(products) < LIMIT
    assert max(Counter(drawn).values()) / 300 < LIMIT


@pytest.mark.parametrize("level", [1, 2])
def test_no_sum_is_frequent_and_no_example_is_asked(level: int) -> None:
    pairs = [pair for pair in itertools.product(*ADDENDS[level]) if pair not in EXAMPLES[level]]
    assert max(Counter(map(sum, pairs)).values()) / len(pairs) < LIMIT
    assert all(pair in itertools.product(*ADDENDS[level]) for pair in EXAMPLES[level])
    assert tuple(problem("sums", level).spec["terms"]) not in EXAMPLES[level]
    for a, b in EXAMPLES[level]:
        assert f"{a} + {b} = {a + b}\n" in str(problem("sums", level).prompt)


# --- base rates ------------------------------------------------------------------------------------------------------


def test_the_page_shows_what_was_measured_on_a_pretrained_model() -> None:
    result = json.loads(base_rates.RESULT.read_text())
    page = Path(__file__).resolve().parents[2].joinpath("docs", "tasks.md").read_text()
    assert base_rates.table(result) in page, "python -m bench.base_rates --table prints it"
    assert [row["task"] for row in result["rows"]] == list(base_rates.ROWS)
    assert sum(base_rates.fits(row) for row in result["rows"]) >= 8
    assert {row["task"].partition(":")[0] for row in result["rows"] if base_rates.fits(row)} == set(UNMARKED)
