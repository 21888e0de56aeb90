"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {
    "math-shepherd": {
        "structure": "tree",
        "operators": ("generate", "branch"),
        "evaluates": ("outcomes", "spans", "by critic"),
        "models": ("critic (values)",),
    },
}
