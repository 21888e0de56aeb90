"""Small programming problems with solutions, written from the descriptions beside them."""

# ruff: noqa: E501  (programs on one line each)
from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wanted:
    """A problem: what a function (or a program of streams) has to give, inputs for it, and solutions."""

    says: str
    entry: str  # the function's name; "": a program that reads standard input and prints
    edge: list[Any]  # inputs by hand: tuples of arguments, or texts
    draw: Callable[[random.Random], Any]
    solutions: tuple[str, ...]


def _ints(draw: random.Random, most: int = 8, low: int = -9, high: int = 9, least: int = 0) -> list[int]:
    return [draw.randint(low, high) for _ in range(draw.randint(least, most))]


def _word(draw: random.Random, letters: str = "abcab ", most: int = 8) -> str:
    return "".join(draw.choice(letters) for _ in range(draw.randint(0, most)))


def _column(numbers: list[int]) -> str:
    return f"{len(numbers)}\n{' '.join(map(str, numbers))}\n"


FUNCTIONS = (
    Wanted("the second largest of the different values, None if there is none", "second", [([],), ([3],), ([3, 3],), ([1, 2],)],
           lambda d: (_ints(d),),
           ("def second(xs):\n    seen = sorted(set(xs))\n    return seen[-2] if len(seen) > 1 else None",
            "def second(xs):\n    a = b = None\n    for x in xs:\n        if a is None or x > a:\n            a, b = x, a\n        elif x != a and (b is None or x > b):\n            b = x\n    return b")),
    Wanted("whether brackets of three kinds are balanced", "balanced", [("",), ("(",), ("([)]",), ("([]{})",), (")(",), ("x",), ("(x)",)],
           lambda d: (_word(d, "()[]{}x", 6),),
           ("def balanced(s):\n    pairs = {')': '(', ']': '[', '}': '{'}\n    stack = []\n    for c in s:\n        if c in pairs.values():\n            stack.append(c)\n        elif c in pairs:\n            if not stack or stack.pop() != pairs[c]:\n                return False\n    return not stack",
            "def balanced(s):\n    s = ''.join(c for c in s if c in '()[]{}')\n    while True:\n        t = s.replace('()', '').replace('[]', '').replace('{}', '')\n        if t == s:\n            return s == ''\n        s = t")),
    Wanted("runs of equal letters as [letter, length]", "runs", [("",), ("a",), ("aab",), ("abba",)], lambda d: (_word(d, "ab"),),
           ("def runs(s):\n    out = []\n    for c in s:\n        if out and out[-1][0] == c:\n            out[-1][1] += 1\n        else:\n            out.append([c, 1])\n    return out",
            "from itertools import groupby\ndef runs(s):\n    return [[k, len(list(g))] for k, g in groupby(s)]")),
    Wanted("the greatest sum of neighbouring elements, 0 for none", "best", [([],), ([-3],), ([2, -1, 3],), ([-1, 4, -9, 5],)],
           lambda d: (_ints(d),),
           ("def best(xs):\n    top = here = 0\n    for x in xs:\n        here = max(0, here + x)\n        top = max(top, here)\n    return top",
            "def best(xs):\n    return max([0] + [sum(xs[i:j]) for i in range(len(xs)) for j in range(i + 1, len(xs) + 1)])")),
    Wanted("the greatest common divisor of two numbers that are not negative", "divisor", [(0, 0), (0, 5), (12, 18), (7, 1)],
           lambda d: (d.randint(0, 60), d.randint(0, 60)),
           ("def divisor(a, b):\n    while b:\n        a, b = b, a % b\n    return a", "import math\ndef divisor(a, b):\n    return math.gcd(a, b)")),
    Wanted("whether a number is prime", "prime", [(0,), (1,), (2,), (4,), (9,), (25,), (49,), (97,), (-3,)], lambda d: (d.randint(-5, 130),),
           ("def prime(n):\n    if n < 2:\n        return False\n    i = 2\n    while i * i <= n:\n        if n % i == 0:\n            return False\n        i += 1\n    return True",
            "def prime(n):\n    return n > 1 and all(n % i for i in range(2, n))")),
    Wanted("the digits of a number from 0 upwards in a base from 2 to 9, as text", "based", [(0, 2), (5, 2), (81, 3), (8, 9)],
           lambda d: (d.randint(0, 200), d.randint(2, 9)),
           ("def based(n, b):\n    if n == 0:\n        return '0'\n    out = ''\n    while n:\n        out = str(n % b) + out\n        n //= b\n    return out",
            "def based(n, b):\n    return (based(n // b, b) if n >= b else '') + str(n % b)")),
    Wanted("two sorted lists merged", "merged", [([], []), ([1], []), ([], [2]), ([1, 3], [1, 2])],
           lambda d: (sorted(_ints(d, 5)), sorted(_ints(d, 5))),
           ("def merged(a, b):\n    i = j = 0\n    out = []\n    while i < len(a) and j < len(b):\n        if a[i] <= b[j]:\n            out.append(a[i])\n            i += 1\n        else:\n            out.append(b[j])\n            j += 1\n    return out + a[i:] + b[j:]",
            "def merged(a, b):\n    return sorted(a + b)")),
    Wanted("how often each word stands in a text, as a dict", "counts", [("",), ("a a b",), ("  x ",)], lambda d: (_word(d, "ab  "),),
           ("def counts(s):\n    out = {}\n    for w in s.split():\n        out[w] = out.get(w, 0) + 1\n    return out",
            "from collections import Counter\ndef counts(s):\n    return dict(Counter(s.split()))")),
    Wanted("the list turned to the right by k places", "turned", [([], 3), ([1, 2, 3], 1), ([1, 2, 3], 3), ([1, 2], 5), ([1, 2, 3], 0)],
           lambda d: (_ints(d, 6), d.randint(0, 12)),
           ("def turned(xs, k):\n    if not xs:\n        return []\n    k = k % len(xs)\n    return xs[-k:] + xs[:-k] if k > 0 else xs[:]",
            "def turned(xs, k):\n    xs = list(xs)\n    for _ in range(k):\n        if xs:\n            xs.insert(0, xs.pop())\n    return xs")),
    Wanted("the transposed matrix of rows of equal length", "flipped", [([],), ([[1]],), ([[1, 2], [3, 4], [5, 6]],)],
           lambda d: ([[d.randint(0, 9) for _ in range(3)] for _ in range(d.randint(1, 3))],),
           ("def flipped(m):\n    return [[row[i] for row in m] for i in range(len(m[0]))] if m else []",
            "def flipped(m):\n    return [list(c) for c in zip(*m)]")),
    Wanted("the place of x in a sorted list of different numbers, -1 if it is not there", "place", [([], 1), ([1], 1), ([1, 3], 2), ([1, 3, 5], 5), ([0, 6, 9], 0)],
           lambda d: (sorted(set(_ints(d))), d.randint(-9, 9)),
           ("def place(xs, x):\n    low, high = 0, len(xs) - 1\n    while low <= high:\n        mid = (low + high) // 2\n        if xs[mid] == x:\n            return mid\n        if xs[mid] < x:\n            low = mid + 1\n        else:\n            high = mid - 1\n    return -1",
            "def place(xs, x):\n    return xs.index(x) if x in xs else -1")),
    Wanted("the text with each letter a to z shifted by k places, the others as they are", "shifted", [("", 1), ("xyz", 3), ("a b", 1), ("abc", -1), ("m", 26)],
           lambda d: (_word(d, "axz Q!"), d.randint(-30, 30)),
           ("def shifted(s, k):\n    out = ''\n    for c in s:\n        if 'a' <= c <= 'z':\n            out += chr((ord(c) - 97 + k) % 26 + 97)\n        else:\n            out += c\n    return out",
            "def shifted(s, k):\n    abc = 'abcdefghijklmnopqrstuvwxyz'\n    return ''.join(abc[(abc.index(c) + k) % 26] if c in abc else c for c in s)")),
    Wanted("the number of ways to climb n steps by one or two", "ways", [(0,), (1,), (2,), (5,), (20,)], lambda d: (d.randint(0, 25),),
           ("def ways(n):\n    a, b = 1, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a",
            "def ways(n):\n    t = [1, 1]\n    for i in range(2, n + 1):\n        t.append(t[i - 1] + t[i - 2])\n    return t[n]")),
    Wanted("the edit distance of two words", "distance", [("", ""), ("a", ""), ("", "ab"), ("abc", "axc"), ("ab", "ba"), ("aacbb", "b")],
           lambda d: (_word(d, "abc", 5), _word(d, "abc", 5)),
           ("def distance(a, b):\n    row = list(range(len(b) + 1))\n    for i in range(1, len(a) + 1):\n        new = [i]\n        for j in range(1, len(b) + 1):\n            cost = 0 if a[i - 1] == b[j - 1] else 1\n            new.append(min(row[j] + 1, new[j - 1] + 1, row[j - 1] + cost))\n        row = new\n    return row[-1]",
            "def distance(a, b):\n    if not a or not b:\n        return len(a) + len(b)\n    if a[0] == b[0]:\n        return distance(a[1:], b[1:])\n    return 1 + min(distance(a[1:], b), distance(a, b[1:]), distance(a[1:], b[1:]))")),
    Wanted("(smallest, largest) of a list as a tuple, None for an empty one", "span", [([],), ([4],), ([4, -2, 9],)], lambda d: (_ints(d),),
           ("def span(xs):\n    if not xs:\n        return None\n    low = high = xs[0]\n    for x in xs:\n        low = min(low, x)\n        high = max(high, x)\n    return (low, high)",
            "def span(xs):\n    return (min(xs), max(xs)) if xs else None")),
)  # fmt: skip
STREAMS = (
    Wanted("read n and n numbers, print their sum", "", ["0\n\n", "1\n5\n", "3\n1 2 3\n"], lambda d: _column(_ints(d)),
           ("input()\nprint(sum(map(int, input().split())))",
            "import sys\ndata = sys.stdin.read().split()\nn = int(data[0])\ntotal = 0\nfor x in data[1:n + 1]:\n    total += int(x)\nprint(total)")),
    Wanted("read n, print the numbers from 1 to n, Fizz for multiples of 3, Buzz of 5, FizzBuzz of both", "", ["1\n", "3\n", "5\n", "15\n", "31\n"],
           lambda d: f"{d.randint(1, 40)}\n",
           ("n = int(input())\nfor i in range(1, n + 1):\n    s = ''\n    if i % 3 == 0:\n        s += 'Fizz'\n    if i % 5 == 0:\n        s += 'Buzz'\n    print(s or i)",
            "n = int(input())\nfor i in range(1, n + 1):\n    print('FizzBuzz' if i % 15 == 0 else 'Buzz' if i % 5 == 0 else 'Fizz' if i % 3 == 0 else i)")),
    Wanted("read a line, print it backwards, then how many vowels it has", "", ["\n", "a\n", "hello\n", "AEI x\n"],
           lambda d: _word(d, "aeboE xy", 9).strip() + "\n",
           ("s = input()\nprint(s[::-1])\nprint(sum(1 for c in s if c in 'aeiouAEIOU'))",
            "s = input()\nout = ''\nn = 0\nfor c in s:\n    out = c + out\n    if c.lower() in 'aeiou':\n        n += 1\nprint(out)\nprint(n)")),
    Wanted("read pairs 'a b' of whole numbers until the end, print a // b and a % b, or 'error' if b is 0", "", ["", "7 2\n", "7 0\n", "-7 2\n1 1\n"],
           lambda d: "".join(f"{d.randint(-20, 20)} {d.randint(-3, 3)}\n" for _ in range(d.randint(1, 4))),
           ("import sys\nfor line in sys.stdin:\n    a, b = map(int, line.split())\n    if b == 0:\n        print('error')\n    else:\n        print(a // b, a % b)",
            "while True:\n    try:\n        a, b = map(int, input().split())\n    except EOFError:\n        break\n    try:\n        print(*divmod(a, b))\n    except ZeroDivisionError:\n        print('error')")),
    Wanted("read n and n numbers, print the longest run of rising neighbours", "", ["1\n4\n", "3\n1 2 3\n", "3\n3 2 1\n", "5\n1 2 2 3 4\n"],
           lambda d: _column(_ints(d, 9, 0, 6, 1)),
           ("n = int(input())\nxs = list(map(int, input().split()))\nbest = run = 1\nfor i in range(1, n):\n    run = run + 1 if xs[i] > xs[i - 1] else 1\n    best = max(best, run)\nprint(best)",
            "input()\nxs = [int(x) for x in input().split()]\nprint(max(j - i for i in range(len(xs)) for j in range(i + 1, len(xs) + 1) if all(a < b for a, b in zip(xs[i:j], xs[i + 1:j]))))")),
    Wanted("read rows and columns, then a grid of . and #, print the number of # with no # beside it (four sides)", "",
           ["1 1\n#\n", "1 1\n.\n", "2 2\n##\n..\n", "3 3\n#.#\n...\n#.#\n", "3 2\n..\n.#\n.#\n", "2 3\n#..\n.#.\n"],
           lambda d: (lambda r, c: f"{r} {c}\n" + "".join("".join(d.choice("..#") for _ in range(c)) + "\n" for _ in range(r)))(d.randint(1, 4), d.randint(1, 4)),
           ("r, c = map(int, input().split())\ng = [input() for _ in range(r)]\ncount = 0\nfor i in range(r):\n    for j in range(c):\n        if g[i][j] == '#':\n            alone = True\n            for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0)):\n                y, x = i + a, j + b\n                if 0 <= y < r and 0 <= x < c and g[y][x] == '#':\n                    alone = False\n            if alone:\n                count += 1\nprint(count)",)),
)  # fmt: skip
