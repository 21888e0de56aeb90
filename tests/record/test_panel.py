"""The live panel and its plain lines: what they say, when they speak, and where."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.record.panel import LINE_SECONDS, duration, number, panel, percent, sparkline


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def stats(reward: float, **more: float) -> dict[str, float]:
    return {
        "reward/mean": reward,
        "length/mean": 23.45,
        "policy/entropy": 0.5,
        "group/uniform_fraction": 0.25,
        "perf/tokens_per_s": 12_345.0,
        "time/step": 2.0,
        **{name.replace("__", "/"): value for name, value in more.items()},
    }


def test_plain_line_says_what_the_step_measured():
    stream = io.StringIO()
    with panel(10, stream=stream, clock=Clock()) as shown:
        shown.update(4, stats(0.625) | {"eval/valid/pass@1": 0.125})
    line = stream.getvalue().strip()
    assert "\n" not in line
    for part in ["step 4/10", "reward 0.625", "length 23.4", "entropy 0.500", "uniform 25 %", "12.3k tokens/s"]:
        assert part in line
    assert "0:12 left" in line  # six steps of two seconds
    assert "eval/valid/pass@1 0.125" in line
    assert "ALARM" not in line


def test_plain_lines_are_spaced_in_time_but_never_lose_what_matters():
    stream, clock = io.StringIO(), Clock()
    with panel(100, stream=stream, clock=clock) as shown:
        for step in range(1, 101):
            clock.now += 1.0
            shown.update(step, stats(0.1) | ({"eval/valid/pass@1": 0.3} if step == 8 else {}))
    told = [int(line.split("/")[0].removeprefix("step ")) for line in stream.getvalue().splitlines()]
    assert told[:3] == [1, 6, 8]  # five seconds after the first; the evaluation at once
    assert told[-1] == 100
    assert len(told) <= 100 / LINE_SECONDS + 3


def test_a_failing_verifier_raises_an_alarm_at_once():
    for stream in (io.StringIO(), Terminal()):
        with panel(10, stream=stream, clock=Clock()) as shown:
            shown.update(1, stats(0.1))
            shown.update(2, stats(0.1, reward__verifier_failed=3.0))
        assert "ALARM" in stream.getvalue()
        assert "failed on 3 answers" in stream.getvalue()


@pytest.mark.parametrize(
    ("lost", "faults", "who"),
    [(3.0, 3.0, "ALARM the world failed on 3"), (3.0, 1.0, "the world or the verifier"), (3.0, 0.0, "the verifier")],
)
def test_a_failing_world_is_named(lost: float, faults: float, who: str):
    stream = io.StringIO()
    with panel(10, stream=stream, clock=Clock()) as shown:
        shown.update(2, stats(0.1, reward__verifier_failed=lost) | {"world/faults": faults})
    assert who in stream.getvalue()


def test_panel_shows_progress_trend_and_scores():
    stream = Terminal()
    with panel(40, stream=stream, title="grpo on countdown", clock=Clock()) as shown:
        shown.phase("collect")
        for step in range(1, 31):
            shown.update(step, stats(step / 100) | ({"eval/valid/pass@1": step / 50} if step % 10 == 0 else {}))
        shown.note("checkpoint at step 30 <b>[bold]kept[/bold]</b>")
    text = stream.getvalue()
    for part in [
        "grpo on countdown",
        "collect",
        "step 30 of 40",
        "0.300",
        "held out: valid",
        "0.600",
        "0:20 left",
        "▁",
        "█",
    ]:
        assert part in text
    assert "[bold]kept[/bold]" in text  # a note is text, whatever it holds
    assert "ALARM" not in text


def test_panel_of_a_step_that_measured_nothing():
    for stream in (io.StringIO(), Terminal()):
        with panel(3, stream=stream) as shown:
            shown.update(1, {})
            shown.update(2, {"reward/mean": math.nan})
            shown.update(3, {})
        assert "nan" not in stream.getvalue()
        assert "step 3" in stream.getvalue()


def test_panel_survives_a_terminal_without_bars():
    stream = Terminal()
    stream.encoding = "ascii"
    with panel(3, stream=stream) as shown:
        shown.update(1, stats(0.1))
        shown.update(2, stats(0.2))
    assert "█" not in stream.getvalue()


def test_quiet_says_nothing():
    stream = Terminal()
    with panel(3, quiet=True, stream=stream) as shown:
        shown.phase("collect")
        shown.update(1, stats(0.1, reward__verifier_failed=1.0))
        shown.note("hello")
    assert stream.getvalue() == ""


def test_default_stream_is_standard_error(capsys):
    with panel(1) as shown:
        shown.update(1, stats(0.1))
    assert capsys.readouterr().out == ""


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=200), st.integers(1, 40))
def test_sparkline_has_one_bar_a_column(values, width):
    assert len(sparkline(values, width)) == min(len(values), width)


def test_sparkline_rises_with_its_values():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0, 0, 1, 1], 2) == "▁█"
    assert len(set(sparkline([0.3] * 5, 8))) == 1
    assert sparkline([math.nan, 1.0, math.nan], 8) != ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (12.345, "12.3"),
        (345.6, "346"),
        (23_456, "23.5k"),
        (3.0, "3"),
        (math.nan, "-"),
        (-0.5, "-0.500"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_percent_and_duration():
    assert percent(0.256) == "26 %"
    assert percent(math.nan) == "-"
    assert duration(65) == "1:05"
    assert duration(2 * 3600 + 3 * 60 + 4.4) == "2:03:04"
    assert duration(math.nan) == "-"
