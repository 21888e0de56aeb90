"""From a configuration to a trained model: settings, checks before the first step, plans of memory, the session."""
