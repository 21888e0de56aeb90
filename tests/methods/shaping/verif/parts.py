"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

from assay.verifiers.instructions import CHECKS

OPEN = ("verif",)

OPEN_FILE = {"verif": 64}

SCORED = {"verif": [["scored", "product"]]}

UNREADABLE = {
    "verif": [
        ("rules", [["words", "many"]], "line 1: 'rules': the rule 'words' takes a whole number"),
        ("rules", "lowercase", "line 1: 'rules' is a list of rules, not 'lowercase'"),
        ("rules", [["regex", ".*"]], f"begins with one of {', '.join(CHECKS)}"),
        ("soft", "be kind", "line 1: 'soft' is a list of texts, not 'be kind'"),
    ],
}

ENDPOINTS = {"reward:judged-rules": {}}
COLUMNS = {"soft": ["It is a tree."]}
