"""Patches and repairs. The files after an edit, and the results of a program, are worked out here."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

from assay.verifiers.audit import Labelled

LINES = (
    "def area(w, h):", "    return w * h", "", "class Box:", "    def __init__(self, side):",
    "        self.side = side", "# none", "x = [1, 2, 3]", "print('done')", "if x:", "    pass", "import os",
    "    total += n", "===", "naïve = 'ü'",
)  # fmt: skip


def block(path: str, search: list[str], replace: list[str]) -> str:
    return "\n".join([f"### {path}", "<<<<<<< SEARCH", *search, "=======", *replace, ">>>>>>> REPLACE"])


def patches(count: int, seed: int) -> Iterator[Labelled]:
    """An edit of one line that stands once in its file; the answer takes lines around it with it, or spoils it."""
    draw = random.Random(f"patches {seed}")
    made = 0
    while made < count:
        files = {path: [draw.choice(LINES) for _ in range(draw.randint(4, 12))] for path in ("a.py", "lib/b.py")}
        path = draw.choice(list(files))
        lines = files[path]
        once = [i for i, line in enumerate(lines) if line.strip() and lines.count(line) == 1]
        if not once:
            continue
        at = draw.choice(once)
        now = draw.choice([f"{lines[at]}  # checked", lines[at].replace("=", "+=") + "0", f"    {lines[at]}", "y = 2"])
        low, high = draw.randint(max(0, at - 2), at), draw.randint(at + 1, min(len(lines), at + 3))
        after = {**files, path: [*lines[:at], now, *lines[at + 1 :]]}
        gold = json.dumps({"before": _joined(files), "after": _joined(after)})
        context = (path, lines[low:high], after[path][low:high])
        ways = _right(draw, *context) if made % 3 == 0 else _wrong(draw, *context)
        name = draw.choice(list(ways))
        made += 1
        right = made % 3 == 1
        yield Labelled(gold, ways[name], right, name, origin="rewritten" if right else "mutant")


def _joined(files: dict[str, list[str]]) -> dict[str, str]:
    return {path: "\n".join(lines) for path, lines in files.items()}


def _right(draw: random.Random, path: str, was: list[str], now: list[str]) -> dict[str, str]:
    good = block(path, was, now)
    between = block(path, ["#between#"], now)
    return {
        "with lines around": good,
        "in a fence": f"```\n{good}\n```",
        "empty lines around": f"\n\n{good}\n\n",
        "spaces behind the marks": good.replace("SEARCH\n", "SEARCH  \n").replace("=======\n", "======= \n", 1),
        "lines of a DOS file": good.replace("\n", "\r\n"),
        "in two steps": f"{block(path, was, ['#between#'])}\n{between}",
    }


def _wrong(draw: random.Random, path: str, was: list[str], now: list[str]) -> dict[str, str]:
    good, other = block(path, was, now), "lib/b.py" if path == "a.py" else "a.py"
    line = next(i for i, (a, b) in enumerate(zip(was, now, strict=True)) if a != b)
    changed = [*now[:line], now[line] + draw.choice(["x", " ", ";", "\t", "\u2028", "\x0b", "\x1c"]), *now[line + 1 :]]
    return {
        "another line": block(path, was, changed),
        "line dropped": block(path, was, [*now[:line], *now[line + 1 :]]) if len(now) > 1 else block(path, was, []),
        "line twice": block(path, was, [*now, now[line]]),
        "nothing changed": block(path, was, was),
        "turned": block(path, now, was),
        "a file more": f"{good}\n{block(other, ['import os'], ['import sys'])}",
        "no such file": block("none.py", was, now),
        "no such line": block(path, ["not a line of it"], now),
        "a part of a line": block(path, [was[line][:-1]], [now[line]]),
        "no end": good.removesuffix("\n>>>>>>> REPLACE"),
        "no middle": good.replace("\n=======\n", "\n", 1),
        "no file named": "\n".join(good.split("\n")[1:]),
        "the new lines alone": "\n".join(now),
        "words before": f"I changed it.\n{good}",
        "a second change": f"{good}\n{block(path, [now[line]], [f'{now[line]}  # again'])}",
        "a search of nothing": block(path, [""], now),
        "a separator for a line's end": block(path, was, ["\u2028".join(now)]) if len(now) > 1 else "",
        "empty": "",
    }


# --- repairs --------------------------------------------------------------------------------------------------


def results(lines: list[str]) -> list[int] | None:
    """What Python computes for each input from 0 to 9; None if a line is no assignment of two operands."""
    found = []
    for x in range(10):
        known: dict[str, int] = {"x": x}
        for line in lines:
            if not re.fullmatch(r"[a-f]=[a-fx0-9][-+*][a-fx0-9]", line):
                return None
            try:
                known[line[0]] = int(eval(line[2:], {"__builtins__": {}}, known))
            except NameError:
                return None
        found.append(known[lines[-1][0]])
    return found


def repairs(count: int, seed: int) -> Iterator[Labelled]:
    """A program of two to five lines of which one is wrong, and an edit of one line: drawn, mirrored, or spoiled."""
    draw = random.Random(f"repairs {seed}")
    made = 0
    while made < count:
        right = [_line(draw, place) for place in range(draw.randint(2, 5))]
        at = draw.randrange(len(right))
        wrong = [*right]
        wrong[at] = _line(draw, at)
        if results(wrong) == results(right):
            continue
        line = draw.choice([right[at], _mirrored(right[at]), _line(draw, at), _line(draw, at)])
        edited = at if draw.random() < 0.8 else draw.randrange(len(right))
        if line == wrong[edited] or wrong.count(wrong[edited]) != 1:
            continue
        label = results([*wrong[:edited], line, *wrong[edited + 1 :]]) == results(right)
        if label != (made % 3 == 0):
            continue
        answer = f"{wrong[edited]}>{line}" if draw.random() < 0.5 else block("main", [wrong[edited]], [line])
        name = "another line"
        if not label and draw.random() < 0.5:
            name, answer = _spoiled(draw, wrong[edited], right[edited])
        made += 1
        yield Labelled(json.dumps({"wrong": wrong, "right": right}), answer, label, name, origin="drawn")


def _line(draw: random.Random, place: int) -> str:
    operands = ["xabcdef"[place], draw.choice([*"123456789", *"xabcdef"[: place + 1]])]
    draw.shuffle(operands)
    return f"{'abcdef'[place]}={operands[0]}{draw.choice('+-*')}{operands[1]}"


def _mirrored(line: str) -> str:
    return line if line[3] == "-" else f"{line[:2]}{line[4]}{line[3]}{line[2]}"


def _spoiled(draw: random.Random, was: str, good: str) -> tuple[str, str]:
    ways = {
        "a line more": f"{was}>{good}\nf=f+0",
        "a separator": f"{was}>{good}\x0bf=f+0",
        "no program": f"{was}>{good};",
        "a call": f"{was}>{good[:2]}int(x)",
        "a space": f"{was}>{good[:2]} {good[2:]}",
        "twice": f"{was}>{good}>{good}",
        "a part of the line": f"{was[1:]}>{good[1:]}",
        "the new line alone": good,
        "another file": block("other", [was], [good]),
        "a wide digit": f"{was}>{good[:-1]}７",
        "no search": f">{good}",
        "a comment": f"{was}>{good}#",
        "empty": "",
    }
    name = draw.choice(list(ways))
    return name, ways[name]
