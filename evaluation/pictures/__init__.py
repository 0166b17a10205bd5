"""Pictures of how the simulated cluster looks when nothing is broken: docs/simulator/day.md."""
