"""Judges: models behind an OpenAI-compatible endpoint that grade answers."""
