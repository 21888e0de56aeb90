"""Engines run parameter sets: the interface that the loop uses, the code that all engines share, and one room for
each.
"""
