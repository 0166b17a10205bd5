"""Publishing what must arrive, however long the bus is away."""

from collections.abc import Awaitable, Callable

from common.errors import Unavailable
from common.retry import retry

_FIRST_S, _MOST_S = 0.1, 10.0


async def publish_with_retry(
    publish: Callable[[], Awaitable[None]], *, failed: Callable[[Exception], None], most_s: float = _MOST_S
) -> None:
    """Returns once ``publish`` went through: ``Bus.publish`` or ``dead_letter`` with its arguments bound.

    Tried again for ever when the bus is Unavailable, with growing, jittered waits of at most ``most_s``; other errors
    are raised. failed: called with each error before the wait, to count it and to say why the stage stands.
    A publish that failed may be on the bus all the same, so it is there twice then: readers drop duplicates.
    """
    await retry(publish, on=Unavailable, first_s=_FIRST_S, most_s=most_s, failed=failed)
