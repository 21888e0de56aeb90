"""Linear and integer programs: read by a grammar of ours, solved by a foreign solver, checked in exact fractions."""
