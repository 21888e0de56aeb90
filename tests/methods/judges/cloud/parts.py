"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {
    "cloud": {
        "operators": ("generate", "ask critic"),
        "models": ("reward-model (policy with values)",),
        "phases": ("critic", "reward-model", "policy by policy gradient"),
    },
}
