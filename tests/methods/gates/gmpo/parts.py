"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BRINGS = {"gmpo": ("| `gate` geometric |",)}  # and not the other parts of GRPO

REFUSED = {
    "train gmpo --mechanism.objective.aggregate fixed-length": (
        78,
        "Geometric is one ratio",
        "a ratio of single tokens",
    ),
}

SEEING_ROWS = {"gate:geometric": True}
