"""Queries: executed on databases that are made anew for each question, their results compared as bags."""
