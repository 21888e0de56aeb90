"""The engine on a compiled core, for processors. See docs/core.md."""
