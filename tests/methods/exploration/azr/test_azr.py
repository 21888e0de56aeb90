"""AZR: cells, learnability from probes, what comes into the pool and from where, and runs that pose and solve."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import ROOT
from tiny import Letters, episode, policy, recipe_of, register, require_resumable, run

from assay.ask import Sampling
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.lab import explain, papers
from assay.lab.catalogue import listing
from assay.memory import Memory
from assay.memory.posed import admit_posed, admitted, pool_of, posed
from assay.methods.exploration.azr.cells import CellRelative, cell_relative
from assay.methods.exploration.azr.learnability import Learnability, learnability
from assay.methods.exploration.azr.pose_seeds import PoseSeeds, pose_seeds
from assay.methods.exploration.azr.seeded import Seeded, seeded
from assay.methods.exploration.azr.solve import solve_posed
from assay.part import bind
from assay.policy import character_tokenizer
from assay.recipe import Recipe
from assay.run import session
from assay.source import Pool, Share
from assay.source.pose import pose
from assay.tasks import ALPHABET, task
from assay.tasks.dsl import paired
from assay.types import Episode, Request, Row, Segment, Verdict

KINDS = ("dsl-deduction", "dsl-abduction", "dsl-induction")
POOL = Pool(tuple(Share(name, (2,)) for name in KINDS))
CODEC = character_tokenizer(ALPHABET)


def recipe(**scale: object) -> Recipe:
    sizes = {"num_prompts": 12, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, "num_minibatches": 1, **scale}
    return recipe_of("azr", max_new=3, **sizes)


def engine():
    return policy("fp32", vocab=4, init_std=0.1)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


# Cells


def work(cell: str, reward: float, tokens: int = 1, sample: int = 0) -> Row:
    role, name = cell.split("/")
    made = episode([1] * tokens, role=role, reward=reward, sample=sample, group=cell)
    problem = dataclasses.replace(made.request.problem, task=name)
    return Row(dataclasses.replace(made, request=dataclasses.replace(made.request, problem=problem)))


def test_a_cell_by_rows_and_by_tokens() -> None:
    """Rewards 1, 0, 0 of 4, 1, 1 tokens. Rows: mean 1/3, variance 1/3. Tokens: mean 2/3, variance (4/9 + 8/9)/5."""
    rows = [work("p/x", r, t, i) for i, (r, t) in enumerate([(1, 4), (0, 1), (0, 1)])]

    def first(over: str) -> list[float]:
        return [float(r.advantage[0]) for r in cell_relative(rows, over=over, epsilon=0.0)]  # type: ignore[arg-type, index]

    np.testing.assert_allclose(first("rows"), np.array([2, -1, -1]) / 3 / np.sqrt(1 / 3))
    np.testing.assert_allclose(first("tokens"), np.array([1, -2, -2]) / 3 / np.sqrt(12 / 9 / 5))


@settings(max_examples=60, deadline=None)
@given(
    rewards=st.dictionaries(
        st.sampled_from(["p/x", "p/y", "s/x", "s/y", "s/z"]),
        st.lists(st.integers(-2, 2), min_size=1, max_size=6),
        min_size=1,
    ),
    over=st.sampled_from(["rows", "tokens"]),
)
def test_cells_are_apart_and_have_mean_zero(rewards: dict[str, list[int]], over: str) -> None:
    rows = [work(c, r, 1 + (i * 3) % 5, i) for c, rs in rewards.items() for i, r in enumerate(rs)]
    part = dataclasses.asdict(CellRelative(over=over))  # type: ignore[arg-type]
    found = {row.episode.request.id: row.advantage for row in cell_relative(rows, **part)}
    for cell, members in itertools.groupby(rows, key=lambda row: row.group):
        own = list(members)
        alone = {row.episode.request.id: row.advantage for row in cell_relative(own, **part)}
        total = sum(float(a.sum() if over == "tokens" else a[0]) for a in alone.values() if a is not None)
        assert abs(total) < 1e-9
        assert all(np.array_equal(found[name], a) for name, a in alone.items())  # type: ignore[arg-type]
        if len(set(rewards[cell])) == 1:
            assert all(a is not None and not a.any() for a in alone.values())


# Posing and learnability


def written(text: str, name: str = "dsl-deduction", *, memory: Memory | None = None, number: int = 0) -> Episode:
    """An answer to a question for a problem."""
    memory = memory or Memory(0)
    (problem,) = pose(memory, number, 1, pool=Pool((Share(name, (2,)),)))
    request = Request(problem, CODEC.render(problem.prompt), f"0:{number}", 40, draw=number, role="proposer")
    ids = CODEC.encode(text)
    segment = Segment(ids, np.zeros(len(ids), np.int8), version=7)
    return Episode(request, (segment,), "stop", text=text, verdict=task(problem.task).verify(problem, text))


def probes(of: Episode, right: str) -> list[Episode]:
    """`right` spells verdicts: 1, 0, or x for an error of ours."""
    kinds = {"1": Verdict.ok("a"), "0": Verdict.fail("wrong"), "x": Verdict.invalid("bug")}
    made = [episode([1], sample=i, verdict=kinds[c]) for i, c in enumerate(right)]
    return [
        dataclasses.replace(e, request=dataclasses.replace(e.request, tag="probe", parent=of.request.id)) for e in made
    ]


def worth(of: Episode, everyone: list[Episode], **changes: object) -> float | None:
    (found,) = learnability([of], everyone=everyone, **dataclasses.asdict(Learnability(**changes)))  # type: ignore[arg-type]
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("right", "value"), [("10000000", 7 / 8), ("11110000", 1 / 2), ("1" * 8, -0.5), ("0" * 8, -0.5)]
)
def test_what_is_sometimes_solved_is_worth_most(right: str, value: float) -> None:
    good = written("i+s 472")
    assert worth(good, [good, *probes(good, right)]) == value
    assert worth(written("i+s 47"), []) == worth(written("ppp 123"), []) == -1.0


def test_a_proposer_waits_for_its_probes_in_any_order_and_lost_ones_are_missing_or_wrong() -> None:
    good, other = written("i+s 472"), written("nn+ 123", number=1)
    own, others = probes(good, "1100"), probes(other, "1111")
    assert worth(good, [good, other, *others]) is None
    for order in itertools.permutations(own):
        assert worth(good, [*others, *order, good]) == 0.5
    lost = probes(good, "11x0x")
    assert worth(good, lost) == pytest.approx(1 / 3) and worth(good, lost, lost="wrong") == pytest.approx(3 / 5)
    gone = probes(good, "xx")
    assert worth(good, gone) is None and worth(good, gone, lost="wrong") == -0.5


def test_what_is_posed_becomes_a_problem_with_its_parents() -> None:
    problem = posed(written("i+s 472"))
    assert problem is not None and problem.task == "dsl-deduction" and problem.level == 3
    assert problem.spec == {"program": "i+s", "input": "472", "output": "04"}  # 473, 40, 04
    assert problem.prompt == "P i+s 472" and problem.provenance == "posed" and len(problem.parents) == 1
    inputs = "123 456 789 012 345 678"
    found = posed(written(f"{inputs};look right", "dsl-induction"))
    assert found is not None and found.spec["program"] == "s" and found.spec["pairs"][0] == ["123", "132"]
    assert found.prompt == "R 123>132 456>465 789>798 look right" and posed(written(inputs, "dsl-induction")) is None
    for text in ("", "i+s", "i+s 1234", "xyz 123", "i+s 472 1", "p" * 9 + " 123", inputs):
        assert posed(written(text)) is None


def test_the_pool_keeps_what_is_new_and_for_training_and_where_it_came_from() -> None:
    texts = [f"{program} {digits}" for program in ("i+s", "nd", "r-") for digits in ("472", "123", "801", "555")]
    rows = [written(text, number=i) for i, text in enumerate([*texts, texts[0], "none"])]
    fresh = admitted(rows, Memory(0))
    split = {text: task("dsl-deduction").split_of(posed(row).spec) for text, row in zip(texts, rows)}  # type: ignore[union-attr]
    assert {e.text for e, _ in fresh} == {text for text in texts if split[text] == "train"} and len(fresh) < 12
    memory = admit_posed(Memory(0, step=3), episodes=[*rows, *probes(fresh[0][0], "110")], cap=100)
    pool = pool_of(memory, "dsl-deduction")
    assert len(pool) == len(fresh) and pool[0]["right"] == [2, 3] and pool[1]["right"] == [0, 0]
    entry = {"role": "proposer", "version": 7, "step": 3, "checks": ["read", "train-split", "new"]}
    assert all(entry.items() <= found.items() and found["parents"] for found in pool)
    assert not admitted(rows, memory)
    assert [e["id"] for e in pool_of(admit_posed(Memory(0), episodes=rows, cap=2), "dsl-deduction")] == [
        e["id"] for e in pool[-2:]
    ]
    shown = pose(memory, 0, 30, pool=POOL)
    assert {p.task for p in shown} == {f"pose:{name}" for name in KINDS}
    assert {parent for p in shown for parent in p.parents} <= {e["id"] for name in KINDS for e in pool_of(memory, name)}


def test_probes_and_answers_are_asked_once_for_all_that_was_posed() -> None:
    rows = [written("i+s 472", number=0), written("nothing", number=1), written("nd 801", number=2)]
    sampling = Sampling(20)
    asked = solve_posed(rows, Memory(0), sampling=sampling, codec=CODEC, probes=4)
    tags = Counter((r.tag, r.parent) for r in asked)
    assert tags == {("probe", rows[0].request.id): 4, ("probe", rows[2].request.id): 4, ("", ""): 3}
    trained = [r.problem.prompt for r in asked if not r.tag]
    new = [p.prompt for _, p in admitted(rows, Memory(0))]
    assert trained[: len(new)] == new and set(trained[len(new) :]) <= {"P s 012"}
    assert len({r.id for r in asked}) == len(asked) and {r.role for r in asked} == {"policy"}
    answer = episode([1])
    assert not solve_posed([*rows, answer], Memory(0), sampling=sampling, codec=CODEC, probes=4)


# The seed


def entries(count: int) -> list[dict[str, object]]:
    return [{"spec": {"program": "i", "input": f"{i:03d}", "output": ""}, "id": str(i)} for i in range(count)]


def test_pools_are_filled_task_by_task_those_of_others_programs_last() -> None:
    """Two wanted of each. Induction shows programs of the others: it waits until they have theirs."""

    def asked(**stored: int) -> set[str]:
        memory = Memory(0).keep("posed", {f"dsl-{name}": entries(n) for name, n in stored.items()})
        full = seeded({}, memory=memory, pool=POOL, size=2)
        assert full == (len(stored) == 3 and min(stored.values()) >= 2)
        return {p.task.removeprefix("pose:dsl-") for p in pose_seeds(memory, 0, 12, pool=POOL, size=2)}

    assert asked() == asked(deduction=1, abduction=1) == {"deduction", "abduction"}
    assert asked(deduction=2, abduction=1) == asked(deduction=2, abduction=1, induction=9) == {"abduction"}
    assert asked(deduction=2, abduction=2) == {"induction"}
    assert asked(deduction=2, abduction=3, induction=2) == {"deduction", "abduction", "induction"}


@pytest.mark.slow
def test_the_seed_stage_fills_the_pool_and_moves_no_weight() -> None:
    made = recipe(num_steps=20)
    wanted = dataclasses.replace(made.stages[0].mechanism, source=PoseSeeds(size=2))  # type: ignore[type-var]
    stages = (
        dataclasses.replace(made.stages[0], mechanism=wanted, share=0.5),
        dataclasses.replace(made.stages[1], when=Seeded(size=2), share=0.5),
    )
    notes, memory = run(dataclasses.replace(made, stages=stages), engine())
    seeding = sum(not batches for batches in notes.batches)
    assert 0 < seeding < 10 and all(batches for batches in notes.batches[seeding:])
    for episodes in notes.episodes[:seeding]:
        assert {e.request.role for e in episodes} == {"proposer"} and {e.request.tag for e in episodes} == {""}
        assert len(episodes) == 12
    assert memory.stage == 1 and memory.budget.optimiser_steps == 20 - seeding
    assert len(memory.store("posed")["tiny"]) == 2
    assert notes.batches[seeding][0].version.max() == 0  # type: ignore[union-attr]


# What is paid

INPUTS = "123 456 789 012 345 678"


@pytest.mark.parametrize(
    ("name", "text", "right", "value"),
    [
        ("pose:dsl-deduction", "i+s 472", "10000000", 7 / 8),
        ("pose:dsl-deduction", "i+s 472", "11111110", 1 / 8),
        ("pose:dsl-deduction", "i+s 472", "11111111", -0.5),
        ("pose:dsl-deduction", "i+s 472", "00000000", -0.5),
        ("pose:dsl-deduction", "i+s", "", -1),  # no input
        ("pose:dsl-deduction", "i+q 472", "", -1),  # no instruction
        ("pose:dsl-deduction", "+++ 472", "", -1),  # it stops with an error
        ("pose:dsl-abduction", "nd 801", "11110000", 1 / 2),
        ("pose:dsl-abduction", "", "", -1),
        ("pose:dsl-induction", f"{INPUTS};swap", "11000000", 3 / 4),
        ("pose:dsl-induction", INPUTS, "", -1),  # no message
        ("pose:dsl-induction", f"{INPUTS[:-4]};swap", "", -1),  # five inputs
        ("pose:dsl-induction", f"{INPUTS[:-3]}123;swap", "", -1),  # one of them twice
        ("dsl-deduction", "473,40,04#04", "", 1),
        ("dsl-deduction", "04", "", 1),
        ("dsl-deduction", "473,40,04#40", "", -0.5),
        ("dsl-deduction", "473,40,04#", "", -1),
        ("dsl-deduction", "x4", "", -1),
        ("dsl-abduction", "108", "", 1),  # 8 + 0 = 8, 1 and 8 exchanged
        ("dsl-abduction", "109", "", -0.5),
        ("dsl-abduction", "10", "", -1),
        ("dsl-induction", "s", "", 1),
        ("dsl-induction", "i", "", -0.5),
        ("dsl-induction", "sssssssss", "", -1),  # nine instructions
    ],
)
def test_the_table_of_rewards(name: str, text: str, right: str, value: float) -> None:
    """Proposer: 1 - s if 0 < s < 1, -0.5 if s is 0 or 1, -1 if it is no problem. Solver: 1, -0.5, -1 likewise."""
    if name.startswith("pose:"):
        one = written(text, name.removeprefix("pose:"))
    else:
        one = solved_with(text, name)
    part = recipe().mechanism.rule(one.request.role).reward
    assert len(part) == 1
    (found,) = bind(part[0])([one], everyone=[one, *probes(one, right)])
    assert found.value == pytest.approx(value)


def solved_with(text: str, name: str) -> Episode:
    specs = {
        "dsl-deduction": {"program": "i+s", "input": "472", "output": "04"},
        "dsl-abduction": {"program": "+s", "input": "126", "output": "81"},
        "dsl-induction": paired("s", INPUTS.split()),
    }
    problem = task(name).pose(specs[name], level=2)  # type: ignore[arg-type]
    request = Request(problem, CODEC.render(problem.prompt), "0:0", 40)
    return Episode(request, (), "stop", text=text, verdict=task(name).verify(problem, text))


# Runs


def test_a_step_trains_both_roles_and_not_the_probes_and_counts_them() -> None:
    notes, memory = run(recipe(num_steps=3), engine())
    seeding, *steps = zip(notes.episodes, notes.batches, strict=True)
    assert seeding[0] and not seeding[1], "the first stage fills the pool and trains nobody"
    for episodes, (batch,) in steps:
        roles = Counter(e.request.role for e in episodes if e.request.tag != "probe")
        assert roles == {"proposer": 12, "policy": 12} == Counter(batch.roles)
        valid = [e for e in episodes if e.request.role == "proposer" and posed(e) is not None]
        assert 0 < len(valid) < 12
        assert sum(e.request.tag == "probe" for e in episodes) == 8 * len(valid)
        assert not {e.request.id for e in episodes if e.request.tag == "probe"} & set(batch.request)
        for e in episodes:
            if e.request.role == "proposer":
                assert e.rewards[0].name == "learnability" and (e.reward == -1.0) == (e not in valid)
    assert memory.budget.generated_tokens == sum(len(e) for s in notes.episodes for e in s)
    assert memory.budget.rollouts == sum(map(len, notes.episodes))
    assert {entry["spec"]["letter"] for entry in memory.store("posed")["tiny"]} <= {"a", "b"}


@pytest.mark.slow
def test_a_stopped_run_goes_on_bit_for_bit() -> None:
    memory = require_resumable(recipe(), engine, after=2)
    assert memory.store("posed")["tiny"]


def test_tasks_that_nobody_can_pose_are_refused() -> None:
    from assay.errors import ConfigError

    with pytest.raises(ConfigError, match=r"'countdown' cannot be posed.*dsl-deduction"):
        pose(Memory(0), 0, 1, pool=Pool((Share("countdown", (3,)),)))
    assert Letters.vocab == 5


def test_a_task_that_cannot_be_posed_is_refused_before_a_run() -> None:
    pool = Pool((Share("dsl-deduction", (1,)), Share("countdown", (3,))))
    with pytest.raises(ConfigError, match="'countdown' cannot be posed: take dsl-abduction, dsl-ded"):
        session.plan(RECIPES["azr"], model="countdown", pool=pool, profile="laptop")


def test_azr_says_that_its_programs_are_those_of_a_stack_machine() -> None:
    (row,) = [row for row in listing("recipes") if row["name"] == "azr"]
    assert "stack machine" in row["summary"] and "stack machine" in explain.text(explain.explain("azr"))
    assert "stack machine" in " ".join(RECIPES["azr"].notes)
    assert "stack machine" in (ROOT / "docs" / "exploration.md").read_text()


def test_its_paper_says_what_runs_and_what_does_not() -> None:
    (found,) = papers.find("Absolute Zero")
    assert found.recipes == ("azr",) and found.here == "simplified" and "Python" in found.missing
    assert found.tasks == ("dsl-deduction", "dsl-abduction", "dsl-induction")
    assert found.rewards == ("graded", "learnability")
    assert found.commands == ("assay train azr --task dsl-deduction",)
