"""Verifiers give verdicts on answers: the mathematics verifier, and reward functions that users bring."""
