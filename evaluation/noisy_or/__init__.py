"""The noisy-or beside the greedy cover: see ``docs/decisions/2026-11-23-noisy-or.md``."""
