"""What counts in a text under constraints, in a patch and in a format: traps that were once accepted."""

from __future__ import annotations

import time

import pytest

from assay.verifiers.formats import formed
from assay.verifiers.instructions import meets
from assay.verifiers.patches import Edit, applied, read_edits, similarity
from assay.verifiers.repairs import verdict_of


@pytest.mark.parametrize(
    ("kind", "text", "count"),
    [
        ("words", "two words", 2),
        ("words", "- - . two ... words —", 2),  # dashes and dots are no words
        ("words", "state-of-the-art 3.14", 2),
        ("words", "日本 語", 2),
        ("sentences", "One. Two! Three? Four...", 4),
        ("sentences", "One . . ! ? Two.", 2),  # stops without words
        ("sentences", "He said no. Then he left.", 2),
        ("sentences", 'He said: "It costs 3.50." She paid (at once.) Why?!', 3),
        ("sentences", "Dr. Who saw e.g. a cat.", 1),
        ("sentences", "This is for Mr.", 1),  # at the end of the text it is the end
        ("sentences", "no stop at the end", 0),
        ("paragraphs", "a\n\nb\n \nc\r\n\r\nd\n\n\n\ne", 5),
        ("paragraphs", "a\n\n\u200b\n\n---\n\nb", 2),  # nothing, or a rule, is no paragraph
        ("bullets", "- a\n  * b\n- \n* * *\n-c\n- - -", 2),
    ],
)
def test_only_what_says_something_is_counted(kind: str, text: str, count: int) -> None:
    assert [n for n in range(9) if meets([kind, n], text)] == [count]


@pytest.mark.parametrize("text", ['{"a": NaN}', "Infinity", "[-Infinity]", "{'a': 1}", '{"a": 1} ok'])
def test_what_is_no_json(text: str) -> None:
    assert not meets(["json"], text) and meets(["json"], '{"a": 1e5}')


def test_space_around_a_text_hides_neither_its_start_nor_its_end() -> None:
    assert meets(["starts", "Dear"], "\n Dear me.\n") and meets(["ends", "me."], "\n Dear me.\n")
    assert not meets(["starts", "ear"], "\n Dear me.\n") and not meets(["ends", "me"], "\n Dear me.\n")


@pytest.mark.parametrize(
    "text",
    ["." * 199_999 + "x", "Dr. " * 49_999, " " * 100_000 + "Dr. " * 24_000, '."' * 99_000 + "x", "\n " * 99_000 + "x"],
    ids=range(5),
)
def test_a_text_is_counted_in_a_time_that_grows_with_its_length(text: str) -> None:
    """A quadratic check would need minutes."""
    began = time.process_time()
    assert not any(meets([kind, 7], text) for kind in ("words", "sentences", "paragraphs", "bullets"))
    assert time.process_time() - began < 10


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_a_line_feed_ends_a_line_of_a_patch(sign: str) -> None:
    files, gold = {"main": "a\nb"}, {"main": "a\nc\nd"}
    edits = read_edits(f"### main\n<<<<<<< SEARCH\nb\n=======\nc{sign}d\n>>>>>>> REPLACE")
    assert edits == [Edit("main", "b", f"c{sign}d")]
    found = applied(files, edits or [])
    assert found == {"main": f"a\nc{sign}d"} and similarity(files, found or {}, gold, context=0) < 1.0
    assert verdict_of(["a=x+1", "b=a+2"], ["a=x+1", "b=a+3"], f"a=x+1\nb=a+2>a=x+1{sign}b=a+3").status == "fail"


def test_a_patch_with_lines_of_a_dos_file_is_read() -> None:
    assert read_edits("### main\r\n<<<<<<< SEARCH\r\nb\r\n=======\r\nc\r\n>>>>>>> REPLACE\r\n") == [
        Edit("main", "b", "c")
    ]


@pytest.mark.parametrize(
    "hidden",
    ["< answer >", "</ think>", "<an\u200bswer>", "<\u2060think>", "<an\u00adswer>", "<answer\n>", "<think\u0301>"],
)
def test_a_second_mark_is_seen_through_spaces_and_unseen_characters(hidden: str) -> None:
    good = "<think>so {}</think> <answer>\\boxed{{7}}</answer>"
    assert formed(good.format("7 < 8"), "natural") and formed(good.format(hidden), "natural") is None
