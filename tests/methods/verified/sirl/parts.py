"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

FREE = {"compact": "a template for prompts of small models", "natural": "a template for prompts of language models"}
