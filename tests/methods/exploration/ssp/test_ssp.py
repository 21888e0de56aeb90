"""SSP: which questions stand, what they are worth, what takes their place, and runs with a check and without."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import TINY, Letters, episode, policy, recipe_of, register, require_resumable, run

from assay.ask import Sampling
from assay.known import RECIPES
from assay.memory import Memory
from assay.memory.posed import posed
from assay.methods.exploration.ssp.adversarial import Adversarial
from assay.methods.exploration.ssp.keep_valid import VALID, KeepValid
from assay.methods.exploration.ssp.pose_drawn import pose_drawn
from assay.methods.exploration.ssp.solve_valid import SolveValid, solve_valid, stands
from assay.part import bind
from assay.policy import character_tokenizer
from assay.recipe import Recipe
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import ALPHABET, posing_of, task
from assay.tasks.given import GIVEN, Pages
from assay.tasks.search_posed import is_true
from assay.types import Episode, Request, Segment, Verdict

CODEC = character_tokenizer(ALPHABET)
POOL = Pool((Share("search-small", (2,)),))
SEEN = {"start": "Dakif", "ways": "bS", "answer": "Reger"}
SAMPLING = Sampling(40)


def proposal(text: str, number: int = 0) -> Episode:
    """A text in answer to the request for a question whose answer is Reger."""
    asking = task("pose:search-small").pose({"shown": [SEEN], "example": SEEN}, level=2)
    request = Request(asking, CODEC.render(asking.prompt), f"0:{number}", 40, draw=number, role="proposer")
    ids = CODEC.encode(text)
    verdict = task(asking.task).verify(asking, text)
    return Episode(request, (Segment(ids, np.zeros(len(ids), np.int8), version=7),), "stop", text=text, verdict=verdict)


VERDICTS = {"1": Verdict.ok("a"), "0": Verdict.fail("wrong"), "x": Verdict.invalid("bug")}


def said(of: Episode, verdicts: str, tag: str = "") -> list[Episode]:
    """Answers to what an episode poses: 1, 0, or x for an error of ours."""
    made = [episode([1], sample=i, verdict=VERDICTS[one]) for i, one in enumerate(verdicts)]
    about: dict[str, Any] = {"parent": of.request.id, "tag": tag}
    return [dataclasses.replace(e, request=dataclasses.replace(e.request, **about)) for e in made]


def worth(of: Episode, *others: Episode, invalid: float = 0.0) -> float | None:
    (found,) = bind(Adversarial(invalid=invalid))([of], everyone=[of, *others])
    return None if found is None else found.value


# Questions


def test_a_question_is_a_path_or_ten_words_and_never_says_its_answer() -> None:
    read = posing_of(task("search")).read
    words = "Which work is set in the town where the painter Dakif was born"
    assert read("Dakif bS", [SEEN]) is not None and read(words, [SEEN]) is not None
    for text in ("Reger a", "Who is it", f"{words} Reger", "Dakif", "Dakif bS b", "x" * 40, f"{words} " * 20):
        assert read(text, [SEEN]) is None, text
    told = read(words, [SEEN])
    assert told is not None and task("search").pose(told, level=1, wording="natural").prompt.startswith(words)  # type: ignore[union-attr]


def test_what_is_false_can_be_posed_and_only_its_readers_know() -> None:
    true, false = posed(proposal("Dakif bS")), posed(proposal("Dakif b"))
    assert true is not None and false is not None
    assert is_true(true.spec) and not is_true(false.spec) and false.spec["answer"] == "Reger"
    assert false.solution == "Reger" and (true.solution or "").startswith("[o Dakif]")
    nobody = posed(proposal("Nobody bS"))
    assert nobody is not None and not is_true(nobody.spec)


@pytest.mark.parametrize(("name", "wording"), [("search-small", "compact"), ("search", "natural")])
def test_a_reader_has_the_pages_of_the_proposer_and_four_others_and_no_world(name: str, wording: Any) -> None:
    of = task(GIVEN + name)
    problem = of.problem(Key(4), level=2, wording=wording)
    pages = task(name).ability(Pages)
    assert pages is not None and of.world is None
    own = list(pages.of(problem.spec["spec"]))
    assert len(own) == 3 and set(own) < set(problem.spec["pages"]) and len(problem.spec["pages"]) == 7
    assert all(page in str(problem.prompt) for page in problem.spec["pages"])
    assert of.verify(problem, problem.solution or "").status == "ok"
    assert of.split_of(problem.spec) == "train" == task(name).split_of(problem.spec["spec"])
    last = own[-1].split()[0]
    assert problem.spec["spec"]["answer"] == last and "[" not in str(problem.solution)


@pytest.mark.parametrize("name", ["search-small", "search"])
def test_worked_questions_are_read_as_they_were_written(name: str) -> None:
    posing = posing_of(task(name))
    for number in range(20):
        shown = [task(name).problem(Key(number), level=1 + number % 4).spec]
        back = posing.read(posing.write(shown[0]), shown)
        assert back is not None and back["answer"] == shown[0]["answer"]
        assert is_true(back) == (name == "search-small")


def test_each_prompt_shows_an_answer_of_its_own_from_the_training_split() -> None:
    asked = pose_drawn(Memory(0), 0, 6, pool=POOL)
    assert len({problem.canonical for problem in asked}) == 6 and {problem.solution for problem in asked} == {None}
    assert {task("search-small").split_of(problem.spec["shown"][0]) for problem in asked} == {"train"}
    assert [p.prompt for p in asked[3:]] == [p.prompt for p in pose_drawn(Memory(0), 3, 3, pool=POOL)]


# What stands


def test_a_question_stands_if_all_readers_come_to_its_answer() -> None:
    one = proposal("Dakif bS")
    assert stands(one, said(one, "1", "check"), 1) and stands(one, said(one, "11", "check"), 2)
    assert stands(one, said(one, "10", "check"), 2) is False and stands(one, said(one, "x0", "check"), 2) is False
    assert stands(one, said(one, "x", "check"), 1) is None and stands(one, [], 1) is None
    assert stands(one, [], 0)


def test_worth_by_hand() -> None:
    one, none = proposal("Dakif bS"), proposal("no question", 1)
    checked = said(one, "1", "check")
    assert worth(one, *checked, *said(one, "11000")) == pytest.approx(3 / 5)
    assert worth(one, *checked, *said(one, "00000")) == 1.0 and worth(one, *checked, *said(one, "11111")) == 0.0
    assert worth(one, *checked, *said(one, "1x0")) == 1 / 2, "what no verdict says is no answer"
    assert worth(one, *said(one, "0", "check")) == worth(none) == 0.0
    assert worth(one, *said(one, "0", "check"), invalid=-0.5) == worth(none, invalid=-0.5) == -0.5
    assert worth(one, *said(one, "x", "check")) is None and worth(one) is None, "an error of ours is nobody's fault"


@settings(max_examples=25, deadline=None)
@given(verdicts=st.text("01", min_size=1, max_size=8), order=st.permutations(range(8)))
def test_the_reward_is_from_nothing_to_one_falls_with_each_right_answer_and_knows_no_order(
    verdicts: str, order: Sequence[int]
) -> None:
    one = proposal("Dakif bS")
    answers, check = said(one, verdicts), said(one, "1", "check")
    found = worth(one, *check, *answers)
    assert found is not None and 0 <= found <= 1
    assert worth(one, *[answers[i] for i in order if i < len(answers)], *check) == found
    better = worth(one, *check, *said(one, verdicts + "1"))
    assert better is not None and (better < found or found == 0)


@settings(max_examples=25, deadline=None)
@given(verdicts=st.text("01", max_size=8))
def test_no_answers_save_a_question_that_a_reader_refutes(verdicts: str) -> None:
    one = proposal("Dakif bS")
    assert worth(one, *said(one, "0", "check"), *said(one, verdicts)) == 0.0


# Who answers what


def asked(episodes: Sequence[Episode], memory: Memory, checks: int = 1) -> list[Request]:
    return solve_valid(episodes, memory, sampling=SAMPLING, codec=CODEC, checks=checks, answers=5)


def test_first_readers_then_solvers_of_what_stands_and_of_older_problems_in_place_of_others() -> None:
    memory = Memory(0)
    first, second, none = proposal("Dakif bS"), proposal("Dakif b", 1), proposal("?", 2)
    readers = asked([first, second, none], memory)
    assert [(r.tag, r.problem.task, r.parent) for r in readers] == [
        ("check", "given:search-small", first.request.id),
        ("check", "given:search-small", second.request.id),
    ]
    assert len({r.group for r in readers}) == 2 and not any(r.seat for r in readers)
    told = [first, second, none, *said(first, "1", "check"), *said(second, "0", "check")]
    solvers = asked(told, memory)
    assert [(r.problem.canonical, r.parent, r.seat) for r in solvers] == [("Dakif bS", first.request.id, "policy")] * 5
    older = bind(KeepValid())(memory, episodes=[*told, *said(first, "10100")])
    assert [entry["spec"]["start"] for entry in older.store(VALID)["search-small"]] == ["Dakif"]
    again = asked(told, older)
    assert len(again) == 15 and [r.parent for r in again[5:]] == [""] * 10, "who posed nothing earns nothing by it"
    assert asked([*told, *said(first, "10100")], memory) == []
    assert [r.tag for r in asked([first, second, none], memory, checks=0)] == [""] * 10


def test_the_pool_is_emptied_after_ten_steps() -> None:
    memory, one = Memory(0), proposal("Dakif bS")
    keep = bind(KeepValid(cleared=10))
    memory = keep(memory, episodes=[one, *said(one, "1")])
    for step in range(1, 10):
        memory = keep(dataclasses.replace(memory, step=step), episodes=[])
        assert len(memory.store(VALID)["search-small"]) == 1
    assert keep(dataclasses.replace(memory, step=10), episodes=[]).store(VALID) == {}


def test_no_readers_are_fine_and_a_number_below_nothing_and_groups_of_one_are_refused() -> None:
    about: Any = {"scale": RECIPES["ssp"].scale, "mechanism": RECIPES["ssp"].mechanism}
    assert SolveValid(checks=0).refusal(**about) is None and RECIPES["ssp"].scale.group_size == 1
    assert "0 or more" in str(SolveValid(checks=-1).refusal(**about))
    assert "2 or more" in str(SolveValid(answers=1).refusal(**about))


# Runs


def small(**scale: object) -> Recipe:
    sizes = {"num_prompts": 16, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, "num_minibatches": 1, **scale}
    return recipe_of("ssp", max_new=3, **sizes)


def engine() -> Any:
    return policy("fp32", vocab=5, init_std=0.1, decode=Letters().decode)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TINY)


@pytest.mark.slow
@pytest.mark.usefixtures("letters")
def test_both_roles_train_in_one_batch_and_readers_do_not() -> None:
    notes, _ = run(small(num_steps=20), engine())
    trained = {(row.role, row.episode.request.tag) for rows in notes.rows for row in rows if row.in_loss}
    assert trained == {("policy", ""), ("proposer", "")}
    assert any(e.request.tag == "check" for step in notes.episodes for e in step) and max(map(len, notes.batches)) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("letters")
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(num_prompts=8), engine, after=2)


@pytest.mark.deep
@pytest.mark.usefixtures("letters")
def test_the_solver_learns_from_what_is_posed() -> None:
    """A letter is its own answer: readers and solvers learn it, and most of what is posed then stands."""
    notes, _ = run(small(num_steps=60, learning_rate=0.014), engine())
    solved = [[e.right for e in step if e.request.role == "policy" and not e.request.tag] for step in notes.episodes]
    known = np.array([np.mean(step) for step in solved if step])
    assert known[-8:].mean() > known[:4].mean() + 0.3
    assert RECIPES["ssp"].mechanism.rules[0].role == "proposer"
