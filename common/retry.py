"""When to try again: growing waits with jitter, and what a peer asks for in Retry-After."""

import math
import random
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

import stamina
from stamina.instrumentation import set_on_retry_hooks

from common.errors import Unavailable

T = TypeVar("T")

# our stages count and log retries themselves, with their own names
set_on_retry_hooks([])


def backoff_s(failures: int, *, first_s: float, most_s: float, chance: float) -> float:
    """How long to wait after so many failures in a row: doubles from ``first_s`` to ``most_s``, less up to a half.

    chance: 0..1, drawn by the caller, so that many clients do not come back together.

    >>> [backoff_s(n, first_s=1, most_s=300, chance=0) for n in (1, 2, 3, 50)]
    [1.0, 2.0, 4.0, 300.0]
    """
    # 2.0**64 seconds is beyond any cap and still a float
    return min(most_s, first_s * 2.0 ** min(max(failures - 1, 0), 64)) * (1 - chance / 2)


async def retry(
    call: Callable[[], Awaitable[T]],
    *,
    on: type[Exception] | tuple[type[Exception], ...],
    unless: type[Exception] | tuple[type[Exception], ...] = (),
    first_s: float,
    most_s: float,
    failed: Callable[[Exception], None],
) -> T:
    """What ``call`` returns, once it does; for ever, with the waits of ``backoff_s``. Other errors are raised.

    on, unless: after which errors to try again; an Unavailable that asks for a longer wait gets it.
    failed: called with each of them, before the wait, so that the stage can count and log it.
    """
    failures = 0

    def wait_s(error: Exception) -> bool | float:
        nonlocal failures
        if not isinstance(error, on) or isinstance(error, unless):
            return False
        failures += 1
        failed(error)
        own_s = backoff_s(failures, first_s=first_s, most_s=most_s, chance=random.random())
        return max(own_s, asked_s(error))

    async for attempt in stamina.retry_context(wait_s, attempts=None, timeout=None):
        with attempt:
            return await call()
    raise AssertionError("without a limit it ends by returning or raising")


def asked_s(error: Exception) -> float:
    """The wait that a peer asked for, 0 when it did not."""
    return (error.after_s or 0.0) if isinstance(error, Unavailable) else 0.0


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
