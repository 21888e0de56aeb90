"""How good a model is: banks of sampled answers, pass@k, intervals."""
