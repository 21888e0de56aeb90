"""Engines run parameter sets: the interface that the loop uses, the code that engines share, and the engines."""
