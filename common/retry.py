"""When to try again: growing waits with jitter, and what a peer asks for in Retry-After."""

import math
from email.utils import parsedate_to_datetime


def wait_s(failures: int, *, first_s: float, most_s: float, chance: float) -> float:
    """How long to wait after so many failures in a row: doubles from ``first_s`` to ``most_s``, less up to a half.

    chance: 0..1, drawn by the caller, so that many clients do not come back together.

    >>> [wait_s(n, first_s=1, most_s=300, chance=0) for n in (1, 2, 3, 50)]
    [1.0, 2.0, 4.0, 300.0]
    """
    # 2.0**64 seconds is beyond any cap and still a float
    return min(most_s, first_s * 2.0 ** min(max(failures - 1, 0), 64)) * (1 - chance / 2)


def retry_after_s(header: str | None, now_s: float, *, most_s: float) -> float | None:
    """Seconds that a Retry-After header asks for (a number or an HTTP date), 0..``most_s``; None without a usable one.

    >>> retry_after_s("120", 0, most_s=300), retry_after_s("86400", 0, most_s=300), retry_after_s("soon", 0, most_s=300)
    (120.0, 300, None)
    """
    if not header:
        return None
    try:
        asked = float(header)
    except ValueError:
        try:
            asked = parsedate_to_datetime(header).timestamp() - now_s
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(asked) else max(0.0, min(asked, most_s))
