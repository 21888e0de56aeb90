"""Files of settings that were written for other trainers: what each of their keys is called here, or why there is no
such setting. A system has a table of its keys (`SYSTEM.toml`), and rules for keys that only together say what is
computed.
"""
