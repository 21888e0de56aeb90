"""Patches: what is read and applied, similarities by hand, and hacks that are not paid."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.methods.shaping.swe_rl.patch import PatchMatch
from assay.part import bind
from assay.rng import Key
from assay.tasks import task
from assay.types import Verdict
from assay.verifiers.patches import Edit, applied, diff, read_edits, similarity
from assay.verifiers.repairs import outputs

BLOCK = "### main\n<<<<<<< SEARCH\nb=a+2\n=======\nb=a+3\n>>>>>>> REPLACE"
FILES = {"main": "a=x+1\nb=a+2\nc=b*a"}
SPEC = {"right": ["a=x+1", "b=a+3", "c=b*a"], "wrong": ["a=x+1", "b=a+2", "c=b*a"], "shown": [[0, 4], [1, 10]]}


def test_blocks_are_read_and_applied_to_whole_lines() -> None:
    edits = read_edits(f"```\n{BLOCK}\n```\n\n{BLOCK.replace('main', 'other')}\n")
    assert edits and edits == [Edit("main", "b=a+2", "b=a+3"), Edit("other", "b=a+2", "b=a+3")]
    assert applied(FILES, edits[:1]) == {"main": "a=x+1\nb=a+3\nc=b*a"}
    assert applied(FILES, [Edit("main", "a=x+1\nb=a+2", "d")]) == {"main": "d\nc=b*a"}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "b=a+3",
            BLOCK + "\nthat is it",
            BLOCK[:-3],
            BLOCK.replace("=======", "===="),
            BLOCK.replace("### main\n", ""),
        ),
        *(
            "\n".join([BLOCK] * 51),
            "x" * 300_000,
            BLOCK.replace("<<<<<<< SEARCH", "<<<<<<< SEARCH\n<<<<<<< SEARCH")[:40],
        ),
    ],
    ids=range(9),
)
def test_what_is_no_block_is_not_read(text: str) -> None:
    assert read_edits(text) is None


@pytest.mark.parametrize(
    "edit",
    [
        Edit("main", "b=a+2", "b=a+2"),
        Edit("main", "a+2", "a+3"),  # no whole line
        Edit("main", "", "d=1"),
        Edit("main", "z=1", "y"),
        Edit("/etc/passwd", "root", ""),
    ],
)
def test_what_cannot_be_applied_is_refused(edit: Edit) -> None:
    assert applied(FILES, [edit]) is None


def test_similarities_by_hand() -> None:
    """'-b=a+2 +b=a+3' and '-b=a+2 +b=a+4' have 13 characters each and share all but the last: 2 * 12 / 26."""
    three, four = ({"main": FILES["main"].replace("a+2", f"a+{n}")} for n in (3, 4))
    assert diff(FILES["main"], three["main"], 0) == "-b=a+2\n+b=a+3"
    assert similarity(FILES, four, three, context=0) == pytest.approx(24 / 26)
    assert similarity(FILES, three, three) == 1.0
    assert similarity(FILES, FILES, three) == 0.0
    assert similarity(FILES, FILES, FILES) == 1.0
    both = {**three, "other": "new"}
    assert similarity(FILES, both, three) == 0.5
    assert similarity(FILES, four, three) > similarity(FILES, four, three, context=0)


@given(st.lists(st.sampled_from(("a", "b", "c")), max_size=6), st.lists(st.sampled_from(("a", "b")), max_size=6))
def test_a_similarity_is_a_share(one: list[str], other: list[str]) -> None:
    files, found, gold = {"f": "a\nb"}, {"f": "\n".join(one)}, {"f": "\n".join(other)}
    assert 0.0 <= similarity(files, found, gold) <= 1.0
    assert similarity(files, gold, gold) == 1.0


@pytest.mark.slow
def test_long_diffs_are_compared_in_time() -> None:
    files = {"f": "\n".join(map(str, range(20_000)))}
    edits = [Edit("f", str(n), "x" * 400 + str(n)) for n in range(0, 20_000, 400)]
    found, gold = applied(files, edits), applied(files, edits[:25])
    assert found and gold and 0.5 < similarity(files, found, gold) < 1.0
    assert applied({"f": "a\nb\n" * 60}, [Edit("f", "a", "c")]) is None


def test_programs_are_computed_by_hand() -> None:
    assert outputs(SPEC["right"]) == [(x + 4) * (x + 1) for x in range(10)]
    for lines in ([], ["a=b+1"], ["a=x/2"], ["a=x+10"], ["a=x+1"] * 9, ["x=1+1"], ["a=x+1;"], ["a=x**9"]):
        assert outputs(lines) is None


RIGHT = ["b=a+2>b=a+3", BLOCK, "b=a+2>b=3+a", "a=x+1>a=x+1", "c=b*a>c=b*a"]
HACKS = [
    "a=x+1>a=x+1",
    "c=b*a>c=4+0",
    "c=b*a>c=x+4",
    "b=a+2>b=a+4",
    "b=a+2>b=a+3\nc=b*a",
    "b=a+2>",
    ">b=a+3",
    "b=a+2",
    "a+2>a+3",
    "b=a+2>b=a+3>b=a+3",
    "b=a+2>b=__import__('os')",
    "b=a+2>b=a+³",
    "b=a+2>b=a+3\x00",
    "b=a+2>b=a+3|",
    BLOCK + "\n" + BLOCK,
    BLOCK.replace("main", "tests"),
    BLOCK.replace("b=a+3", "b=a+3\nd=b+0"),
    "b=a+2>" + "b" * 10_000_000,
    "",
]


@pytest.mark.parametrize("answer", HACKS, ids=range(len(HACKS)))
def test_hacks_are_no_repairs(answer: str) -> None:
    verdict = task("repair").checker.check(SPEC, answer)
    assert verdict.status == "fail" and (verdict.scores["patch"] or 0) < 1.0


def test_right_repairs_pass_however_they_are_written_and_only_the_intended_one_scores_fully() -> None:
    scores = []
    for answer in RIGHT[:3]:
        verdict = task("repair").checker.check(SPEC, answer)
        assert verdict.status == "ok"
        scores.append(verdict.scores["patch"])
    assert scores[0] == scores[1] == 1.0 and 0.5 < (scores[2] or 0) < 1.0


def test_the_task_reads_both_notations_of_its_solution() -> None:
    repair = task("repair")
    for level in repair.generator.levels:
        for seed in range(5):
            problem = repair.problem(Key(seed), level=level)
            assert repair.verify(problem, problem.solution or "").scores == {"patch": 1.0}
            was, now = (problem.solution or "").split(">")
            natural = repair.pose(problem.spec, level=level, wording="natural")
            block = f"\\boxed{{\n### main\n<<<<<<< SEARCH\n{was}\n=======\n{now}\n>>>>>>> REPLACE\n}}"
            assert repair.verify(natural, block).status == "ok"
            assert repair.verify(natural, natural.solution or "").status == "ok"


def test_the_reward_is_the_score_of_an_answer_that_ended() -> None:
    base = dataclasses.replace(episode([1]), verdict=dataclasses.replace(Verdict.fail("wrong"), scores={"patch": 0.75}))
    answers = [base, dataclasses.replace(base, finish="length")]
    answers += [dataclasses.replace(base, verdict=verdict) for verdict in (Verdict.ok(), Verdict.fail("wrong"))]
    assert [reward.value for reward in bind(PatchMatch())(answers)] == [0.75, -1.0, 1.0, -1.0]
