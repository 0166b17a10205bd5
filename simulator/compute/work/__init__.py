"""Kinds of work: what the jobs of a cluster do. One class a kind, all behind ``base.Work``; ``registry`` lists them."""
