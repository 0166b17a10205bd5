"""Which event times are accepted, relative to the time of the collection."""

from common.units import NS_PER_S

PAST_NS = 3600 * NS_PER_S
FUTURE_NS = 300 * NS_PER_S


def accepted(now_ns: int) -> tuple[int, int]:
    """The first and the last event time, in nanoseconds, that a sample may have; others are ``DropReason.EVENT_TIME``.

    >>> first_ns, last_ns = accepted(10**18)
    >>> (10**18 - first_ns) // NS_PER_S, (last_ns - 10**18) // NS_PER_S
    (3600, 300)
    """
    return now_ns - PAST_NS, now_ns + FUTURE_NS
