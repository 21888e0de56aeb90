"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"expand:prove-conjectures": ("source:conjectures",)}
IDLE = {"remember:keep-lessons": {}, "curate:lesson-weights": {}}
KEEPS = {"remember:keep-lessons": "lessons"}
FREE = {"role": "the role that answers prompts for new problems"}
