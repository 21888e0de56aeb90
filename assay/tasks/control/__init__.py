"""Control: tasks in worlds of numbers, where a policy observes, acts and is paid step by step."""
