"""Judges: models behind an OpenAI-compatible endpoint that judge answers."""
