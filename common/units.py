"""Units of time: the factors between them, and durations as the settings file writes them."""

import re
from typing import Annotated

from pydantic import BeforeValidator

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
US_PER_S = 1_000_000

_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
# Prometheus' form: each unit at most once, the larger in front
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>[0-9]+){unit})?" for unit in ("y", "w", "d", "h", "m", "s", "ms")))


def to_ns(seconds: float) -> int:
    """Seconds as whole nanoseconds, to the nearest.

    >>> to_ns(1.1)
    1100000000
    """
    return round(seconds * NS_PER_S)


def seconds(value: object) -> float:
    """Seconds of "1h30m", "500ms" or a plain number of seconds; ValueError for anything else and for 0 or less.

    >>> seconds("1m30s")
    90.0
    """
    total = -1.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        total = float(value)
    elif isinstance(value, str) and value and (match := _DURATION.fullmatch(value)):
        total = sum(int(number) * _SECONDS_PER_UNIT[unit] for unit, number in match.groupdict().items() if number)
    if not 0 < total < float("inf"):
        raise ValueError("expected a duration above zero such as 500ms, 10s or 1h30m")
    return total


Seconds = Annotated[float, BeforeValidator(seconds)]
"""A setting in seconds, above zero, written as a duration or as a plain number."""
