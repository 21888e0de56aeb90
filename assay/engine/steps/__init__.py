"""Engines for policies over observations: an action at each step of a world of numbers."""
