"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OWN_MODELS = {"forwards:implicit-process": "the model that gives rewards to tokens, and its start"}
FREE = {"reference": "of the recipe's models"}
HERE_AS = {"dense-token": "prime"}

TEXTS = {
    "ImplicitProcess.model": "a model, a role or a store of the recipe",
    "ImplicitProcess.reference": "a model, a role or a store of the recipe",
}
