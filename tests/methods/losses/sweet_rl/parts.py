"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TEXTS = {
    "LearnTurns.model": "a model, a role or a store of the recipe",
    "LearnTurns.reference": "a model, a role or a store of the recipe",
    "TurnAdvantage.model": "a model, a role or a store of the recipe",
    "TurnAdvantage.reference": "a model, a role or a store of the recipe",
    "TurnActions.role": "a model, a role or a store of the recipe",
    "TurnActions.of": "a model, a role or a store of the recipe",
    "Halves.role": "a model, a role or a store of the recipe",
}

ELSEWHERE = {"reward:turn-advantage": "a model"}
OWN_MODELS = {
    "forwards:learn-turns": "the critic that is told what is hidden",
    "reward:turn-advantage": "the critic that is told what is hidden",
}
CHOOSES = {"sweet-rl": "groups"}
BUSY = ("expand:turn-actions", "curate:halves")
FEWER = {"curate:halves": "a group without answers of both halves has no pair"}
