"""Small circuits in Verilog: from a truth table, or from what an arithmetic unit is to compute.

The first levels show the truth table of random expressions; the next name operations of which inputs select one; the
last are small circuits with a clock (`clocked.py`).
Answers are circuits, verified by what they do for all inputs, not by how they are written.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from assay.externals.iverilog import IVERILOG
from assay.externals.yosys import YOSYS
from assay.tasks import clocked
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.circuits.equal_circuits import has_outputs, printed, verify
from assay.verifiers.circuits.testbench import Port
from assay.verifiers.circuits.text import fenced

_BITS = "abcd"
_OUTPUTS = "yz"
_SHAPES = {1: (2, 2), 2: (3, 1), 3: (3, 2), 4: (4, 1)}  # level -> (inputs, outputs) of truth tables
_SELECTED = {5: 2, 6: 4}  # level -> operations of a unit
_WIDTHS = (2, 3, 4)  # of its words
_BINARY: dict[str, Callable[[int, int], int]] = {
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}
_OPERATIONS = {  # compact name -> (expression, words)
    "add": ("a+b", "the sum of a and b"),
    "sub": ("a-b", "a minus b"),
    "and": ("a&b", "the bitwise conjunction of a and b"),
    "or": ("a|b", "the bitwise disjunction of a and b"),
    "xor": ("a^b", "the bitwise exclusive or of a and b"),
    "nota": ("~a", "a with all bits inverted"),
    "notb": ("~b", "b with all bits inverted"),
    "inc": ("a+1", "a plus 1"),
    "dec": ("a-1", "a minus 1"),
    "neg": ("-a", "the two's complement of a"),
    "max": ("(a>b?a:b)", "the larger of a and b as unsigned numbers"),
    "min": ("(a<b?a:b)", "the smaller of a and b as unsigned numbers"),
    "shl": ("a<<1", "a shifted left by one bit"),
    "shr": ("a>>1", "a shifted right by one bit"),
    "eq": ("(a==b)", "1 if a and b are equal, else 0"),
    "lt": ("(a<b)", "1 if a is less than b as unsigned numbers, else 0"),
}

_VALUES: dict[str, Callable[[int, int], int]] = {  # compact name -> value before it is cut; written apart from Verilog
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "nota": lambda a, b: -1 - a,
    "notb": lambda a, b: -1 - b,
    "inc": lambda a, b: a + 1,
    "dec": lambda a, b: a - 1,
    "neg": lambda a, b: -a,
    "max": lambda a, b: max(a, b),
    "min": lambda a, b: min(a, b),
    "shl": lambda a, b: 2 * a,
    "shr": lambda a, b: a // 2,
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
}


def _instance(generator: np.random.Generator, level: int) -> Spec:
    if level in clocked.LEVELS:
        return clocked.instance(generator, level)
    if level in _SELECTED:
        names = list(_OPERATIONS)
        chosen = [names[i] for i in generator.permutation(len(names))[: _SELECTED[level]]]
        return {"operations": chosen, "width": _WIDTHS[int(generator.integers(len(_WIDTHS)))]}
    inputs, outputs = _SHAPES[level]
    found: dict[str, str] = {}
    while len(found) < outputs:
        expression, table = _expression(generator, inputs)
        if len(set(table)) > 1 and table not in found:
            found[table] = expression
    return {"inputs": inputs, "tables": list(found), "witnesses": list(found.values())}


def _expression(generator: np.random.Generator, inputs: int) -> tuple[str, str]:
    """A random expression in which each input stands once, in any order, and its truth table."""
    full = (1 << 2**inputs) - 1
    parts = [
        (f"~{name}", full ^ column) if generator.random() < 0.2 else (name, column)
        for name, column in zip(_BITS, _columns(inputs))
    ]
    while len(parts) > 1:
        x, y = (parts.pop(int(generator.integers(len(parts)))) for _ in range(2))
        operator = tuple(_BINARY)[int(generator.integers(3))]
        text, value = f"{x[0]}{operator}{y[0]}", _BINARY[operator](x[1], y[1])
        if generator.random() < 0.3:
            parts.append((f"~({text})", full ^ value))
        else:
            parts.append((f"({text})" if parts else text, value))
    return parts[0][0], f"{parts[0][1]:0{2**inputs}b}"


def _columns(inputs: int) -> list[int]:
    """Truth tables of the inputs, the row of all zeros first, the first input changing most slowly."""
    rows = list(itertools.product("01", repeat=inputs))
    return [int("".join(row[place] for row in rows), 2) for place in range(inputs)]


def header(spec: Spec) -> str:
    """The head of the module, as the question states it."""
    if "design" in spec:
        return clocked.header(spec)
    if "operations" in spec:
        high, select = spec["width"] - 1, "s" if len(spec["operations"]) == 2 else "[1:0] s"
        return f"module top(input [{high}:0] a, input [{high}:0] b, input {select}, output [{high}:0] y);"
    inputs = ", ".join(f"input {name}" for name in _BITS[: spec["inputs"]])
    return f"module top({inputs}, {', '.join(f'output {name}' for name in _OUTPUTS[: len(spec['tables'])])});"


def reference(spec: Spec) -> str:
    """The circuit that answers are compared with: the table row by row, or the operations one by one."""
    if "design" in spec:
        return clocked.reference(spec)
    if "operations" in spec:
        choices = [f"s == {i} ? {_OPERATIONS[name][0]} :" for i, name in enumerate(spec["operations"])]
        return f"{header(spec)} assign y = {' '.join(choices)} 0; endmodule"
    lines = []
    for name, table in zip(_OUTPUTS, spec["tables"]):
        rows = [f"{spec['inputs']}'d{row}" for row, bit in enumerate(table) if bit == "1"]
        inputs = "{" + ", ".join(_BITS[: spec["inputs"]]) + "}"
        lines.append(f"assign {name} = {' | '.join(f'({inputs} == {row})' for row in rows)};")
    return f"{header(spec)} {' '.join(lines)} endmodule"


def _canonical(spec: Spec) -> str:
    if "design" in spec:
        return clocked.canonical(spec)
    if "operations" in spec:
        return f"{spec['width']} {' '.join(spec['operations'])}"
    return f"{spec['inputs']} {' '.join(spec['tables'])}"


def _compact(spec: Spec) -> str:
    if "design" in spec:
        return clocked.compact(spec)
    if "operations" in spec:
        return f"W{spec['width']} s:{','.join(spec['operations'])}"
    return f"W {_BITS[: spec['inputs']]}>{_OUTPUTS[: len(spec['tables'])]} {' '.join(spec['tables'])}"


def _natural(spec: Spec) -> str:
    if "design" in spec:
        return clocked.natural(spec)
    if "operations" in spec:
        what = "\n".join(f"s = {i}: y is {_OPERATIONS[name][1]}" for i, name in enumerate(spec["operations"]))
        what = f"Its output y depends on s, and is cut to {spec['width']} bits:\n{what}"
    else:
        names = _BITS[: spec["inputs"]]
        outputs = _OUTPUTS[: len(spec["tables"])]
        rows = "\n".join(
            f"{''.join(row)} | {''.join(table[i] for table in spec['tables'])}"
            for i, row in enumerate(itertools.product("01", repeat=len(names)))
        )
        what = f"Its truth table, with columns {' '.join(names)} | {' '.join(outputs)}:\n{rows}"
    return (
        f"Write a combinational circuit in Verilog with this head:\n\n{header(spec)}\n\n{what}\n\nThe circuit has no "
        "memory, no delays, no system tasks, no macros and no initial blocks. Give the whole module in a code block "
        "that begins with ```verilog. If assignments are enough, you may give them alone instead, separated by commas, "
        "in \\boxed{...}, for example \\boxed{y=a&b,z=~a}."
    )


def _solve(spec: Spec) -> Solution:
    if "design" in spec:
        return clocked.solve(spec)
    if "operations" in spec:
        terms = [_OPERATIONS[name][0] for name in spec["operations"]]
        chosen = [f"s=={i}?{term}:" for i, term in enumerate(terms[:-1])]
        return Solution(f"y={''.join(chosen)}{terms[-1]}")
    return Solution(",".join(f"{name}={text}" for name, text in zip(_OUTPUTS, spec["witnesses"])))


def circuit(spec: Spec, answer: str) -> str:
    """The module that an answer says: assignments without a module stand in the module of the question."""
    if not answer.strip() or "module" in answer:
        return answer
    if "design" in spec:
        return clocked.circuit(spec, answer)
    return f"{header(spec)} assign {answer.strip().removesuffix(';')}; endmodule"


def verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses, of all circuits at once."""
    answers = [answer_in(problem, text) for problem, text in pairs]
    return _verdicts([(problem.spec, answer) for (problem, _), answer in zip(pairs, answers, strict=True)])


def _verdicts(items: Sequence[tuple[Spec, str | None]]) -> list[Verdict]:
    verdicts = [Verdict.fail("format", "no marked answer")] * len(items)
    marked = [i for i, (_, answer) in enumerate(items) if answer is not None]
    found = verify([(reference(items[i][0]), circuit(items[i][0], items[i][1] or "")) for i in marked])
    for i, one in zip(marked, found, strict=True):
        verdicts[i] = one.verdict
    return verdicts


def ports(spec: Spec) -> tuple[Port, ...]:
    """The ports of the module, in the order of its head."""
    if "design" in spec:
        return clocked.ports(spec)
    if "operations" in spec:
        width, select = spec["width"], (len(spec["operations"]) - 1).bit_length()
        sizes = (("a", "input", width), ("b", "input", width), ("s", "input", select), ("y", "output", width))
        return tuple(Port(*size) for size in sizes)
    inputs = [Port(name, "input", 1) for name in _BITS[: spec["inputs"]]]
    return (*inputs, *(Port(name, "output", 1) for name in _OUTPUTS[: len(spec["tables"])]))


def outputs(spec: Spec) -> tuple[str, ...]:
    """The outputs of a circuit without memory for all inputs in order, as bits, computed from the question alone."""
    if "operations" not in spec:
        return tuple("".join(bits) for bits in zip(*spec["tables"], strict=True))
    width, operations = spec["width"], [_VALUES[name] for name in spec["operations"]]
    words = range(2**width)
    return tuple(
        f"{operation(a, b) % 2**width:0{width}b}" for a, b, operation in itertools.product(words, words, operations)
    )


def judge_by_outputs(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: simulated outputs are compared with the question itself, without reference and without SAT."""
    answers = [answer_in(problem, text) for problem, text in pairs]
    verdicts = [Verdict.fail("format", "no marked answer")] * len(pairs)
    marked = [i for i, answer in enumerate(answers) if answer is not None]
    specs = [problem.spec for problem, _ in pairs]
    circuits = {i: circuit(specs[i], answers[i] or "") for i in marked}
    plain = [i for i in marked if "design" not in specs[i]]
    items = [(circuits[i], ports(specs[i]), outputs(specs[i])) for i in plain]
    for i, verdict in zip(plain, has_outputs(items), strict=True):
        verdicts[i] = verdict
    timed = [i for i in marked if "design" in specs[i]]
    shown = printed([(circuits[i], ports(specs[i]), clocked.clock(specs[i])) for i in timed])
    for i, lines in zip(timed, shown, strict=True):
        verdicts[i] = lines if isinstance(lines, Verdict) else _followed(specs[i], circuits[i], lines)
    return verdicts


def _followed(spec: Spec, text: str, lines: Sequence[str]) -> Verdict:
    wrong = clocked.wrong_lines(spec, lines)
    return Verdict.fail("wrong", f"{wrong} of {len(lines)} outputs differ") if wrong else Verdict.ok(text.strip())


def answer_in(problem: Problem, text: str) -> str | None:
    """The circuit that a response marks; None if it marks none."""
    return (fenced(text) if problem.wording == "natural" else None) or find_answer(text, problem.wording)


def _check(spec: Spec, text: str) -> Verdict:
    return _verdicts([(spec, text)])[0]


VERILOG = Task(
    name="verilog",
    domain="circuits",
    summary=(
        "A circuit in Verilog; levels 1 to 4 from truth tables of two to four inputs, 5 and 6 units with two and four "
        "operations, 7 to 10 with a clock: shift registers, counters, accumulators, machines."
    ),
    generator=Generator(levels=range(1, 11), first=5, instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(
        check=_check,
        verify_many=verify_all,
        second=judge_by_outputs,
        externals=("iverilog", "yosys"),
        seconds=IVERILOG.deadline + YOSYS.deadline,
    ),
    abilities=(
        OwnBase("units that select between two operations", levels=(5,), num_steps=24, context=128, hidden=160),
    ),
)
