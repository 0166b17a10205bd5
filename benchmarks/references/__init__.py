"""Plain Python implementations that benchmarks compare with."""
