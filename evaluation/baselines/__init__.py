"""Other methods, from papers and libraries, each causal, each a function of one series."""
