"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

NEEDS = {"rl-tango": ("the base `search-stream`, which the first run makes",)}

SCORED = {"rl-tango": [["scored", "marked-by"]] * 2}

MARKED = {"reward:marked-by": ("steps", ("++#1", "+-#0"), "--#0")}

ALONG = {"shape:by-class": ("expand:ask-judge",), "remember:count-classes": ("expand:ask-judge",)}
KEEPS = {"remember:count-classes": "classes"}
BUSY = ("remember:count-classes",)

TEXTS = {"MarkedBy.role": "a model, a role or a store of the recipe"}
