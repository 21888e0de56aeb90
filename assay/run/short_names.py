"""Settings with a short name: an option of the command line without a group, and a key of a file outside of tables."""

SHORT_NAMES = {"lora": "lora.rank", "cut": "cut", "stop": "chat.stop", "shots": "chat.shots"}
"""Name -> the setting that it stands for."""
