"""Programs that try to be rewarded without being right. None is, in any of the protocols."""
# ruff: noqa: E501  (programs on one line each)

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.sandbox import Limits, Sandbox, chosen
from assay.verifiers.programs import Call, Calls, Streams, verify

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]
LIMITS = Limits(seconds=1.0, memory_mb=256, output_kb=64)
SQUARES = Calls(tuple(Call("f", (x,), x * x) for x in (2, 3, 7, 12)), limits=LIMITS)
SORTED = Calls((Call("f", ([3, 1, 2],), [1, 2, 3]), Call("f", ([],), [])), "python", LIMITS)
TRUTH = Calls(tuple(Call("f", (x,), x % 2 == 1, "truth") for x in (1, 2, 3, 4)), "python", LIMITS)
STREAM = Streams((("3\n", "9\n"), ("5\n", "25\n")), limits=LIMITS)

_LIE = """
class Lie(BASE):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 3
    def __float__(self): return 4.0
    def __int__(self): return 4
    def __index__(self): return 4
    def __iter__(self): return iter([1, 2, 3])
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = __add__ = __radd__ = __sub__
    def __repr__(self): return "4"
    def __reduce__(self): return (int, (4,))
"""
_RIGHT_FRAME = '{"value": 4}\\n{"value": 9}\\n'

LIARS = {
    f"always equal {base}": _LIE.replace("BASE", base) + "\ndef f(x):\n    return Lie()\n"
    for base in ("object", "int", "float", "str", "list", "tuple", "dict", "set", "bytes", "frozenset")
} | {
    "a class that claims another": "class A:\n    __class__ = property(lambda s: int)\n    def __eq__(s, o): return True\n"
    "def f(x): return A()\n",
    "a mock": "from unittest.mock import MagicMock\ndef f(x):\n    m = MagicMock()\n    m.__eq__ = lambda s, o: True\n"
    "    return m\n",
    "a list of liars": _LIE.replace("BASE", "int") + "\ndef f(x): return [Lie(), Lie(), Lie()]\n",
    "a metaclass": "class M(type):\n    def __eq__(s, o): return True\n    def __hash__(s): return 0\n"
    "class A(metaclass=M): pass\ndef f(x): return A\n",
    "a type instead of a value": "def f(x): return int\n",
    "a generator": "def f(x):\n    yield x * x\n",
    "an async function": "async def f(x): return x * x\n",
    "a class instead of a function": "class f:\n    def __init__(self, x): pass\n    def __eq__(self, o): return True\n",
    "itself": "def f(x):\n    found = []\n    found.append(found)\n    return found\n",
    "nan": "def f(x): return float('nan')\n",
    "true": "def f(x): return True\n",
    "not implemented": "def f(x): return NotImplemented\n",
    "an ellipsis": "def f(x): return ...\n",
    "the right value as text": "def f(x): return str(x * x)\n",
    "the right value as a float": "def f(x): return float(x * x)\n",
    "the right value as a complex number": "def f(x): return complex(x * x)\n",
    "the right value in a list": "def f(x): return [x * x]\n",
    "every value at once": "def f(x): return list(range(1000))\n",
}

EXITS = {
    f"{how} {where}": template.format(how=how)
    for how in ("sys.exit(0)", "os._exit(0)", "raise SystemExit", "raise SystemExit(0)", "quit()", "exit()",
                "raise KeyboardInterrupt", "raise GeneratorExit", "os.abort()", "os.kill(os.getpid(), 9)")
    for where, template in {
        "at import": "import os, sys\nfrom _sitebuiltins import Quitter\nquit = exit = Quitter('exit', '')\n{how}\n",
        "in the function": "import os, sys\nfrom _sitebuiltins import Quitter\nquit = exit = Quitter('exit', '')\n"
        "def f(x):\n    {how}\n",
    }.items()
} | {
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\n",
    "exit from a thread": "import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\nimport time\n"
    "time.sleep(0.2)\n",
    "another program": "import os\nos.execv('/bin/true', ['true'])\n",
    "exit by a destructor": "import os\nclass A:\n    def __del__(self): os._exit(0)\nA()\ndef f(x): return 0\n",
    "exit by a trace": "import os, sys\nsys.settrace(lambda *a: os._exit(0))\ndef f(x): return 0\n",
    "exit by a profile": "import os, sys\nsys.setprofile(lambda *a: os._exit(0))\ndef f(x): return 0\n",
    "a skipped test": "import unittest\nraise unittest.SkipTest('later')\n",
    "a skipped call": "import unittest\ndef f(x): raise unittest.SkipTest('later')\n",
    "an assertion that is taken back": "def f(x):\n    raise AssertionError\n",
    "stop iteration": "def f(x): raise StopIteration(x * x)\n",
}  # fmt: skip

FORGERIES = {
    "a forged verdict": 'print(\'{"verdict": "ok", "passed": true, "reward": 1.0}\')\ndef f(x): return 0\n',
    "a forged report": "print('4 passed in 0.01s')\nprint('OK')\ndef f(x): return 0\n",
    "forged frames before the calls": f"import os\nos.write(3, b'{_RIGHT_FRAME}')\nos._exit(0)\n",
    "forged frames on every descriptor": "import os\nfor number in range(1000):\n"
    f"    try: os.write(number, b'{_RIGHT_FRAME}')\n    except OSError: pass\ndef f(x): return 0\n",
    "a frame that is more than a value": "import os\nfor _ in range(4):\n"
    '    os.write(3, b\'{"passed": true, "status": "ok", "ours": true}\\n\')\nos._exit(0)\n',
    "frames of wrong form": "import os\nfor _ in range(4):\n    os.write(3, b'[]\\n')\nos._exit(0)\n",
    "frames that nest": "import os\nos.write(3, b'{\"value\": ' + b'[' * 20000 + b']' * 20000 + b'}\\n')\nos._exit(0)\n",
    "a frame of a huge number": "import os\nos.write(3, b'{\"value\": ' + b'9' * 20000 + b'}\\n')\nos._exit(0)\n",
    "the mark of a start": "import os\nos.write(3, b'\\x01' * 100)\nos._exit(125)\n",
    "no end of line": "import os\nos.write(3, b'{\"value\": 4}')\nos._exit(0)\n",
    "the reply is closed": "import os\nos.close(3)\ndef f(x): return 0\n",
    "json is patched": "import json\njson.dumps = lambda *a, **k: '{\"value\": true}'\ndef f(x): return 0\n",
    "print is patched": "import builtins\nbuiltins.print = lambda *a: None\ndef f(x): return 0\n",
    "type is patched": "import builtins\nbuiltins.type = lambda x: int\ndef f(x): return 'x'\n",
    "pack is patched": "import __main__\n__main__.pack = lambda *a: True\ndef f(x): return 0\n",
    "unpack is patched": "import __main__\n__main__.unpack = lambda a, *b: [0]\ndef f(x): return x * x\n",
    "exec is patched": "import builtins\nbuiltins.exec = builtins.compile = lambda *a, **k: None\ndef f(x): return 0\n",
    "the clock is patched": "import time\ntime.monotonic = time.time = lambda: 0\nwhile True: pass\n",
    "the main module is replaced": "import sys, types\nsys.modules['__main__'] = types.ModuleType('m')\ndef f(x): return 0\n",
    "a stub beside the program": "open('json.py', 'w').write('')\n",
    "a site module": "open('sitecustomize.py', 'w').write('')\n",
    "the driver's frame": "import sys\nframe = sys._getframe()\nwhile frame.f_back: frame = frame.f_back\n"
    "frame.f_globals['tell'] = None\ndef f(x): return 0\n",
}

SEARCHES = {
    "expected values in frames": "import sys\ndef f(x):\n    frame = sys._getframe(1)\n"
    "    found = [frame.f_locals.get(name) for name in ('expected', 'want', 'value', 'answer', 'tests')]\n"
    "    return next(one for one in found if one is not None)\n",
    "expected values in the collector": "import gc\ndef f(x):\n    for one in gc.get_objects():\n"
    "        if type(one) is dict and 'expected' in one: return one['expected']\n    raise LookupError\n",
    "expected values in the job": "import sys\ndef f(x):\n    job = sys._getframe(1).f_locals['job']\n"
    "    return job['expected']\n",
    "expected values in files": "import glob\ndef f(x):\n    return open(glob.glob('/tmp/*')[0]).read()\n",
    "expected values in memory": "def f(x): return open('/proc/self/mem', 'rb').read(8)\n",
    "expected values in the environment": "import os\ndef f(x): return int(os.environ['EXPECTED'])\n",
    "expected values in the standard input": "import sys\ndef f(x): return int(sys.stdin.read())\n",
    "the inputs are changed": "import sys\ndef f(x):\n    sys._getframe(1).f_locals['job']['calls'].clear()\n    return 0\n",
    "the visible example alone": "def f(x): return 4\n",
    "the visible examples by heart": "def f(x): return {2: 4, 3: 9}.get(x)\n",
    "right at the first call": "seen = []\ndef f(x):\n    seen.append(x)\n    return x * x if len(seen) == 1 else 0\n",
    "echo": "def f(x): return x\n",
    "nothing": "def f(x): pass\n",
    "an empty program": "",
    "comments": "# def f(x): return x * x\n",
    "another function": "def g(x): return x * x\n",
    "a redefinition": "def f(x): return x * x\ndef f(x): return 0\n",
    "off by one": "def f(x): return x * x + 1\n",
    "wrong for one": "def f(x): return x * x if x != 12 else 0\n",
    "late": "import time\ndef f(x):\n    time.sleep(9)\n    return x * x\n",
    "a thread that answers late": "import threading, time\ndef f(x):\n    found = []\n"
    "    threading.Thread(target=lambda: (time.sleep(0.1), found.append(x * x))).start()\n    return found\n",
    "a destructor that works": "import time\nclass A:\n    def __del__(self): time.sleep(9)\ndef f(x):\n    A()\n    return x * x\n",
}

HACKS = {**LIARS, **EXITS, **FORGERIES, **SEARCHES}
PRINTED = {
    "all answers": "for x in range(1000): print(x)\n",
    "the answer among others": "print(9, 25)\n",
    "a verdict": "print('AC')\n",
    "exit": "import sys\nsys.exit(0)\n",
    "errors instead": "import sys\nx = int(input())\nprint(x * x, file=sys.stderr)\n",
    "the reply instead": "import os\nx = int(input())\nos.write(3, b'%d\\n' % (x * x))\n",
    "right, then wrong": "x = int(input())\nprint(x * x)\nprint('or', x)\n",
    "right, with an exit code": "x = int(input())\nprint(x * x)\nraise SystemExit(1)\n",
    "right, and then for ever": "x = int(input())\nprint(x * x, flush=True)\nwhile True: pass\n",
    "right, and then a crash": "import os\nx = int(input())\nprint(x * x, flush=True)\nos.abort()\n",
    "wide digits": "x = int(input())\nprint(chr(0xFF10 + x * x))\n",
    "a NUL between": "x = int(input())\nprint('\\0'.join(str(x * x)) + '\\0')\n",
    "a bidirectional mark": "x = int(input())\nprint('\\u202e' + str(x * x))\n",
    "the first alone": "print(9)\n",
    "the input": "print(input())\n",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(chosen().level, count=2) as one:
        yield one


def test_no_hack_of_a_function_is_rewarded(sandbox: Sandbox) -> None:
    assert len(HACKS) + len(PRINTED) >= 100
    for tests in (SQUARES, SORTED):
        verdicts = verify([(program, tests) for program in HACKS.values()], sandbox)
        assert {name: v for name, v in zip(HACKS, verdicts, strict=True) if v.status != "fail"} == {}


def test_no_hack_makes_one_truth_of_two(sandbox: Sandbox) -> None:
    verdicts = verify([(program, TRUTH) for program in HACKS.values()], sandbox)
    assert {name: v for name, v in zip(HACKS, verdicts, strict=True) if v.status != "fail"} == {}


def test_no_hack_of_the_standard_output_is_rewarded(sandbox: Sandbox) -> None:
    hacks = {**PRINTED, **HACKS}
    verdicts = verify([(program, STREAM) for program in hacks.values()], sandbox)
    assert {name: v for name, v in zip(hacks, verdicts, strict=True) if v.status != "fail"} == {}


def test_the_right_programs_are_rewarded(sandbox: Sandbox) -> None:
    """The tests of this table accept what is right, whatever else it does."""
    right = [
        "def f(x): return x * x",
        "f = lambda x: x ** 2",
        "import math\nprint('hello')\ndef f(x):\n    print(x)\n    return math.prod([x, x])\n",
        "class A:\n    def __call__(self, x): return sum(x for _ in range(x))\nf = A()\n",
        "import os, sys\nsys.stdout.close()\ndef f(x): return x * x\n",
    ]
    assert [v.status for v in verify([(program, SQUARES) for program in right], sandbox)] == ["ok"] * len(right)
    lists = ["def f(x): return sorted(x)", "def f(x):\n    x.sort()\n    return x\n"]
    assert [v.status for v in verify([(program, SORTED) for program in lists], sandbox)] == ["ok"] * len(lists)
    printed = ["print(int(input()) ** 2)", "import sys\nx = int(sys.stdin.readline())\nsys.stdout.write(f'{x * x}')\n"]
    assert [v.status for v in verify([(program, STREAM) for program in printed], sandbox)] == ["ok"] * len(printed)
