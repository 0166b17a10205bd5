"""Targets that benchmarks read: pages and switches, served by processes of their own."""
