"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"curate:recompose": {"often": 1.0, "seldom": 1.0}}

IDLE = {"curate:recompose": {"share": 1.0}}
