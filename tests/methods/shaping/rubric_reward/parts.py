"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"rubric-reward": "rubric-reward"}

OPEN = ("rubric-reward", "rubric-whole")

OPEN_FILE = {"rubric-reward": 0}

UNREADABLE = {
    "rubric-reward": [("rubric", [{"weight": 1}], "line 1: 'rubric' is no list of up to 40 criteria")],
}
