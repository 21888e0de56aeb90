"""Numbers of names that a search finds: the number by hand, both wordings, and the tools side by side."""

from __future__ import annotations

import pytest
from talking import said
from test_tasks_oracles import problems

from assay import check_world
from assay.rng import Key
from assay.tasks import task
from assay.tasks.search_python import value_of
from assay.worlds import Act

NAMES = ["search-python-small", "search-python"]


def test_the_number_by_hand() -> None:
    # b is 11 in base 36 and a is 10, so that "ba" is 11 * 36 + 10 = 406; 406 = 4 * 101 + 2, and 2 ** 5 = 32
    assert value_of({"answer": "Ba", "power": 5, "modulus": 101}) == 32


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_number_is_what_python_says(name: str, level: int) -> None:
    for problem in problems(name, level, 40):
        spec = problem.spec
        assert value_of(spec) == pow(int(spec["answer"], 36), spec["power"], spec["modulus"])
        assert len(spec["ways"]) == level and spec["answer"] not in str(problem.prompt)
        assert task(name).verify(problem, f"#{value_of(spec)}").status == "ok"
        wrong = (value_of(spec) + 1) % spec["modulus"]
        assert task(name).verify(problem, f"#{wrong}").status == "fail"
        for text in ("#", "#-1", "#1.0", "#12345", f"#{value_of(spec)} or so", f"#{spec['answer']}"):
            assert task(name).verify(problem, text).status == "fail"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_pages_and_programs_are_at_hand_at_once(name: str) -> None:
    known = task(name)
    problem = problems(name, 1, 1)[0]
    assert known.world is not None and known.world.speech is not None
    tools = {tool.name: tool.fields[0] for tool in known.world.tools}
    search, look = [name for name in tools if name != "python"]
    play = known.world.start(problem.spec, Key(0))
    play.open()

    def tell(tool: str, given: str):
        assert known.world is not None and known.world.speech is not None
        turn = known.world.speech.call(tool, {tools[tool]: given}, known.world.tools)
        return play.step(known.world.act("policy", turn, waits=True))

    assert problem.spec["start"] in said(tell(search, problem.spec["start"]))
    assert said(tell("python", "n=6")) == "" and said(tell("python", "n*7")) == "42"
    assert tell(look, "Nobody").failed and tell("python", "1/0").failed and tell(search, " ").failed
    assert said(tell("python", "n")) == "6", "an error of a search ends no session"
    assert play.step(Act("policy", "#1")).end == "ended"
    play.close()


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract_of_a_world(name: str) -> None:
    assert check_world(name, plays=12).calls > 12


@pytest.mark.parametrize("name", NAMES)
def test_natural_wording_says_how_to_call_the_tools(name: str) -> None:
    known = task(name)
    problem = known.problem(Key(1), level=2, wording="natural")
    assert known.world is not None
    assert all(f"{tool.name}(" in str(problem.prompt) for tool in known.world.tools)
    assert "base 36" in str(problem.prompt) and known.verify(problem, problem.solution or "").status == "ok"
