"""The report: complete for a whole run, honest for half a run, and deaf to whatever a model wrote."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import present

from assay.record import RunFolder
from assay.scoring.bank import Bank, entry
from assay.view.findings import alarms, curves, results, thin
from assay.view.reading import by_turns, outcome, spread_out
from assay.view.report import json_in_script, leaves, write_report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--<script>\u2028&amp;"
PAGE_LIMIT = 3_000_000


def bank(rate: float, *, seed: int, M: int = 96, n: int = 16) -> Bank:
    rng = np.random.default_rng(seed)
    ability = np.random.default_rng(7).beta(0.5, 1.2, size=M)
    correct = rng.binomial(n, np.clip(ability + rate, 0, 1))
    zero = np.zeros(M, dtype=np.int64)
    ids, tasks = tuple(f"p{i}" for i in range(M)), tuple("countdown" if i % 3 else "modchain" for i in range(M))
    return Bank(ids, tasks, np.arange(M) % 2 + 3, zero + n, correct, zero, zero + 1, zero + 20 * n, max_new=48)


def columns(step: int, *, groups: int, size: int, pieces: bool = True) -> dict[str, list]:
    """Rollouts of a step under the column names of the run folder; the first answer of all is hostile."""
    rng = np.random.default_rng(step)
    table: dict[str, list] = {}
    for g in range(groups):
        rewards = (rng.random(size) < 0.1 + 0.1 * (g % 8)).astype(float)
        for s in range(size):
            text = f"{rng.integers(9)}*{rng.integers(9)}={rng.integers(80)};{rng.integers(9)}+{rng.integers(99)}#"
            text += f"({rng.integers(99)}+{rng.integers(9)})*{rng.integers(9)}"
            finish, verdict = "stop", "ok" if rewards[s] else "fail"
            if (g + s) % 11 == 5:
                finish, verdict, rewards[s] = "length", "fail", 0.0
            if (g, s) == (2, 1):
                verdict = "invalid"
            if (g, s) == (0, 0):
                text = HOSTILE
            centred = rewards[s] - rewards.mean()
            row = {
                "step": step,
                "problem": f"problem{g}",
                "task": "countdown",
                "level": 4,
                "group": f"{step}:{g}",
                "request": f"{step}-{g}-{s}",
                "sample": s,
                "prompt": HOSTILE if g == 0 else f"{', '.join(str(v) for v in rng.integers(1, 50, 4))} -> {g + 11}?",
                "completion": text,
                "finish": finish,
                "verdict": verdict,
                "verdict_kind": {"ok": "", "fail": "truncated" if finish == "length" else "wrong", "invalid": "bug"}[
                    verdict
                ],
                "verdict_detail": "",
                "answer": text.rpartition("#")[2],
                "reward": None if verdict == "invalid" else float(rewards[s]),
                "in_loss": verdict != "invalid",
                "tokens": list(range(len(text) + 1)),
                "old": (-rng.exponential(0.3, len(text) + 1)).tolist(),
                "mu": None,
                "entropy": rng.exponential(0.4, len(text) + 1).tolist(),
                "advantage": [centred] * (len(text) + 1),
            }
            if pieces:
                row["pieces"] = [*text, ""]
            for name, value in row.items():
                table.setdefault(name, []).append(value)
    return table


def fake_run(path: Path, *, steps: int = 60, evaluated: bool = True, groups: int = 24, failed: float = 0.0) -> Path:
    """A run folder as a training run leaves it."""
    recipe = {"name": "grpo", "scale": {"num_prompts": 32, "group_size": 8, "num_steps": 60}, "note": HOSTILE}
    document = {"command": ["assay", "train", "grpo", "--task", "countdown", "--seed", "7"], "task": "countdown"}
    document |= {"recipe": recipe, "model": "countdown-1.8M", "seed": 7}
    rng = np.random.default_rng(0)
    with RunFolder.create(path, identity={"recipe": "grpo"}, document=document) as run:
        for step in range(1, steps + 1):
            rise = step / 60
            noise = lambda scale: float(rng.normal(0, scale))  # noqa: E731
            run.append(
                "metrics",
                {
                    "step": step,
                    "reward/mean": 0.25 + 0.12 * rise + noise(0.02),
                    "reward/verifier_failed": failed,
                    "length/mean": 24 + 2 * rise + noise(0.4),
                    "length/right": 22 + noise(0.4),
                    "length/wrong": 26 + noise(0.4),
                    "length/truncated": 0.02,
                    "policy/entropy": 0.6 - 0.3 * rise + noise(0.01),
                    "policy/grad_norm": 0.4 + abs(noise(0.1)),
                    "policy/clip_fraction": 0.01 + abs(noise(0.002)),
                    "group/uniform_fraction": 0.3 + noise(0.02),
                    "group/all_wrong": 0.2 + noise(0.02),
                    "perf/tokens_per_s": 11_000 + noise(300),
                    "time/step": 1.3,
                    "custom/value": None if step % 2 else float(step),
                },
            )
        for step in range(0, steps + 1, 20) if evaluated else ():
            gain = 0.1 * step / 60
            run.append("evals", entry(bank(gain, seed=step, M=64, n=4), step=step, set="valid", ks=[1, 2, 4]))
            if step in (0, steps):
                run.append("evals", entry(bank(gain, seed=step), step=step, set="test", ks=[1, 2, 4, 8, 16]))
        for step in range(0, steps, 12):
            run.write_rollouts(step, columns(step, groups=groups, size=8))
    return path


class Page(HTMLParser):
    """Elements, attributes and visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        (self.scripts if self.tags and self.tags[-1] == "script" else self.texts).append(data)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_report(fake_run(tmp_path_factory.mktemp("runs") / "run"))


@pytest.fixture(scope="module")
def html(whole):
    return whole.read_text(encoding="utf-8")


def embedded(html: str) -> dict:
    data = r'<script type="application/json" id="data">(.*?)</script>'
    return json.loads(present(re.search(data, html, re.DOTALL))[1])


@pytest.mark.slow
def test_page_is_one_small_file_that_asks_for_nothing(whole, html):
    assert whole.name == "report.html"
    assert whole.stat().st_size < PAGE_LIMIT
    page = Page(html)
    loaded = [(tag, name, value) for tag, name, value in page.attributes if name in {"src", "href", "action", "srcset"}]
    assert all(name == "href" and value.startswith("#") for _, name, value in loaded)
    assert "link" not in page.tags
    assert "@import" not in html
    assert "url(" not in html
    assert "default-src 'none'" in html


@pytest.mark.slow
def test_what_a_model_wrote_is_never_markup(html):
    page = Page(html)
    assert page.tags.count("script") == 2  # the data and the page's own
    assert "img" not in page.tags
    assert not [value for _, name, value in page.attributes if name.startswith("on")]
    assert "alert(1)</script>" not in html
    answers = [row["completion"] for group in embedded(html)["rollouts"]["groups"] for row in group["rows"]]
    assert HOSTILE in answers  # it is shown, as text
    assert any(HOSTILE in text for text in page.texts)  # the recipe's note, escaped


@pytest.mark.slow
def test_policy_allows_the_script_of_the_page_alone(html):
    script = present(re.search(r"<script>(.*)</script>", html, re.DOTALL))[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script


@pytest.mark.slow
def test_head_and_recipe_are_told(html):
    text = "".join(Page(html).texts)
    for part in ["grpo on countdown", "countdown-1.8M", "assay train grpo --task countdown --seed 7"]:
        assert part in text
    assert "scale.group_size" in text


def test_result_table_holds_before_after_and_paired_difference(html):
    before, after = bank(0.0, seed=0), bank(0.1, seed=60)
    rate = [float((b.correct / b.n).mean()) for b in (before, after)]
    result = embedded(html)["results"][0]
    assert result["set"] == "test"  # asked most often, so it stands first
    assert [result[when]["pass"]["1"]["mean"] for when in ("before", "after")] == pytest.approx(rate)
    difference = result["difference"]["pass"]["1"]
    assert difference["mean"] == pytest.approx(rate[1] - rate[0])
    text = "".join(Page(html).texts)
    assert f"{difference['mean']:+.3f} [{difference['low']:+.3f}, {difference['high']:+.3f}]" in text
    assert ("above zero" in text) == (difference["low"] > 0)
    (history,) = embedded(html)["results"][1]["history"]
    assert history["judge"] == "verifier" and [point["step"] for point in history["points"]] == [0, 20, 40, 60]


def test_rollouts_are_whole_groups_with_every_outcome(html):
    groups = embedded(html)["rollouts"]["groups"]
    assert {len(group["rows"]) for group in groups} == {8}
    assert {row["outcome"] for group in groups for row in group["rows"]} == {"right", "wrong", "truncated", "invalid"}
    assert {group["step"] for group in groups} == {0, 12, 24, 36, 48}
    row = groups[0]["rows"][0]
    assert len(row["tokens"]) == len(row["ent"]) == len(row["lp"]) == row["length"]
    assert isinstance(row["adv"], float)


@pytest.mark.slow
def test_a_long_run_stays_small(tmp_path):
    run = fake_run(tmp_path / "run", steps=1)
    with RunFolder.open(run) as folder:
        for step in range(1, 15):
            table = columns(step, groups=4, size=8)
            long = {
                name: [value * 100 for value in table[name]]
                for name in ("tokens", "old", "entropy", "pieces", "completion")
            }
            folder.write_rollouts(step, table | long | {"advantage": [value * 100 for value in table["advantage"]]})
    report = write_report(run)
    assert report.stat().st_size < PAGE_LIMIT
    steps = embedded(report.read_text(encoding="utf-8"))["rollouts"]["steps"]
    assert steps[0] == 0
    assert steps[-1] == 14


def test_a_run_without_steps(tmp_path):
    run = tmp_path / "run"
    with RunFolder.create(run, identity={}):
        pass
    text = "".join(Page(write_report(run).read_text(encoding="utf-8")).texts)
    for part in ["No step was finished", "No held-out evaluation", "No rollouts were saved"]:
        assert part in text


def test_missing_journals_and_half_written_lines(tmp_path):
    run = fake_run(tmp_path / "run", steps=5, evaluated=False)
    (run / "evals.jsonl").unlink()
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "reward/me')
    html = write_report(run).read_text(encoding="utf-8")
    assert len(embedded(html)["curves"]["steps"]) == 5
    assert "5 of 60 steps" in "".join(Page(html).texts)


def test_rollouts_without_pieces_are_shown_whole(tmp_path):
    run = tmp_path / "run"
    with RunFolder.create(run, identity={}) as folder:
        folder.write_rollouts(0, columns(0, groups=3, size=4, pieces=False))
    rows = embedded(write_report(run).read_text(encoding="utf-8"))["rollouts"]["groups"][0]["rows"]
    assert all("tokens" not in row and row["completion"] for row in rows)


def test_one_evaluation_has_no_difference_and_other_problems_neither():
    first = entry(bank(0.0, seed=0), step=0, set="test", ks=[1])
    alone = results([first], {})[0]
    assert alone["after"] is None
    assert alone["difference"] is None
    other = entry(bank(0.0, seed=1), step=9, set="test", ks=[1])
    other["bank"]["problems"] = [f"q{i}" for i in range(len(other["bank"]["problems"]))]
    strangers = results([first, other], {})[0]
    assert strangers["difference"] is None
    assert "share no problem" in strangers["no_difference"]


def flat(accuracy):
    """Fifty steps whose share of right answers goes up and down by a hundredth."""
    return [{"reward/accuracy": accuracy + 0.01 * (-1) ** i, "rollouts": 64} for i in range(50)]


@pytest.mark.parametrize(
    "metrics",
    [
        [{"second_look/answers": 500, "second_look/refused": 0}],
        [{"second_look/answers": 500, "second_look/refused": 2}],  # 0.4 %
        [*flat(0.2), {"reward/accuracy": 0.3, "rollouts": 64}],  # 0.057 is the deviation of 64 answers at 0.3
        [*flat(0.0), {"reward/accuracy": 2 / 64, "rollouts": 64}],  # the first right answers
        [*flat(0.2)[1:], {"reward/accuracy": 0.9, "rollouts": 64}],  # too short a history
        [*flat(0.9), {"reward/accuracy": 0.2, "rollouts": 64}],  # a fall deceives nobody
    ],
)
def test_what_raises_no_alarm(metrics):
    assert alarms(metrics, [], total_steps=len(metrics)) == []


@pytest.mark.parametrize(
    ("metrics", "evals", "word", "level"),
    [
        ([{"reward/verifier_failed": 3}], [], "verifier failed on 3", "error"),
        ([{"update/skipped": 1}], [], "not finite", "error"),
        ([{}], [{"invalid": 2}], "2 evaluation samples", "error"),
        ([{"length/truncated": 0.5}], [], "50%", "warning"),
        ([{"group/uniform_fraction": 0.9}], [], "90%", "warning"),
        ([{"policy/entropy": 1.0}] * 9 + [{"policy/entropy": 0.01}] * 3, [], "explores", "warning"),
        ([{"policy/sampler_mismatch": 0.2}], [], "disagree", "warning"),
        (
            [{"second_look/answers": 50, "second_look/refused": 1}] * 2,
            [],
            "100 rewarded answers and refused 2",
            "error",
        ),
        ([*flat(0.2), {"reward/accuracy": 0.9, "rollouts": 64}], [], "jumped from about 20% to 90%", "warning"),
    ],
)
def test_alarms(metrics, evals, word, level):
    (alarm,) = alarms(metrics, evals, total_steps=len(metrics))
    assert word in alarm["text"]
    assert alarm["level"] == level


@pytest.mark.slow
def test_a_healthy_run_raises_no_alarm(tmp_path):
    run = RunFolder.read_only(fake_run(tmp_path / "run"))
    assert alarms(run.read("metrics"), run.read("evals"), total_steps=60) == []


def test_curves_keep_every_metric_once():
    found = curves(
        [{"step": 1, "reward/mean": 0.5, "odd/one": 2, "eval/x/pass@1": 0.1}, {"step": 2, "odd/one": None}], {}
    )
    assert found["series"] == {"reward/mean": [0.5, None], "odd/one": [2.0, None]}
    assert [chart["title"] for chart in found["charts"]] == ["Reward"]
    assert [chart["title"] for chart in found["others"]] == ["odd/one"]


def test_a_line_that_only_covers_another_is_left_out():
    records = [
        {"step": i, "reward/mean": 0.1 * i, "reward/accuracy": 0.1 * i, "length/mean": 1, "length/right": i}
        for i in (1, 2)
    ]
    found = curves(records, {})
    assert [chart["lines"] for chart in found["charts"]] == [
        [["reward/mean", "reward = share right by the verifier"]],
        [["length/mean", "all"], ["length/right", "right"]],
    ]
    assert found["others"] == []


def test_thin_averages_equal_shares():
    assert thin([1.0, 3.0, None, 5.0], 2) == [2.0, 5.0]
    assert thin([1.0, None], 2) == [1.0, None]
    assert thin([], 5) == []
    assert len(thin([1.0] * 5000)) <= 600


def test_picking():
    assert spread_out(list(range(10)), 4) == [0, 3, 6, 9]
    assert spread_out([1, 2], 4) == [1, 2]
    assert by_turns([1, 3, 5, 2], kind=lambda n: "even" if n % 2 == 0 else "odd") == [1, 2, 3, 5]


def test_outcomes():
    assert outcome({"verdict": "invalid", "finish": "length"}) == "invalid"
    assert outcome({"verdict": "ok", "finish": "stop"}) == "right"
    assert outcome({"verdict": "fail", "finish": "length"}) == "truncated"
    assert outcome({"verdict": "fail", "finish": "stop"}) == "wrong"
    assert outcome({"verdict": None}) == "unjudged"


def test_leaves_are_dotted_paths():
    tree = {"a": {"b": 1, "c": {}}, "d": [1, 2], "e": [{"f": None}]}
    assert list(leaves(tree)) == [("a.b", "1"), ("a.c", "{}"), ("d", "[1, 2]"), ("e.0.f", "null")]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=4))
def test_embedded_json_is_whole_and_inert(value):
    text = json_in_script(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)
    text.encode()
