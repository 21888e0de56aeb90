"""What judges an answer: mathematics, and the reward functions that people bring."""
