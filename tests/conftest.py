"""For all tests: properties are judged by their truth, not by the speed of a busy machine; run folders to write in."""

import signal
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from drawn import Drawing
from hypothesis import HealthCheck, Phase, settings
from learning_draws import Draw, Draws
from missing_core import MissingCore, need
from missing_externals import MissingExternals
from near_budget import NearBudget
from record_runs import IDENTITY
from suite_time import SuiteTime
from torch_absent import TorchAbsent

from assay.record import RunFolder
from assay.verifiers.judges.endpoint import MODEL, URL

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("assay", CALM)
settings.register_profile("mutants", CALM, derandomize=True, phases=(Phase.explicit, Phase.generate))
settings.register_profile("fast", CALM, max_examples=25)
settings.load_profile("assay")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-recipes", action="store_true", help="suites over all recipes leave none out (drawn.py)")
    parser.addoption("--learning-seeds", type=int, default=1, help="runs each learning test with so many seeds")
    parser.addoption("--learning-only", metavar="FILE", help="the learning tests that stand there alone, a line each")
    parser.addoption("--learning-to", metavar="FILE", help="appends what each learning test measured, a line each")
    parser.addoption("--part", metavar="K/N", help="the k-th of n parts of what is asked for, whole files each")
    parser.addoption("--drawn-by", metavar="WORD", help="what draws recipes in place of the commit: another run's word")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Drawing(config), "drawing")
    config.pluginmanager.register(SuiteTime(config))
    config.pluginmanager.register(MissingExternals())
    config.pluginmanager.register(MissingCore())
    config.pluginmanager.register(NearBudget())
    config.pluginmanager.register(Draws(config), "draws")
    if find_spec("torch") is None:
        config.pluginmanager.register(TorchAbsent(config))


@pytest.fixture(scope="session", autouse=True)
def judge() -> Iterator[None]:
    """A judge on the loopback, for whatever recipe of a test asks one."""
    from fake_judge import plain, serving

    with serving(plain) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(URL, server.url)
        patch.setenv(MODEL, "fake")
        yield


@pytest.fixture(scope="session", autouse=True)
def user_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests remember nothing in the folder of whoever runs them: what their runs may reach is kept here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_STATE", str(tmp_path_factory.mktemp("state") / "assay"))
        yield


@pytest.fixture(scope="session")
def drawn_recipes(pytestconfig: pytest.Config) -> tuple[str, ...]:
    """The recipes of this run, for a test that goes over them itself."""
    drawing = pytestconfig.pluginmanager.get_plugin("drawing")
    assert isinstance(drawing, Drawing)
    return drawing.draw.recipes


@pytest.fixture
def turn(pytestconfig: pytest.Config) -> Callable[[Sequence[Any], int], list[Any]]:
    """`turn(cases, 8)`: eight of the cases within one test, whichever the commit picks; all with `--all-recipes`."""
    drawing = pytestconfig.pluginmanager.get_plugin("drawing")
    assert isinstance(drawing, Drawing)
    return drawing.draw.turn


@pytest.fixture(params=["torch", "native", "adapter"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test on each kind of engine."""
    from engine_cases import Default  # not above: there are tests that need no torch

    if request.param == "native":
        need()
    monkeypatch.setattr(Default, "kind", request.param)
    return request.param


@pytest.fixture(autouse=True)
def learning_seed(request: pytest.FixtureRequest) -> Iterator[None]:
    """The draw of a learning test: its own one, or with `--learning-seeds` each of so many in turn."""
    Draw.begin(getattr(request, "param", 0))
    yield
    Draw.begin(0)


@pytest.fixture
def in_front() -> Iterator[None]:
    """Signals as a command in front of a terminal has them. Under `nohup`, or behind `&` in a script, SIGHUP and SIGINT
    are ignored from the start, and a run rightly leaves them so.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a run with spaces, ümläuts\nand a newline"


@pytest.fixture
def run(path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(path, identity=IDENTITY, document={"command": ["assay", "train"]}) as run:
        yield run
