"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"expand:prove-conjectures": ("source:conjectures",)}
IDLE = {"remember:keep-lessons": {}, "curate:lesson-weights": {}}
BUSY = {"ask:rehearse-lessons", "expand:prove-conjectures"}
FEWER = {"ask:rehearse-lessons": "learns from what is held, and nothing is drawn"}
KEEPS = {"remember:keep-lessons": "lessons"}
FREE = {"role": "the role that answers prompts for new problems"}
LATER = {"curate:lesson-weights": "weighs lessons that an earlier stage has kept"}
SMALL = {"source:conjectures": {"size": 1}}
