"""The laboratory: comparing runs, explaining methods, inspecting data and models. Training itself never uses it."""
