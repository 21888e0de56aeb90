"""What runs inside a sandbox: the process that forks, and what a fork gives up. Imports the standard library alone.

This folder is the only one of the package that is seen from inside, so its modules name each other by relative imports.
"""
