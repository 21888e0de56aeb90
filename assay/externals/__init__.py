"""Externals: foreign programs that verify or answer, each known by a record and run in processes of its own."""
