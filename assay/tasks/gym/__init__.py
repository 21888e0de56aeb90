"""The generators of reasoning-gym as tasks, with strict checkers of our own."""
