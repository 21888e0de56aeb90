"""Terms of SMT-LIB: read by a grammar of ours, decided by Z3, counterexamples confirmed by an evaluation of ours."""
