"""The page of `bench.gpu`: goals first, then a table a stage."""

from __future__ import annotations

from typing import Any

SHOWN = 8  # kernels of a phase; the data has more


def report(data: dict[str, Any]) -> str:
    """All that was measured, in Markdown."""
    facts = ", ".join(f"{name} {value}" for name, value in data["machine"].items())
    blocks = [["# GPU"], [facts]]
    if data["toy"]:
        blocks.append(["A rehearsal on the processor at toy size: it says nothing about speed."])
    blocks += [_stages(data["stages"]), _goals(data["goals"])]
    for part, rows in (("checks", _checks), ("rows", _models), ("trl", _trl), ("profile", _profile)):
        if data[part]:
            blocks.append(rows(data))
    if data["kernels"]:
        blocks.append(_kernels(data["kernels"]))
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _stages(stages: dict[str, Any]) -> list[str]:
    lines = ["| stage | | s | |", "|-|-|-|-|"]
    for name, stage in stages.items():
        lines.append(f"| {name} | {stage['state']} | {number(stage.get('seconds'))} | {cell(stage.get('note', ''))} |")
    return lines


def _goals(goals: list[dict[str, Any]]) -> list[str]:
    lines = ["| goal | | measured | |", "|-|-|-|-|"]
    for goal in goals:
        word = f"**{goal['word']}**" if goal["word"] == "missed" else goal["word"]
        lines.append(f"| {goal['name']} | {goal['side']} {goal['bound']:g} | {number(goal['value'])} | {word} |")
    return lines


def _checks(data: dict[str, Any]) -> list[str]:
    lines = ["| check | value | bound | |", "|-|-|-|-|"]
    for check in data["checks"]:
        verdict = "ok" if check["passed"] else "**FAILED**"
        lines.append(f"| {check['name']} | {check['value']:.3g} | {check['bound']} | {verdict} |")
    return lines


COLUMNS = ("tokens_per_s", "step_s", "sample_s", "learn_s", "sample_share", "learn_share", "peak_gib", "planned_gib")


def _models(data: dict[str, Any]) -> list[str]:
    lines = [
        "| model | sampled tokens/s | s a step | sampling | learning | of its floor: sampling | learning "
        "| peak GiB | planned | peak / planned | computed by |",
        "|" + "-|" * 11,
    ]
    lines += [model_line(row) for row in data["rows"]]
    return [
        *lines,
        "",
        "Floor of sampling: weights once a step and every row's keys and values at the mean context, by the speed",
        "of a copy. Floor of learning: 6N operations a token at the speed of a large product.",
    ]


def model_line(row: dict[str, Any]) -> str:
    """A row of the table of models, or why there are no numbers."""
    head = f"| {row['model']} ({row['parameters'] / 1e6:,.0f}M) | "
    if row["skipped"]:
        return head + " | ".join([cell(row["skipped"]), *[""] * 9]) + " |"
    cells = [f"{row[name]:.2f}" if name.endswith("share") else f"{row[name]:,.4g}" for name in COLUMNS]
    return head + " | ".join([*cells, f"{row['peak_gib'] / row['planned_gib']:.3f}", cell(row["place"])]) + " |"


def _trl(data: dict[str, Any]) -> list[str]:
    lines = ["| model | TRL | s a step | ours | TRL / ours | peak GiB | steps | tokens | |", "|" + "-|" * 9]
    ours = {row["model"]: row["step_s"] for row in data["rows"]}
    for row in data["trl"]:
        mine = ours.get(row["model"])
        ratio = None if mine is None or row["step_s"] is None else row["step_s"] / mine
        numbers = (row["step_s"], mine, ratio, row["peak_gib"], row["steps"], row["tokens"])
        cells = [row["model"], row["configuration"], *map(number, numbers), cell(row["why"])]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _profile(data: dict[str, Any]) -> list[str]:
    lines = ["| model | phase | s | busy | host | recorded waits: the host's | the device's |", "|" + "-|" * 7]
    names = ("wall_s", "busy_s", "host_s", "host_waits_s", "device_waits_s")
    for row in data["profile"]:
        for phase in row["phases"]:
            cells = [row["model"], phase["name"], *(number(phase[name]) for name in names)]
            lines.append(f"| {' | '.join(cells)} |")
    for row in data["profile"]:
        if row["host_share"] is not None:
            lines += ["", f"{row['model']}: the device waits for the host in {row['host_share']:.1%} of a step."]
        for phase in row["phases"]:
            if phase["kernels"]:
                lines += ["", f"| {row['model']}, {phase['name']}: kernel | times | s |", "|-|-|-|"]
                lines += [f"| {cell(name)} | {count:,} | {s:.4f} |" for name, count, s in phase["kernels"][:SHOWN]]
    return lines


def _kernels(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| kernel | inputs | ours, ms | torch, ms | torch / ours | GB | GFLOP | of the card | difference | |"]
    lines.append("|" + "-|" * 10)
    for row in rows:
        ours, other = row["ours_s"], row["torch_s"]
        times = [None if s is None else 1e3 * s for s in (ours, other)]
        ratio = None if ours is None or other is None else other / ours
        work = [None if row[name] is None else row[name] / 1e9 for name in ("bytes_moved", "operations")]
        numbers = map(number, (*times, ratio, *work, row["share"], row["difference"]))
        lines.append(f"| {' | '.join([row['name'], row['inputs'], *numbers, cell(row['why'])])} |")
    return [*lines, "", "The greatest difference from torch's result is told as a share of the largest number in that."]


def number(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}"


def cell(text: str) -> str:
    """A text that cannot end its cell."""
    return " ".join(text.replace("|", "/").split())
