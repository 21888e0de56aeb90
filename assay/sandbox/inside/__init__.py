"""The code that runs inside a sandbox: the process that forks, and the rights that a fork gives up.

It imports the standard library alone. This folder is the only one of the package that is seen from inside, so its
modules name each other by relative imports.
"""
