"""How many bytes of fetched pages wait to be decoded."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_FORGETTING = 0.999


@dataclass(slots=True)
class PageBytes:
    """Of all targets of a process. held: now. largest: of one page, forgotten within some thousand pages."""

    held: int = 0
    largest: float = 0.0

    def saw(self, size: int) -> None:
        """A page that is decoded at once."""
        self.largest = max(float(size), _FORGETTING * self.largest)

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """A page that waits for its turn."""
        self.saw(size)
        self.held += size
        try:
            yield
        finally:
            self.held -= size
