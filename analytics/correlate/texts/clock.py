"""Times for people."""

from datetime import UTC, datetime

from common.units import NS_PER_S


def clock(at_ns: int) -> str:
    """``08:30:00``, UTC."""
    return datetime.fromtimestamp(at_ns // NS_PER_S, tz=UTC).strftime("%H:%M:%S")
