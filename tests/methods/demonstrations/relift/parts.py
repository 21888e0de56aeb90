"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("relift",)

SMALL = {"expand:study": {"size": 1}}

IDLE = {"expand:study": {}, "remember:hold-unsolved": {}}
GOES_ON = {"expand:study": "a problem that the policy posed is not stored"}
KEEPS = {"remember:hold-unsolved": "unsolved"}
BARE = {"remember:hold-unsolved": {}}
FREE = {"student": "of the recipe's role table"}

TEXTS = {
    "Study.student": "a model, a role or a store of the recipe",
    "HoldUnsolved.student": "a model, a role or a store of the recipe",
    "HoldUnsolved.name": "a model, a role or a store of the recipe",
    "Study.name": "a model, a role or a store of the recipe",
}
