"""Verifiers judge answers: the mathematics verifier, and reward functions that users bring."""
