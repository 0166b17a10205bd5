"""GPU starvation: how much time GPUs of running jobs lost, and what they waited for. Rules: docs/starvation.md."""
