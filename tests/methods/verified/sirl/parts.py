"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

FREE = {"compact": "a template for prompts of small models", "natural": "a template for prompts of language models"}

TEXTS = {
    "SpanKL.compact": "text that is compared with an answer, or shown to a model",
    "SpanKL.natural": "text that is compared with an answer, or shown to a model",
}
