"""A path between two nodes of an undirected graph; every valid path is right.

Nodes lie on layers 0 to d around a hidden shortest path, and edges join equal or neighbouring layers only, so the
distance between the two ends is exactly d: at least 3, so that no path can be named without reading the edges.
"""

from __future__ import annotations

import itertools

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

_NAMES = "abcdefghijklmnop"
_MORE_NODES = 5  # beside the nodes of the hidden path
_MORE_EDGES = 2  # beside the edges that connect the graph
_MAX_CHARACTERS = 512
_SEPARATORS = str.maketrans("", "", " ,->")


def _instance(generator: np.random.Generator, level: int) -> Spec:
    count = level + 1 + _MORE_NODES
    draws = iter(generator.random(2 * count + 2 * _MORE_NODES + 3 * _MORE_EDGES + 3 * count).tolist())
    names = sorted(_NAMES[:count], key=lambda _: next(draws))
    layer = list(range(level + 1))
    edges = {(i, i + 1) for i in range(level)}
    for node in range(level + 1, count):
        neighbour = int(next(draws) * node)
        step = int(next(draws) * 3) - 1
        layer.append(min(max(layer[neighbour] + step, 0), level))
        edges.add((neighbour, node))
    for _ in range(_MORE_EDGES):
        a, b = int(next(draws) * count), int(next(draws) * count)
        if a != b and abs(layer[a] - layer[b]) <= 1:
            edges.add((min(a, b), max(a, b)))
    shown = sorted("".join(sorted((names[a], names[b]))) for a, b in edges)
    return {"edges": sorted(shown, key=lambda _: next(draws)), "start": names[0], "end": names[level]}


def _canonical(spec: Spec) -> str:
    return f"{','.join(sorted(spec['edges']))}:{spec['start']}>{spec['end']}"


def _compact(spec: Spec) -> str:
    return f"G {' '.join(spec['edges'])}:{spec['start']}>{spec['end']}"


def _natural(spec: Spec) -> str:
    edges = ", ".join("-".join(edge) for edge in spec["edges"])
    return (
        f"An undirected graph has these edges: {edges}.\n\nFind a path from {spec['start']} to {spec['end']}: "
        "neighbouring nodes of the path must be joined by an edge, and no node may occur twice. It need not be the "
        "shortest. Give the nodes of the path in order, from the first to the last, separated by '-', in "
        "\\boxed{...}, for example \\boxed{x-y-z}."
    )


def _neighbours(spec: Spec) -> dict[str, list[str]]:
    neighbours: dict[str, list[str]] = {}
    for a, b in sorted(spec["edges"]):
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    return neighbours


def _solve(spec: Spec) -> Solution:
    """Breadth first; the steps are the nodes of each distance from the start."""
    neighbours, before = _neighbours(spec), {spec["start"]: ""}
    layers = [[spec["start"]]]
    while spec["end"] not in before:
        reached: list[str] = []
        for node in layers[-1]:
            for other in neighbours[node]:
                if other not in before:
                    before[other] = node
                    reached.append(other)
        layers.append(reached)
    path = spec["end"]
    while before[path[0]]:
        path = before[path[0]] + path
    lines = [f"After {i} edges: {', '.join(layer)}" for i, layer in enumerate(layers)]
    return Solution("-".join(path), "|".join(map("".join, layers)), "\n".join(lines))


def _check(spec: Spec, text: str) -> Verdict:
    if len(text) > _MAX_CHARACTERS:
        return Verdict.fail("format", f"longer than {_MAX_CHARACTERS} characters")
    path = text.translate(_SEPARATORS)
    edges = set(spec["edges"])
    nodes = {node for edge in edges for node in edge}
    if len(path) < 2 or not nodes.issuperset(path):
        return Verdict.fail("format", "expected names of nodes separated by '-'")
    answer = "-".join(path)
    if path[0] != spec["start"] or path[-1] != spec["end"]:
        return Verdict.fail("wrong", "has other ends", answer)
    if len(set(path)) < len(path):
        return Verdict.fail("wrong", "visits a node twice", answer)
    for a, b in itertools.pairwise(path):
        if a + b not in edges and b + a not in edges:
            return Verdict.fail("wrong", f"no edge {a}-{b}", answer)
    return Verdict.ok(answer)


PATH = Task(
    name="path",
    domain="graphs",
    summary="Find a path between two nodes of a graph; the level is the distance between them.",
    generator=Generator(levels=range(3, 8), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("paths of three edges", levels=(3,), num_steps=400),),
)
