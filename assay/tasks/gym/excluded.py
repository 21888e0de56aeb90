"""Generators of reasoning-gym that are no Assay task, each with its reason. `docs/reasoning_gym.md` prints this."""

EXCLUDED: dict[str, str] = {
    "boxnet": "The package gives no answer: nothing proves that an item can be solved, nor that its scorer says so.",
    "composite": "No generator: a mixture of other generators.",
    "propositional_logic": "Any premise repeated word for word scores 1, so a checker would reward copying.",
    "rush_hour": "The package gives no answer: nothing proves that an item can be solved, nor that its scorer says so.",
}
