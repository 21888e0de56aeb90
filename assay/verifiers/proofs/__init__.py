"""Proofs: a small kernel for databases in Metamath's format, rows of labels that it completes, and verdicts on both."""
