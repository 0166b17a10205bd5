"""Ranks of NCCL jobs: what their RAS subsystem says over TCP."""
