"""Finds the catalogue's names that a source's name may match, without trying them all."""

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class NameIndex(Generic[T]):
    """Values by name. A name may hold labels in braces, ``rx_prio{priority}_pause``, and is found by the text before.

    What a look-up costs depends on the length of the name, not on how many others there are.
    """

    def __init__(self) -> None:
        self._fixed: dict[str, list[T]] = {}
        self._by_start: dict[str, list[T]] = {}
        self._lengths: tuple[int, ...] = ()

    def add(self, name: str, value: T) -> None:
        start, brace, _ = name.partition("{")
        if not brace:
            self._fixed.setdefault(name, []).append(value)
            return
        self._by_start.setdefault(start, []).append(value)
        self._lengths = tuple(sorted({*self._lengths, len(start)}, reverse=True))

    def candidates(self, name: str) -> Iterator[T]:
        """Those of the name itself, then those whose fixed start the name has, the longest start first."""
        yield from self._fixed.get(name, ())
        for length in self._lengths:
            if length <= len(name):
                yield from self._by_start.get(name[:length], ())
