"""Finds the program in a response: the last fenced block of code."""

from __future__ import annotations

_FENCE = "```"
_NAMES = ("", "python", "py", "python3")


def program_in(response: str) -> str | None:
    """The content of the last closed block that is fenced by three backticks and names Python or no language.

    program_in("So:\\n```python\\nprint(1)\\n```")  # "print(1)\\n"
    """
    program, begin, wanted = None, -1, False
    position = 0
    for line in response.splitlines(keepends=True):
        mark = line.strip()
        if begin < 0 and mark.startswith(_FENCE) and _FENCE not in mark[3:]:
            named = mark[3:].strip().lower() in _NAMES
            begin, wanted = position + len(line), named
        elif begin >= 0 and mark == _FENCE:
            if wanted:
                program = response[begin:position]
            begin = -1
        position += len(line)
    return program
