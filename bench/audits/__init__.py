"""Labelled answers for `assay verify audit`, made without the verifiers: `python -m bench.audits --help`."""
