"""Durations of the settings file, in Prometheus' form."""

import re
from typing import Annotated

from pydantic import BeforeValidator

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>[0-9]+){unit})?" for unit in ("y", "w", "d", "h", "m", "s", "ms")))


def seconds(value: object) -> float:
    """Seconds of "1h30m", "500ms" or a plain number of seconds; ValueError for anything else and for 0 or less.

    >>> seconds("1m30s")
    90.0
    """
    total = -1.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        total = float(value)
    elif isinstance(value, str) and value and (match := _DURATION.fullmatch(value)):
        total = sum(int(number) * _UNITS[unit] for unit, number in match.groupdict().items() if number)
    if not 0 < total < float("inf"):
        raise ValueError("expected a duration above zero such as 500ms, 10s or 1h30m")
    return total


Seconds = Annotated[float, BeforeValidator(seconds)]
