"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"curate:resample-on-correct": {"keep": 2}}

IDLE = {"curate:resample-on-correct": {"keep": 4}}
