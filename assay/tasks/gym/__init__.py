"""The generators of the package reasoning-gym as tasks, with strict checkers."""
