"""Circuits in Verilog: a testbench generated from the ports, then a proof of equivalence by SAT."""
