"""Times for people."""

from datetime import UTC, datetime
from functools import lru_cache

from common.units import NS_PER_S


def clock(at_ns: int) -> str:
    """``08:30:00``, UTC."""
    return _second(at_ns // NS_PER_S)


@lru_cache(1024)
def _second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, tz=UTC).strftime("%H:%M:%S")
