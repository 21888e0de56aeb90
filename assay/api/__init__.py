"""Assay from Python: what the verbs of the command line do, as functions that take objects. Nothing here imports torch,
numpy or a library of data before it is needed.

run = assay.train("grpo", task="countdown", steps=20)
print(run.scores(), run.report())
"""
