"""Externals: foreign programs that verify or answer, each known by a record and run in processes of its own."""

from assay.externals.by_name import EXTERNALS, external, look, require, workers_of
from assay.externals.external import External, Found, examine

__all__ = ["EXTERNALS", "External", "Found", "examine", "external", "look", "require", "workers_of"]
