"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OWN_JUDGE = ("rubric-anchors-role",)

MARKED = {"reward:rubric-by": ("rules", ("++#2", "+-#1"), "--#0")}

OPEN = ("rubric-anchors",)

OPEN_FILE = {"rubric-anchors": 0}

SCORED = {"rubric-anchors": [["scored", "judge-rubric"], ["scored", "kept-rules"]]}

TEXTS = {
    "RubricBy.role": "a model, a role or a store of the recipe",
    "FreeOf.texts": "text that is compared with an answer, or shown to a model",
}
