"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"judge-prompts": "judge-prompts"}

NEEDS = {"judge-prompts": ("a judge's server (judge-pairs): ASSAY_JUDGE_URL",)}

OPEN = ("judge-prompts", "judge-single")

OPEN_FILE = {"judge-single": 0}

SCORED = {"judge-prompts": [["scored", "judge-pairs"]]}
