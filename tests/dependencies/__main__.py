"""Writes ``docs/dependencies.md`` to standard output."""

from tests.dependencies import packages, render

print(render(packages()), end="")
