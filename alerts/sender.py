"""Works off one receiver's queue: one delivery at a time, in order per incident, repeated until it is accepted."""

import asyncio
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from alerts import metrics
from alerts.clock import Moment
from alerts.metrics import UndeliveredReason
from alerts.notification import Action
from alerts.outbox import Delivery, Outbox
from alerts.receivers.base import Receiver, Rejected
from bus.owner.sending import SendingRight
from common.errors import Unavailable
from common.retry import asked_s, backoff_s
from common.threads import OneThread

IDLE_S_MAX = 60.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a delivery is tried (``ttl_ns``) and how far apart: the wait doubles from ``first_s`` to ``most_s``.

    fallback: receiver of what this one refuses or lets expire, '' for none.
    """

    ttl_ns: int
    first_s: float
    most_s: float
    fallback: str


@dataclass(slots=True)
class _Attempts:
    failures: int = 0
    due_s: float = 0.0


class Sender:
    """The only one that sends to its receiver, so that a repeated alert never overtakes its resolve.

    A step of the wall clock neither repeats, delays nor expires anything: ages are stage time, timers are monotonic.
    right: asked before each request. on_fallback: called when something may have been queued for the fallback.
    held: how many incidents wait for the page budget now.
    """

    def __init__(
        self,
        receiver: Receiver,
        outbox: Outbox,
        off_loop: OneThread,
        retry: RetryPolicy,
        clock: Callable[[], Moment],
        right: SendingRight,
    ) -> None:
        self.receiver = receiver
        self.wake = asyncio.Event()
        self.problem: str | None = None
        self.on_fallback: Callable[[], None] = lambda: None
        self.held: Callable[[], int] = lambda: 0
        self._outbox = outbox
        self._off_loop = off_loop
        self._retry = retry
        self._clock = clock
        self._right = right
        self._attempts: dict[int, _Attempts] = {}
        self._receiver_attempts = _Attempts()
        self._refresh_due_s = 0.0

    async def run(self) -> None:
        """Until it is cancelled; a delivery that is cut off then is repeated under its key after the next start.

        Superseded when another process took over; what waits stays in the outbox.
        """
        while True:
            self.wake.clear()
            now_s = time.monotonic()
            if now_s < self._receiver_attempts.due_s:
                await asyncio.sleep(self._receiver_attempts.due_s - now_s)
            else:
                try:
                    await self._step(now_s)
                except sqlite3.Error as error:
                    self._postpone(self._receiver_attempts, Unavailable(f"outbox: {error}"))

    async def _step(self, now_s: float) -> None:
        if self.receiver.refresh_s > 0 and now_s >= self._refresh_due_s:
            await self._refresh()
        elif (delivery := await self._next(now_s)) is not None:
            await self._deliver(delivery)
        else:
            await self._idle()

    async def _next(self, now_s: float) -> Delivery | None:
        waiting = [key for key, attempts in self._attempts.items() if attempts.due_s > now_s]
        heads = await self._off_loop(self._outbox.heads, self.receiver.name, waiting, 1)
        if heads:
            return heads[0]
        # nothing else is due, so these left the outbox for others
        self._attempts = {key: attempts for key, attempts in self._attempts.items() if attempts.due_s > now_s}
        return None

    async def _idle(self) -> None:
        dues = [attempts.due_s for attempts in self._attempts.values()]
        if self.receiver.refresh_s > 0:
            dues.append(self._refresh_due_s)
        rest_s = min(IDLE_S_MAX, max(0.0, min(dues, default=float("inf")) - time.monotonic()))
        try:
            async with asyncio.timeout(rest_s):
                await self.wake.wait()
        except TimeoutError:
            pass

    async def _deliver(self, delivery: Delivery) -> None:
        notification, name, now = delivery.notification, self.receiver.name, self._clock()
        if notification.action is Action.RESOLVE and not await self._off_loop(
            self._outbox.is_open, name, notification.incident.id
        ):
            await self._give_up(delivery, UndeliveredReason.NEVER_NOTIFIED)
            return
        if now.stage_ns - delivery.created_ns > self._retry.ttl_ns:
            await self._give_up(delivery, UndeliveredReason.EXPIRED)
            return
        await self._right.confirm()
        try:
            await self.receiver.notify(notification, now.wall_ns)
        except Rejected as error:
            self.problem = str(error)
            await self._give_up(delivery, UndeliveredReason.REJECTED)
        except Unavailable as error:
            self._postpone(self._attempts.setdefault(delivery.id, _Attempts()), error)
        except Exception as error:
            # our own bug with one notification must not end the paging of all others
            log.exception("receiver failed", receiver=name, key=notification.key)
            bug = Unavailable(f"{name}: {type(error).__name__}")
            self._postpone(self._attempts.setdefault(delivery.id, _Attempts()), bug)
        else:
            await self._off_loop(self._outbox.delivered, delivery, self._retry.fallback, now.stage_ns)
            self._succeeded(delivery.id)
            metrics.DELIVERED.labels(name, notification.action).inc()
            fields = {"key": notification.key, "action": notification.action, "epoch": self._right.epoch}
            log.info("notification delivered", receiver=name, **fields)
            self.on_fallback()

    async def _give_up(self, delivery: Delivery, reason: UndeliveredReason) -> None:
        """Hands it to the fallback, or drops it where there is none."""
        fallback = self._retry.fallback
        rerouted = await self._off_loop(self._outbox.reroute, delivery, fallback, self._clock().stage_ns)
        self._attempts.pop(delivery.id, None)
        fields = {"receiver": self.receiver.name, "key": delivery.notification.key, "reason": reason}
        if rerouted:
            metrics.REROUTED.labels(self.receiver.name, reason).inc()
            self.on_fallback()
        elif fallback in ("", self.receiver.name):  # the outbox reports what found no room in the fallback's queue
            metrics.NOTIFICATIONS_DROPPED.labels(reason).inc()
        if reason is UndeliveredReason.NEVER_NOTIFIED:
            return  # nobody waits for it
        if rerouted:
            log.error("notification rerouted", **fields, error=self.problem, fallback=fallback)
        else:
            log.error("notification dropped", **fields, error=self.problem)

    async def _refresh(self) -> None:
        alerts = await self._off_loop(self._outbox.open_alerts, self.receiver.name)
        self._refresh_due_s = time.monotonic() + self.receiver.refresh_s
        if not alerts:
            return
        await self._right.confirm()
        try:
            current = [replace(each, held=self.held()) for each in alerts]
            await self.receiver.refresh(current, self._clock().wall_ns)
        except Rejected as error:
            self.problem = str(error)
            log.error("open alerts rejected", receiver=self.receiver.name, error=self.problem)
        except Unavailable as error:
            self._postpone(self._receiver_attempts, error)
            self._refresh_due_s = self._receiver_attempts.due_s
        else:
            self._succeeded(None)
            metrics.REFRESHES.labels(self.receiver.name).inc()

    def _postpone(self, attempts: _Attempts, error: Unavailable) -> None:
        """The delivery waits for itself, and the receiver as a whole: another delivery may fare better soon."""
        self.problem = str(error)
        metrics.RETRIES.labels(self.receiver.name).inc()
        for each in {id(attempts): attempts, id(self._receiver_attempts): self._receiver_attempts}.values():
            each.failures += 1
            each.due_s = time.monotonic() + self._wait_s(each.failures, error)
        log.warning("receiver does not answer", receiver=self.receiver.name, error=self.problem)

    def _wait_s(self, failures: int, error: Unavailable) -> float:
        retry = self._retry
        own_s = backoff_s(failures, first_s=retry.first_s, most_s=retry.most_s, chance=random.random())
        return max(own_s, asked_s(error))

    def _succeeded(self, delivery_id: int | None) -> None:
        if delivery_id is not None:
            self._attempts.pop(delivery_id, None)
        self._receiver_attempts = _Attempts()
        self.problem = None
