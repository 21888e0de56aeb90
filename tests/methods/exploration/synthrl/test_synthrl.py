"""Pass counts, chains of variants, what is kept of them, and a run that writes, tests and trains."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import jsonl, sums
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, policy, recipe_of, register, require_resumable, run
from worded import grown

from assay.ask import Sampling
from assay.collect import Refill
from assay.errors import ConfigError
from assay.known import recipe
from assay.memory import Memory
from assay.methods.exploration.synthrl.evolution import ROLE, Bar, evolutions, right_of
from assay.methods.exploration.synthrl.evolve import STORE, Evolve, KeepEvolved, evolve, keep_evolved, to_vary
from assay.methods.exploration.synthrl.variants import evolved_all, with_evolved
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.rng import Key
from assay.source import Pool, Share
from assay.source.epochs import set_of
from assay.tasks import task
from assay.tasks.data.task import data
from assay.tasks.harder import Hardening, may_be_asked, variant_of
from assay.types import Episode, Problem, Request

CHAINS = Pool((Share("mod-chain", (2,)),))
SEED = Problem("mod-chain", "M23 5+3", {"p": 23, "start": 5, "steps": [["+", 3]]}, "5+3 mod 23", level=1)
TEXTS = [
    text
    for operand in range(2, 23)
    if may_be_asked(task("mod-chain"), SEED, text := f"M23 5+3*{operand}")  # of the training split
]
FOUR = {"checks": 4, "sure": 3, "least": 1, "margin": 1}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


class Characters:
    """A codec of one token a character."""

    end_ids = frozenset({0})
    stops: tuple[str, ...] = ()
    vocab = 128

    def render(self, prompt: Any) -> np.ndarray:
        return self.encode(prompt)

    def encode(self, text: str) -> np.ndarray:
        return np.array(list(map(ord, text)), np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


def of(request: Request, *, right: bool | None = None, text: str = "", finish: Any = "stop") -> Episode:
    """An answer to a request; right, wrong, lost (None), or a text."""
    made = episode([1], reward=None if right is None else float(right))
    verdict = None if text else made.verdict
    return dataclasses.replace(made, request=request, text=text, finish=finish, verdict=verdict)


def first(seed: Problem = SEED) -> list[Request]:
    return [Request(seed, Characters().render(seed.prompt), "0:0", 64, sample=i) for i in range(2)]


def next_of(episodes: Sequence[Episode], attempts: int = 2) -> list[Request]:
    values = {"codec": Characters(), "sampling": Sampling(64), "attempts": attempts, "longest": 16, **FOUR}
    return evolve(episodes, **values)  # type: ignore[arg-type]


def prompts(requests: Sequence[Request]) -> set[str]:
    return {Characters().decode(request.context.tolist()) for request in requests}


def test_a_chain_of_variants_by_hand() -> None:
    """4 of 4 to the seed; 2 of 4 to its variant, which is accepted, and from which the next one starts; 1 of 4 to that,
    which is accepted too and is the better one. What is asked, round by round.
    """
    seen = [of(r, right=True) for r in first()]
    more = next_of(seen)
    assert [(r.sample, r.round) for r in more] == [(2, 1), (3, 1)] and {r.group for r in more} == {"0:0"}
    seen += [of(r, right=True) for r in more]
    (writing,) = next_of(seen)
    assert (writing.role, writing.group, writing.max_new, writing.round) == (ROLE, f"0:0/{ROLE}", 16, 1)
    assert prompts([writing]) == {"M23 5+3 ^"}
    seen.append(of(writing, text="M23 5+3+4-4"))
    asked = next_of(seen)
    assert len(asked) == 4 and prompts(asked) == {"M23 5+3+4-4"}
    assert {(r.role, r.parent, r.max_new, r.round) for r in asked} == {("policy", writing.id, 64, 2)}
    assert {r.problem.spec["steps"][0][1] for r in asked} == {3} and len({r.id for r in asked}) == 4
    seen += [of(r, right=i < 2) for i, r in enumerate(asked)]
    (again,) = next_of(seen)
    assert prompts([again]) == {"M23 5+3+4-4 ^"} and again.sample == 1 and again.id != writing.id
    seen.append(of(again, text="M23 5+3+9-9+4-4"))
    asked = next_of(seen)
    seen += [of(r, right=i < 1) for i, r in enumerate(asked)]
    assert next_of(seen) == []
    store = keep_evolved(Memory(0, step=3), episodes=seen, **FOUR).store(STORE)  # type: ignore[arg-type]
    expected = {"right": 4.0, "of": 4, "texts": 2, "step": 3, "text": "M23 5+3+9-9+4-4", "text_right": 1.0}
    assert store == {SEED.id: expected}


def chain(own: int, *tries: tuple[str, int | None]) -> Any:
    """The state after `own` of 4 right answers to the seed and these texts, each with its count; None: all lost."""
    seen = [of(Request(SEED, np.ones(1, np.int32), "0:0", 9, sample=i), right=i < own) for i in range(4)]
    for number, (text, right) in enumerate(tries):
        place = {"role": ROLE, "sample": number}
        written = of(Request(SEED, np.ones(1, np.int32), f"0:0/{ROLE}", 9, **place), text=text)  # type: ignore[arg-type]
        asked = Request(variant_of(SEED, text), np.ones(1, np.int32), f"0:0/{ROLE}/{number}", 9)
        replies = [dataclasses.replace(asked, sample=i, parent=written.request.id) for i in range(4)]
        seen += [written, *(of(r, right=None if right is None else i < right) for i, r in enumerate(replies))]
    (state,) = evolutions(seen, Bar(**FOUR)).values()
    return state


def text_of(problem: Problem | None) -> Any:
    return problem and problem.prompt


@pytest.mark.parametrize(("right", "accepted"), [(0, False), (1, True), (2, True), (3, False), (4, False)])
def test_four_right_of_the_seed_accept_one_and_two(right: int, accepted: bool) -> None:
    """least = 1 <= c' < 4 - 1."""
    assert (chain(4, (TEXTS[0], right)).best is not None) is accepted


def test_the_variant_with_the_fewest_right_answers_is_kept_and_the_last_one_is_varied() -> None:
    one, two = TEXTS[:2]
    state = chain(4, (one, 1), (two, 2), (two, 1))
    assert (text_of(state.best), state.best_right) == (one, 1.0)
    assert text_of(state.current) == two and state.attempts == 3
    assert text_of(chain(4, (one, 2), (two, 1), (one, 2)).best) == two
    assert text_of(chain(4, (one, 1), (two, 1)).best) == one, "of equal ones the first, as in the release"
    assert chain(4, (one, None)).best is None, "answers without a verdict accept nothing"
    assert chain(4, ("no problem", 1)).best is None and chain(4, ("M23 5+3", 1)).best is None


def test_answers_without_a_verdict_count_in_neither_direction() -> None:
    """Of four answers one is lost and one not judged; of the other two one is right, as 2 of 4 would be."""
    asked = first()[0]
    lost = [of(asked, right=None), of(asked, text="not judged")]
    assert right_of([of(asked, right=True), of(asked, right=False), *lost], 4) == 2.0
    assert right_of(lost, 4) is None


@given(own=st.integers(0, 4), tries=st.lists(st.integers(0, 4), max_size=5))
def test_what_is_kept_is_solvable_and_harder_and_nothing_harder_was_accepted(own: int, tries: list[int]) -> None:
    state = chain(own, *zip(TEXTS, tries))
    fit = [right for right in tries if 1 <= right < own - 1]
    assert (state.best_right if state.best else None) == min(fit, default=None)


def test_a_seed_that_is_not_sure_gets_no_variants_and_a_useless_text_costs_an_attempt() -> None:
    requests = [dataclasses.replace(first()[0], sample=i) for i in range(4)]
    assert next_of([of(r, right=i < 2) for i, r in enumerate(requests)]) == []
    assert [r.role for r in next_of([of(r, right=i < 3) for i, r in enumerate(requests)])] == [ROLE]
    seen = [of(r, right=True) for r in requests]
    (writing,) = next_of(seen)
    seen.append(of(writing, text="M23 5+3+4-4", finish="length"))
    (again,) = next_of(seen)
    assert again.role == ROLE and prompts([again]) == {"M23 5+3 ^"}
    assert next_of(seen, attempts=1) == []


def test_texts_that_may_be_asked() -> None:
    chains = task("mod-chain")
    held_out = next(p for i in range(99) if (p := chains.problem(Key(i), level=3, split="test")))
    assert chains.split_of({"p": 23, "start": 5, "steps": [["+", 3], ["+", 4], ["-", 4]]}) == "train"
    assert may_be_asked(chains, SEED, "M23 5+3+4-4")
    for text in ("", "M23 5+3", "M7 5+3+4-4", "M23 5+3+1", "M23 5+03", "M23 25+3", "what?", held_out.prompt):
        assert not may_be_asked(chains, SEED, str(text)), text
    said = dataclasses.replace(SEED, wording="natural")
    assert may_be_asked(chains, said, "Ada has 5 apples") and not may_be_asked(chains, said, " M23 5+3 ")


def shown(prompt: Any) -> Any:
    """The parts of the only message of a prompt."""
    (message,) = prompt
    return message["content"]


def test_a_variant_keeps_pictures_and_the_answer_of_its_seed() -> None:
    seed = task("grids").problem(Key(0), level=1)
    variant = variant_of(seed, "how many?")
    asked, before = shown(variant.prompt), shown(seed.prompt)
    assert asked[0] == before[0] and asked[1]["text"] == "how many?"
    assert variant.spec == seed.spec and variant.parents == (seed.id,)
    assert variant.solution == (seed.solution or "").rpartition("#")[2]
    assert variant.id != seed.id and task("grids").chain(variant, "a") is None
    writing = shown(to_vary(Prompt.of(seed)).told)
    assert writing[0] == before[0] and writing[1]["text"].endswith(" ^")


@given(st.integers(0, 2**32), st.integers(1, 9))
def test_the_hand_that_varies_chains_is_right_seven_times_of_ten(number: int, level: int) -> None:
    """A pair leaves the answer as it is; one operation more almost never does."""
    chains, generator = task("mod-chain"), np.random.default_rng(number)
    seed = chains.generator.instance(generator, level)
    hardening = chains.ability(Hardening)
    assert hardening is not None
    longer = hardening.vary(generator, seed)
    assert hardening.read(chains.wordings.compact(longer)) == longer
    added = len(longer["steps"]) - level
    assert added in (1, 2)
    if added == 2:
        assert chains.wordings.solve(longer).answer == chains.wordings.solve(seed).answer


def test_writing_variants_is_a_task() -> None:
    writing = task("harder:mod-chain")
    problem = writing.problem(Key(3), level=2)
    assert problem.prompt == f"{task('mod-chain').wordings.compact(problem.spec['seed'])} ^"
    assert writing.verify(problem, problem.solution or "").status == "ok"
    for text in ("nonsense", str(problem.prompt).removesuffix(" ^"), "M7 1+2"):
        assert writing.verify(problem, text).status == "fail"
    with pytest.raises(ConfigError, match="nobody has said how problems of 'path' become harder; of mod-chain"):
        task("harder:path")


def test_training_draws_the_set_and_the_variants_in_epochs() -> None:
    seeds = set_of(CHAINS, 0, 3)
    memory = Memory(0).keep(STORE, {seeds[1].id: {"right": 14, "text": "M23 1+2-2"}, seeds[2].id: {"right": 3}})
    drawn = with_evolved(memory, 0, 4, pool=CHAINS, drawn=4, size=3)
    assert sorted(str(p.prompt) for p in drawn) == sorted([*(str(p.prompt) for p in seeds), "M23 1+2-2"])
    assert with_evolved(memory, 1, 3, pool=CHAINS, drawn=4, size=3) == drawn[1:], "a refill goes on in the epoch"
    assert not evolved_all({}, memory=memory, pool=CHAINS, size=3)
    assert evolved_all({}, memory=memory, pool=CHAINS, size=2)


def test_a_file_with_fewer_rows_than_the_set_is_measured_when_all_of_its_rows_are(tmp_path: Path) -> None:
    pool = Pool((Share(data(jsonl(tmp_path / "rows.jsonl", sums(40))).name),), "natural")
    names = [row.id for row in pool.rows("train")]
    assert len(names) > 1 + max(len(pool.rows("valid")), len(pool.rows("test")))
    every, but_one = (Memory(0).keep(STORE, {name: {} for name in some}) for some in (names, names[1:]))
    assert evolved_all({}, memory=every, pool=pool, size=99) and not evolved_all({}, memory=but_one, pool=pool, size=99)
    assert evolved_all({}, memory=but_one, pool=pool, size=len(names) - 1)


def test_the_longest_text_and_what_asks_for_the_next_are_added_to_a_prompt() -> None:
    """5 characters of a text, or the 3 that an answer may have, and ` ^` behind it."""
    assert [grown(Evolve(longest=5), SEED, Characters(), limit) for limit in (64, 3)] == [7, 5]  # type: ignore[arg-type]


def test_settings_that_cannot_work_are_refused() -> None:
    made = recipe("synthrl")
    values: Any = {"scale": made.scale, "mechanism": made.stages[0].mechanism}
    assert KeepEvolved().refusal(**values) is None
    assert "would accept other variants" in str(KeepEvolved(least=5).refusal(**values))
    values["mechanism"] = dataclasses.replace(values["mechanism"], expand=(Refill(), Evolve()))
    assert KeepEvolved().refusal(**values) is None, "a refill accepts no variants"


def small() -> Recipe:
    """Any text of letters may be asked in the tiny task, and one right answer of two accepts it."""
    made = recipe_of("synthrl", max_new=4, num_prompts=2, group_size=2, num_steps=10)
    test = {"checks": 4, "sure": 0, "least": 1, "margin": 0}
    synthesise = made.stages[0].mechanism
    assert synthesise is not None
    parts = {"expand": (Evolve(**test, attempts=2, longest=3),), "remember": (KeepEvolved(**test),)}
    stages = (dataclasses.replace(made.stages[0], mechanism=dataclasses.replace(synthesise, **parts)), made.stages[1])
    return dataclasses.replace(made, stages=stages)


def test_a_run_writes_variants_first_and_then_trains_on_them() -> None:
    notes, memory = run(small(), policy("fp32", vocab=4, init_std=0.1))
    writes = [any(e.request.role == ROLE for e in step) for step in notes.episodes]
    trains = [any(row.in_loss for row in rows) for rows in notes.rows]
    assert any(writes) and not any(write and train for write, train in zip(writes, trains))
    assert memory.stage == 1 and not writes[-1] and trains[-1]


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_its_variants() -> None:
    memory = require_resumable(small(), lambda: policy("fp32", vocab=4, init_std=0.1), after=3)
    assert memory.store(STORE)
