"""Targets that are due and wait for their turn: by priority, and among equals the one that has waited longest."""

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Priority(StrEnum):
    """Of a job's targets, when not all can be collected: the first comes first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class WaitingLine(Generic[T]):
    """Each name waits at most once."""

    def __init__(self) -> None:
        self._lines: dict[Priority, dict[str, T]] = {priority: {} for priority in Priority}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def add(self, priority: Priority, name: str, waiting: T) -> None:
        self._lines[priority][name] = waiting

    def discard(self, name: str) -> None:
        for line in self._lines.values():
            line.pop(name, None)

    def pop(self, admitted: Callable[[Priority], bool]) -> T | None:
        """The next one of a priority that is admitted; None when there is none."""
        for priority, line in self._lines.items():
            if line and admitted(priority):
                return line.pop(next(iter(line)))
        return None
