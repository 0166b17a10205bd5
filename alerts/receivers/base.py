"""What every receiver promises."""

from collections.abc import Sequence
from typing import Protocol

from alerts.notification import Notification


class Rejected(Exception):
    """The receiver will never accept this notification: do not repeat it."""


class Receiver(Protocol):
    """One destination of notifications.

    name:      from the configuration.
    refresh_s: how often open alerts must be repeated to it, 0 for never.
    Messages of errors name the receiver and no secret.
    """

    @property
    def name(self) -> str: ...

    @property
    def refresh_s(self) -> float:
        """Seconds between refreshes of what is open; 0 for a receiver that remembers."""
        ...

    async def start(self) -> None: ...

    async def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        ...

    async def notify(self, notification: Notification, now_ns: int) -> None:
        """Returns once the receiver has it. A repetition must stay invisible: it carries the same key.

        An UPDATE or RESOLVE comes only after what it refers to. Raises Unavailable or Rejected, within its timeout.
        """
        ...

    async def refresh(self, notifications: Sequence[Notification], now_ns: int) -> None:
        """Repeats open alerts. Raises Unavailable or Rejected."""
        ...
