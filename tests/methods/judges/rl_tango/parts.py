"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

NEEDS = {"rl-tango": ("the base `search-stream`, which the first run makes",)}

SCORED = {"rl-tango": [["scored", "marked-by"]] * 2}

ALONG = {"shape:by-class": ("expand:ask-judge",), "remember:count-classes": ("expand:ask-judge",)}
KEEPS = {"remember:count-classes": "classes"}
BUSY = ("remember:count-classes",)
