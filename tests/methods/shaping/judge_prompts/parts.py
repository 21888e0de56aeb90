"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OPEN = ("judge-prompts", "judge-single")

OPEN_FILE = {"judge-single": 0}

SCORED = {"judge-prompts": [["scored", "judge-pairs"]]}
