"""The laboratory: comparing runs, explaining methods, looking at data and models. People use it, a run never does."""
