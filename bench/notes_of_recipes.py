"""Why a recipe ended below its base in `bench.recipes`: what was looked into, by name."""

NOTES: dict[str, str] = {}
