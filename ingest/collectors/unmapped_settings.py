"""What becomes of series that nothing maps: two keys that the settings of many collectors have."""

from typing import Annotated, Literal, Protocol

from pydantic import Field

Unmapped = Annotated[
    Literal["drop", "keep"], Field(description="What becomes of series that nothing maps: keep, under their own name.")
]
UnmappedSeriesMax = Annotated[int, Field(gt=0, description="Of one device that are kept.")]


class _Settings(Protocol):
    @property
    def unmapped(self) -> Unmapped: ...
    @property
    def unmapped_series_max(self) -> int: ...


def kept_max(settings: _Settings) -> int:
    """Series of one device under their own name."""
    return settings.unmapped_series_max if settings.unmapped == "keep" else 0
