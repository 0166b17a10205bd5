"""A time and a value by themselves, as ``times`` and ``numbers`` read columns of them, without the cost of columns."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from analytics.offline.times import TIME_NS_MAX

_WHOLE = frozenset({int, np.int64, np.int32, np.uint32})
_BROKEN = frozenset({float, np.float64})
NUMBERS = _WHOLE | _BROKEN | {np.float32}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS_MAX = TIME_NS_MAX // 10**9


def time_ns(moment: Any, unit_ns: int) -> int | None:
    """Nanoseconds since the epoch of a number in ``unit_ns``, 0 where that is not known, or of a datetime, in UTC where
    it has no zone. None: whatever else it is, it takes a column to read it.
    """
    kind = type(moment)
    if kind is datetime:
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        time: int = (zoned - _EPOCH) // _MICROSECOND * 1000
    elif kind is np.datetime64 and abs(int(moment.astype("M8[s]").astype(np.int64))) < _SECONDS_MAX:
        time = int(moment.astype("M8[ns]").astype(np.int64))
    elif unit_ns and kind in _WHOLE:
        time = int(moment) * unit_ns
    elif unit_ns and kind in _BROKEN and math.isfinite(moment):
        whole = math.floor(moment)
        time = whole * unit_ns + round((moment - whole) * unit_ns)
    else:
        return None
    return time if abs(time) <= TIME_NS_MAX else None


def number(value: Any) -> float | None:
    """NaN for what is missing or not finite. None: it takes a column to read it."""
    if value is None:
        return math.nan
    if type(value) not in NUMBERS:
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else math.nan
