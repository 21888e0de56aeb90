"""Mathematics: golds with a known value, each rewritten as careless models write, or spoiled, or hedged.

A gold is drawn as a value. Every rewriting is written from the value by hand-made rules, and not with what the verifier
normalises; a wrong answer is a rewriting of another value, or a planted trap around the right one.
"""

# ruff: noqa: E501  (a table of writings on few lines each)
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import gcd

from assay.verifiers.audit import Labelled

Made = tuple[str, list[str], list[str]]  # a gold, right writings of it, wrong ones
Draw = random.Random


def _grouped(n: int, mark: str) -> str:
    return f"{n:,}".replace(",", mark)


def integer(d: Draw) -> Made:
    n = d.choice([d.randint(2, 99), d.randint(100, 9999), d.randint(10_000, 9_999_999), -d.randint(1, 500)])
    m = d.randint(2, 9)
    right = [f"{n}", f"{n}.0", f"{n}.00", rf"{n}.", rf"{{{n}}}", rf"\frac{{{n * m}}}{{{m}}}", rf"{n + m}-{m}", f"{n}/1",
             rf"\mathbf{{{n}}}", rf"\text{{{n}}}", rf"\, {n}", _grouped(n, ","), _grouped(n, "{,}"), _grouped(n, r"\,"),
             rf"\left({n}\right)", rf"x={n}", rf"{n * m} \div {m}", rf"\displaystyle {n}"]  # fmt: skip
    if n > 0:
        right += [f"+{n}", rf"\sqrt{{{n * n}}}", f"0{n}", f"{n}^1", rf"|-{n}|"]
    wrong = [f"{n + 1}", f"{n - 1}", f"{-n}", f"{n * 10}", f"{n}0", f"{n}.1", f"{n}.001", f"{str(n)[::-1]}7", f"{n}^2",
             rf"\frac{{{n}}}{{{m}}}", rf"{n}\pi", f"{n}x", rf"\frac{{1}}{{{n}}}", f"{n},{n + 1}", f"{n}!!",
             rf"{n} \text{{ or }} {n + 1}", rf"{n}\pm 1", rf"{n}+\epsilon", f"[{n - 1}, {n + 1}]", rf"\neq {n}", f"> {n}",
             rf"\text{{not }} {n}", rf"{n} = {n + 1}", f"{n}i", rf"{n}\sqrt{{2}}", r"\infty", "x", f"10^{{{n}}}", "NaN"]  # fmt: skip
    return f"{n}", right, wrong


def fraction(d: Draw) -> Made:
    b = d.choice([2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 20, 25, 35])
    a = d.randint(1, 3 * b)
    while gcd(a, b) > 1:
        a += 1
    k, s = d.randint(2, 6), d.choice(["", "-"])
    right = [rf"{s}\frac{{{a}}}{{{b}}}", rf"{s}\dfrac{{{a}}}{{{b}}}", rf"{s}\tfrac{{{a}}}{{{b}}}", f"{s}{a}/{b}", f"{s}({a})/({b})",
             rf"\frac{{{s}{a}}}{{{b}}}", rf"{s}\frac{{{a * k}}}{{{b * k}}}", rf"{{{s}{a} \over {b}}}", f"{s}{a * k}/{b * k}",
             rf"{s}\left(\frac{{{a}}}{{{b}}}\right)", rf"{s}{a} \div {b}", f"{s} {a} / {b}", rf"{s}\frac{{{a}.0}}{{{b}}}",
             rf"{s}{a}\cdot\frac{{1}}{{{b}}}", rf"x = {s}\frac{{{a}}}{{{b}}}", rf"{s}\cfrac{{{a}}}{{{b}}}"]  # fmt: skip
    if a > b:
        right += [
            rf"{s}{a // b}\frac{{{a % b}}}{{{b}}}",
            f"{s}{a // b} {a % b}/{b}",
            rf"{s}{a // b}\dfrac{{{a % b}}}{{{b}}}",
        ]
    value = Fraction(a, b)
    if b in (2, 4, 5, 8, 16, 20, 25):
        right += [f"{s}{float(value)}", f"{s}{float(value)}0"]
    wrong = [rf"{s}\frac{{{b}}}{{{a + b}}}", rf"{s}\frac{{{a + 1}}}{{{b}}}", rf"{s}\frac{{{a}}}{{{b + 1}}}", rf"{s}{a}{b}",
             rf"{s}{a}", rf"{s}\frac{{{a}}}{{{b}}}\pi", rf"\frac{{{a}}}{{{b}}}" if s else rf"-\frac{{{a}}}{{{b}}}",
             f"{s}{float(value) + 0.011:.4f}", rf"{s}\frac{{{a * k}}}{{{b}}}", rf"{s}\sqrt{{\frac{{{a}}}{{{b + 1}}}}}",
             rf"{s}\frac{{{a}}}{{{b}}}, {k}", rf"{s}\frac{{{a}}}{{{b}}} \text{{ or }} {k + 9}", f"{s}{a}:{b + 1}",
             rf"{s}\frac{{{a}}}{{{b}}}x", rf"{s}{k}\frac{{{a}}}{{{b}}}", rf"\left({s}\frac{{{a}}}{{{b}}}\right)^{{3}}",
             rf"{s}\binom{{{a + b}}}{{{2}}}", f"{s}({a},{b})"]  # fmt: skip
    return rf"{s}\frac{{{a}}}{{{b}}}", right, wrong


def decimal(d: Draw) -> Made:
    whole, part = d.randint(0, 99), d.choice(["25", "5", "75", "125", "04", "375", "2", "64", "0625"])
    v = Fraction(f"{whole}.{part}")
    right = [f"{whole}.{part}", f"{whole}.{part}0", rf"{whole}.{part}\,", rf"\frac{{{v.numerator}}}{{{v.denominator}}}",
             f"{v.numerator}/{v.denominator}", f"+{whole}.{part}", rf"\text{{{whole}.{part}}}", rf"{whole}+0.{part}"]  # fmt: skip
    right += [f".{part}"] if whole == 0 else []
    wrong = [f"{whole}.{part}1", f"{whole}{part}", f"{whole}.{part[:-1]}9{part[-1]}", f"-{whole}.{part}", f"{whole + 1}.{part}",
             f"{whole}.0{part}", f"{v.denominator}/{v.numerator + 1}", rf"{whole}.{part}\pi", rf"{whole}, {part}7",
             rf"{whole}.{part}\times 10^{{1}}", f"{whole + 2}", rf"\lceil {whole}.{part} \rceil", rf"{whole}.{part} \pm 0.01"]  # fmt: skip
    return f"{whole}.{part}", right, wrong


def radical(d: Draw) -> Made:
    r, c, e = d.choice([2, 3, 5, 6, 7, 10, 11, 13]), d.randint(2, 12), d.choice([1, 1, 2, 3, 4, 5, 7])
    while gcd(c, e) > 1:
        c += 1
    gold = rf"{c}\sqrt{{{r}}}" if e == 1 else rf"\frac{{{c}\sqrt{{{r}}}}}{{{e}}}"
    right = [gold, rf"\frac{{{c}}}{{{e}}}\sqrt{{{r}}}", rf"\frac{{\sqrt{{{c * c * r}}}}}{{{e}}}", rf"{c}\sqrt{{{r}}}/{e}",
             rf"\frac{{{c * r}}}{{{e}\sqrt{{{r}}}}}", rf"\frac{{{c}\cdot {r}^{{1/2}}}}{{{e}}}", f"{c}*sqrt({r})/{e}", f"({c}√{r})/{e}",
             rf"\dfrac{{{2 * c}\sqrt{{{r}}}}}{{{2 * e}}}", rf"\sqrt{{{r}}}\cdot\frac{{{c}}}{{{e}}}", rf"x={gold}"]  # fmt: skip
    wrong = [rf"{c}\sqrt{{{r + 1}}}", rf"\frac{{{c + 1}\sqrt{{{r}}}}}{{{e}}}", rf"-{gold}", rf"\pm {gold}", rf"\frac{{{c}{r}}}{{{e}}}",
             rf"\frac{{{c}\sqrt{{{r}}}}}{{{e + 1}}}", rf"\frac{{{c}+\sqrt{{{r}}}}}{{{e}}}", rf"{c}\sqrt[3]{{{r}}}", f"{c * r}",
             rf"\frac{{\sqrt{{{c * r}}}}}{{{e}}}", f"{c * r**0.5 / e:.2g}", rf"{gold} + 0.001", rf"{gold}, -{gold}", rf"{gold}\pi"]  # fmt: skip
    return gold, right, wrong


def pi(d: Draw) -> Made:
    a, b = d.randint(1, 24), d.choice([1, 1, 2, 3, 4, 6, 9])
    while gcd(a, b) > 1:
        a += 1
    top = rf"{a if a > 1 else ''}\pi"
    gold = top if b == 1 else rf"\frac{{{top}}}{{{b}}}"
    right = [gold, rf"\frac{{{a}}}{{{b}}}\pi", f"{a}π/{b}", rf"{a}\pi/{b}", f"{a}*pi/{b}", rf"\pi\cdot\frac{{{a}}}{{{b}}}",
             rf"\dfrac{{{2 * a}\pi}}{{{2 * b}}}", rf"{a}\cdot\pi\cdot\frac{{1}}{{{b}}}", rf"\frac{{\pi {a}}}{{{b}}}"]  # fmt: skip
    wrong = [rf"\frac{{{a + 1}\pi}}{{{b}}}", rf"\frac{{{a}}}{{{b}}}", rf"\frac{{{a}\pi}}{{{b + 1}}}", rf"-{gold}", rf"{gold}^2" if b == 1 else rf"\frac{{{a}\pi^2}}{{{b}}}",
             rf"\frac{{{a}}}{{{b}\pi}}", rf"{a}p/{b}", rf"\frac{{{22 * a}}}{{{7 * b}}}", f"{a * 3.1 / b:.2f}", rf"{gold}+1", rf"\frac{{{a}e}}{{{b}}}",
             rf"{gold}+2\pi", rf"{gold}r"]  # fmt: skip
    return gold, right, wrong


def pair(d: Draw) -> Made:
    items = d.sample(range(-9, 20), d.choice([2, 2, 3]))
    if items[::-1] == items:
        items[0] += 50
    text = ", ".join(map(str, items))
    gold = f"({text})"
    right = [gold, gold.replace(" ", ""), rf"\left({text}\right)", rf"\big({text}\big)", f"( {text} )", "(" + text.replace(",", r",\,") + ")",
             f"({', '.join(f'{i}.0' for i in items)})", "(" + ", ".join(rf"\frac{{{2 * i}}}{{2}}" for i in items) + ")"]  # fmt: skip
    if len(items) == 2:
        right += [rf"(x, y) = ({text})", f"x = {items[0]}, y = {items[1]}"]
    turned, more = ", ".join(map(str, items[::-1])), [*items[:-1], items[-1] + 1]
    wrong = [f"({turned})", f"({', '.join(map(str, more))})", f"({', '.join(map(str, items[:-1]))})", f"({text}, 0)", f"({', '.join(str(-i) for i in items[:-1])}, {items[-1] + 2})",
             f"({text}), ({turned})", f"{sum(items) + 100}", f"({text.replace(',', '+')})", f"({text})+1", f"({items[0]}, {items[1]}, {items[1]})"]  # fmt: skip
    return gold, right, wrong


def several(d: Draw) -> Made:
    items = d.sample(range(-12, 40), d.choice([2, 3, 4]))
    text, mixed = ", ".join(map(str, items)), d.sample(items, len(items))
    right = [text, ",".join(map(str, mixed)), rf"\{{{', '.join(map(str, mixed))}\}}", rf"\left\{{{text}\right\}}", f"{', '.join(map(str, mixed[:-1]))} and {mixed[-1]}",
             rf"{', '.join(map(str, items[:-1]))} \text{{ and }} {items[-1]}", f"x = {text}", ", ".join(f"x={i}" for i in mixed),
             rf"{', '.join(f'{i}.0' for i in items)}", " or ".join(f"x = {i}" for i in items), rf"x\in\{{{text}\}}"]  # fmt: skip
    new = next(i for i in range(50, 60))
    wrong = [", ".join(map(str, items[:-1])), f"{text}, {new}", ", ".join(map(str, [*items[:-1], new])), f"{items[0]}", text.replace(",", ""), f"{sum(items) + 300}",
             rf"\{{{', '.join(map(str, [*items[1:], items[0] + 70]))}\}}", ", ".join(str(-i - 1) for i in items), f"{text}, \\dots", rf"[{min(items)}, {max(items)}]"]  # fmt: skip
    return text, right, wrong


def interval(d: Draw) -> Made:
    a = d.randint(-9, 5)
    b = a + d.randint(1, 12)
    left, close = d.choice("[("), d.choice("])")
    gold = f"{left}{a}, {b}{close}"
    low, high = {"[": r"\le", "(": "<"}[left], {"]": r"\le", ")": "<"}[close]
    right = [gold, gold.replace(" ", ""), rf"\left{left}{a}, {b}\right{close}", rf"{a} {low} x {high} {b}", rf"x\in {gold}",
             rf"{left}{a}.0, {b}{close}", rf"{left}{a},\, {b}{close}", rf"x \in \left{left}{a}, {b}\right{close}"]  # fmt: skip
    other = {"[": "(", "(": "[", "]": ")", ")": "]"}
    wrong = [f"{other[left]}{a}, {b}{close}", f"{left}{a}, {b}{other[close]}", f"{left}{a}, {b + 1}{close}", f"{left}{a - 1}, {b}{close}", f"{left}{b}, {a}{close}",
             rf"(-\infty, {b}{close}", rf"{left}{a}, \infty)", rf"x {high} {b}", f"{a}", rf"{gold} \cup [{b + 2}, {b + 3}]", rf"(-\infty, {a}) \cup ({b}, \infty)"]  # fmt: skip
    return gold, right, wrong


def polynomial(d: Draw) -> Made:
    p, q = d.sample([-7, -5, -4, -3, -2, 2, 3, 4, 5, 6, 8], 2)
    while p + q in (0, 1, -1) or abs(p * q) < 2:
        q += 1 if q != -1 else 2
    v = d.choice("xtn")

    def signed(n: int, of: str = "") -> str:
        return f"{'+' if n > 0 else '-'}{abs(n)}{of}"

    b, c = p + q, p * q
    gold = f"{v}^2{signed(b, v)}{signed(c)}"
    factors = f"({v}{signed(p)})({v}{signed(q)})"
    right = [gold, factors, f"({v}{signed(q)})({v}{signed(p)})", f"{v}^{{2}} {signed(b)} {v} {signed(c)}", f"{signed(c).lstrip('+')}{signed(b, v)}+{v}^2",
             rf"{v}\cdot {v}{signed(b)}\cdot {v}{signed(c)}", f"{v}**2{signed(b)}*{v}{signed(c)}", rf"{v}({v}{signed(b)}){signed(c)}",
             rf"\left({v}{signed(p)}\right)\left({v}{signed(q)}\right)", rf"\frac{{2{v}^2{signed(2 * b, v)}{signed(2 * c)}}}{{2}}", f"{v}²{signed(b, v)}{signed(c)}"]  # fmt: skip
    wrong = [f"{v}^2{signed(b, v)}{signed(c + 1)}", f"{v}^2{signed(-b, v)}{signed(c)}", f"{v}^3{signed(b, v)}{signed(c)}", f"({v}{signed(-p)})({v}{signed(q)})",
             f"{v}^2{signed(b, v)}", f"-({gold})", f"2({gold})", gold.replace(v, "y"), gold.replace(v, v.upper()), f"{gold}=0", f"({v}{signed(p)})^2({v}{signed(q)})",
             f"{c}", f"{v}^2{signed(b)}{signed(c, v)}", rf"{gold}+10^{{-9}}", f"{v}={-p}, {v}={-q}"]  # fmt: skip
    return gold, right, wrong


def measure(d: Draw) -> Made:
    n = d.randint(2, 400)
    short, names, other = d.choice([
        ("cm", ["centimeters", "cm"], "mm"), ("m", ["meters", "metres"], "km"), ("kg", ["kilograms", "kg"], "g"), ("km", ["kilometers", "km"], "miles"),
        ("hours", ["hours", "hr"], "minutes"), ("minutes", ["minutes", "min"], "seconds"), ("inches", ["inches", "in"], "feet"), ("grams", ["g", "grams"], "kg")])  # fmt: skip
    gold = rf"{n}\text{{ {short}}}"
    right = [
        gold,
        f"{n} {names[0]}",
        rf"{n}\,\mathrm{{{short}}}",
        rf"{n} \text{{{names[-1]}}}",
        f"{n} {short}",
        rf"{n}\ \text{{{short}}}",
        f"{n}.0 {short}",
    ]
    wrong = [rf"{n}\text{{ {other}}}", rf"{n + 1}\text{{ {short}}}", f"{n * 10} {short}", rf"{n}\text{{ {short}}}^2", f"{n} apples", f"-{n} {short}",
             rf"{n}\text{{ {short}}} \text{{ per second}}", f"{n + 3}", f"{n} square {short}"]  # fmt: skip
    return gold, right, wrong


def share(d: Draw) -> Made:
    n = d.choice([d.randint(1, 99), d.randint(101, 300)])
    right = [rf"{n}\%", f"{n}%", f"{n} percent", rf"{n}\text{{ percent}}", rf"{n}.0\%", rf"{n} \%", rf"{n}\,\%"]
    wrong = [
        rf"{n + 1}\%",
        rf"{n}0\%",
        rf"-{n}\%",
        f"{n + 7}",
        rf"{n}.5\%",
        rf"\frac{{{n}}}{{10}}",
        rf"{100 - n + 201}\%",
        f"{n * 100}",
        rf"{n}\% \text{{ or }} {n + 5}\%",
    ]
    return rf"{n}\%", right, wrong


def choice(d: Draw) -> Made:
    c = d.choice("ABCDE")
    o = d.choice([x for x in "ABCDE" if x != c])
    right = [
        c,
        f"({c})",
        rf"\text{{{c}}}",
        rf"\textbf{{({c})}}",
        f"{c}.",
        f"({c}) ",
        rf"\mathrm{{{c}}}",
        rf"\textbf{{{c}}}",
        rf"\text{{({c})}}",
    ]
    wrong = [
        o,
        f"({o})",
        rf"\text{{{o}}}",
        f"{c}, {o}",
        f"{c} or {o}",
        f"{c}{o}",
        f"not {c}",
        "all of them",
        rf"\textbf{{({o})}}",
        "ABCDE",
        f"{c} and {o}",
        f"{o}. {c}",
    ]
    return c, right, wrong


def scientific(d: Draw) -> Made:
    m, e = f"{d.randint(1, 9)}.{d.randint(1, 9)}", d.choice([3, 4, 5, 6, 8, 12])
    gold = rf"{m}\times 10^{{{e}}}"
    right = [gold, rf"{m} \cdot 10^{{{e}}}", rf"{m}\times10^{e}" if e < 10 else gold, f"{m}e{e}", f"{round(float(m) * 10) * 10 ** (e - 1)}",
             f"{round(float(m) * 10) * 10 ** (e - 1):,}", rf"{m.replace('.', '')}\times 10^{{{e - 1}}}", f"{m}*10^{e}", f"{m} × 10^{{{e}}}"]  # fmt: skip
    wrong = [rf"{m}\times 10^{{{e + 1}}}", rf"{m}1\times 10^{{{e}}}", rf"{m}\times 10^{{-{e}}}", rf"{m}", rf"{m}\times {e}^{{10}}", rf"-{gold}", rf"10^{{{e}}}", f"{m}e{e - 1}",
             f"{round(float(m) * 10) * 10 ** (e - 1) + 10 ** (e - 2)}", rf"{m}+10^{{{e}}}"]  # fmt: skip
    return gold, right, wrong


def complexes(d: Draw) -> Made:
    a, b = d.randint(-9, 9) or 4, d.randint(2, 9)
    s = d.choice("+-")
    gold = f"{a}{s}{b}i"
    first = f"{'' if s == '+' else '-'}{b}i"
    right = [
        gold,
        f"{a} {s} {b}i",
        f"{first}{'+' if a > 0 else '-'}{abs(a)}",
        rf"{a}{s}{b}\cdot i",
        rf"{a}{s}i\cdot {b}",
        rf"\left({a}{s}{b}i\right)",
        rf"z={gold}",
        f"{a}.0{s}{b}i",
    ]
    wrong = [f"{a}{'-' if s == '+' else '+'}{b}i", f"{-a}{s}{b}i", f"{a}{s}{b}", f"{a}{s}{b + 1}i", f"{a + 1}{s}{b}i", f"{b}{s}{a + 20}i", f"{a}", first, f"{a}{s}{b}j+1", rf"\pm({gold})",
             f"{a * a + b * b + 1}", f"{gold}, {a}"]  # fmt: skip
    return gold, right, wrong


def matrix(d: Draw) -> Made:
    rows = [[d.randint(-9, 9) for _ in range(2)] for _ in range(2)]
    if rows[0][1] == rows[1][0]:
        rows[0][1] += 11

    def written(m: list[list[int]], kind: str = "pmatrix", gap: str = " ") -> str:
        inner = f"{gap}\\\\{gap}".join(f"{gap}&{gap}".join(map(str, row)) for row in m)
        return rf"\begin{{{kind}}}{gap}{inner}{gap}\end{{{kind}}}"

    right = [
        written(rows),
        written(rows, gap=""),
        written(rows, "bmatrix"),
        written(rows, gap="\n"),
        rf"A = {written(rows)}",
    ]
    flat = [list(row) for row in zip(*rows, strict=True)]
    more = [rows[0], [rows[1][0], rows[1][1] + 1]]
    wrong = [written(flat), written(more), written(rows[::-1]) if rows[0] != rows[1] else written(more), written(rows[:1]), rf"2{written([[20, 1], [3, 4]])}", f"{rows[0][0]}",
             rf"-{written(more)}", written([[*row, 0] for row in rows]), rf"{written(rows)}^2 + {written(rows)}"]  # fmt: skip
    return written(rows), right, wrong


def relation(d: Draw) -> Made:
    n, v = d.randint(-9, 30), d.choice("xtk")
    sign, mirror, left, closed = d.choice([(">", "<", rf"({n}, \infty)", 0), ("<", ">", rf"(-\infty, {n})", 0), (r"\geq", r"\leq", rf"[{n}, \infty)", 1), (r"\leq", r"\geq", rf"(-\infty, {n}]", 1)])  # fmt: skip
    gold = f"{v} {sign} {n}"
    right = [
        gold,
        f"{n} {mirror} {v}",
        f"{v}{sign} {n}",
        rf"{v} {sign} \frac{{{2 * n}}}{{2}}",
        f"{n}.0 {mirror} {v}",
        rf"{v} \in {left}",
    ]
    right += (
        [gold.replace(r"\geq", r"\ge").replace(r"\leq", r"\le"), gold.replace(r"\geq", "≥").replace(r"\leq", "≤")]
        if closed
        else []
    )
    other = {">": r"\geq", "<": r"\leq", r"\geq": ">", r"\leq": "<"}
    wrong = [
        f"{v} {mirror} {n}",
        f"{v} {other[sign]} {n}",
        f"{v} {sign} {n + 1}",
        f"{v} = {n}",
        f"{n + 50}",
        f"{v}^2 {sign} {n}",
        f"{n} {sign} {v}",
        f"-{v} {sign} {n + 3}",
        rf"{v} \neq {n}",
    ]
    return gold, right, wrong


def angle(d: Draw) -> Made:
    n = d.randint(1, 359)
    right = [
        rf"{n}^\circ",
        rf"{n}^{{\circ}}",
        f"{n}°",
        f"{n} degrees",
        rf"{n}\text{{ degrees}}",
        rf"{n}.0^\circ",
        rf"{n} ^\circ",
    ]
    wrong = [
        rf"{n + 1}^\circ",
        rf"-{n}^\circ",
        rf"{n}\text{{ radians}}",
        rf"{n}'",
        rf"{n}0^\circ",
        rf"{n}.5^\circ",
        rf"{n}\pi",
        f"{n + 360}",
        rf"{n}^\circ \text{{ or }} {n + 9}^\circ",
    ]
    return rf"{n}^\circ", right, wrong


def money(d: Draw) -> Made:
    n = d.randint(2, 900)
    right = [rf"\${n}", f"${n}", f"{n} dollars", rf"\${n}.00", rf"{n}\text{{ dollars}}", rf"\$ {n}", rf"\text{{\${n}}}"]
    wrong = [
        rf"\${n + 1}",
        rf"\${n}0",
        f"{n} cents",
        rf"-\${n}",
        f"{n} euros",
        rf"\${n}.50",
        rf"\${n},000",
        f"{n + 5} dollars",
        f"{n}k",
    ]
    return rf"\${n}", right, wrong


KINDS: dict[str, Callable[[Draw], Made]] = {
    "integer": integer, "fraction": fraction, "decimal": decimal, "radical": radical, "pi": pi, "pair": pair, "several": several,
    "interval": interval, "polynomial": polynomial, "measure": measure, "share": share, "choice": choice, "scientific": scientific,
    "complex": complexes, "matrix": matrix, "relation": relation, "angle": angle, "money": money,
}  # fmt: skip
SAID = (
    r"\boxed{%s}", r"The answer is \boxed{%s}.", r"\[\boxed{%s}\]", r"So we get $\boxed{%s}$.", r"Let me compute. 3+4=7. **\boxed{%s}**",
    "#### %s", "<answer>%s</answer>", r"I first thought \boxed{123456}, but that is wrong. $\boxed{%s}$", "Step 1: 17.\nStep 2: 5/9.\n\n\\boxed{%s}\n",
    r"\fbox{%s}", r"Final Answer: $%s$", r"**Answer:** $%s$", r"Therefore, the final answer is: $\boxed{%s}$. I hope it is correct.",
)  # fmt: skip
TRAPS = (
    r"\boxed{%s} no, wait: \boxed{%s}", r"It is surely %s. \boxed{%s}", r"The gold is %s, and I say \boxed{%s}.", r"\boxed{\text{%s is wrong}} \boxed{%s}", "#### %s\n#### %s",
    r"<answer>%s</answer> <answer>%s</answer>",
)  # fmt: skip


def right(count: int, seed: int) -> Iterator[Labelled]:
    yield from _made(count, f"right {seed}", True)


def wrong(count: int, seed: int) -> Iterator[Labelled]:
    yield from _made(count, f"wrong {seed}", False)


def _made(count: int, seed: str, label: bool) -> Iterator[Labelled]:
    """Different items, kind after kind."""
    draw, seen, kinds = random.Random(seed), set[tuple[str, str]](), list(KINDS)
    made = 0
    while made < count:
        kind = kinds[made % len(kinds)]
        gold, good, bad = KINDS[kind](draw)
        answer = draw.choice(good if label else bad)
        if not label and draw.random() < 0.15:
            text = draw.choice(TRAPS) % (gold, answer)
        else:
            text = draw.choice(SAID) % answer
        if (gold, text) not in seen:
            seen.add((gold, text))
            made += 1
            yield Labelled(gold, text, label, kind, origin="rewritten" if label else "spoiled")
