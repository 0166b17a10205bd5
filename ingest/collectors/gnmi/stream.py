"""One Subscribe call that is repeated whenever it ends."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

import structlog

from common.retry import backoff_s
from ingest.collectors.gnmi import metrics
from ingest.collectors.gnmi.channel import keepalive_after, subscribe
from ingest.collectors.gnmi.config import Config, SubscriptionConfig, TargetConfig
from ingest.collectors.gnmi.subscriptions import request_of, silence_s
from ingest.metrics import CERTIFICATE_EXPIRY
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2 import Call
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import DownReason

# The usual form: sync_response alone. One within another response does not count here.
_SYNC = gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()

_RETRY_FIRST_S = 0.5
_SETTLED_S, _SETTLED_INTERVALS = 60.0, 3.0
"""A stream that has delivered for this long works: its end is no failure that repeats. A switch at its limit of
sessions accepts a stream, and ends it after its first message."""

log = structlog.get_logger("ingest")


def failures_after(failures: int, delivered_s: float, interval_s: float) -> int:
    """Failures in a row once a stream has ended that delivered for ``delivered_s``, 0 for none that ever did.

    >>> failures_after(5, 0.0, 10.0), failures_after(5, 59.0, 10.0), failures_after(5, 60.0, 10.0)
    (6, 6, 1)
    """
    return 1 if delivered_s >= max(_SETTLED_S, _SETTLED_INTERVALS * interval_s) else failures + 1


class Stream:
    """Delivers the messages of one subscription until cancelled.

    sleep:   waits between two attempts.
    deliver: called with serialised SubscribeResponses; waits while the target's queue is full. Its CallEnded ends the
             call.
    changed: called when ``delivering`` or ``down`` changed.
    """

    def __init__(
        self,
        config: Config,
        target: TargetConfig,
        subscription: SubscriptionConfig,
        deliver: Callable[[Sequence[bytes]], Awaitable[None]],
        changed: Callable[[], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._config, self._target = config, target
        self._deliver, self._changed, self._sleep = deliver, changed, sleep
        self._name = f"{config.job_name}/{target.address}"
        self._log = log.bind(job=config.job_name, target=self._name, device=target.device)
        self._request = request_of(subscription, config.interval_s).SerializeToString()
        self._silence_s = silence_s(subscription, config.interval_s, config.silence_intervals)
        self._timed_out: DownReason | None = None
        self._logged: DownReason | None = None  # why calls ended, once logged; until an update comes
        self._last_s = self._delivering_since_s = 0.0
        self._keepalive_s = config.keepalive_s
        self.delivering = False
        self.down: DownReason | None = None
        self.synced = asyncio.Event()

    async def run(self) -> None:
        try:
            await self._subscribe_always()
        finally:
            self._set(delivering=False, down=self.down)

    async def _subscribe_always(self) -> None:
        failures = 0
        while True:
            reason, message = await self._attempt()
            delivered_s = time.monotonic() - self._delivering_since_s if self.delivering else 0.0
            failures = failures_after(failures, delivered_s, self._config.interval_s)
            if reason is not self._logged:  # once, not at each attempt
                self._logged = reason
                self._log.warning("subscription ended", reason=str(reason), error=message[:200])
            self._set(delivering=False, down=reason)
            metrics.SUBSCRIPTION_FAILURES.labels(self._config.job_name, reason).inc()
            most_s = self._config.backoff_max_s
            await self._sleep(backoff_s(failures, first_s=_RETRY_FIRST_S, most_s=most_s, chance=random.random()))

    async def _attempt(self) -> tuple[DownReason, str]:
        """One call from its beginning to its end: the reason of the end, and the peer's message."""
        self._timed_out = None
        try:
            call = await subscribe(self._config, self._target, self._request, self._keepalive_s)
        except CallEnded as ended:
            return ended.reason, ended.message
        if (expires_s := call.certificate_expires_s) is not None:
            CERTIFICATE_EXPIRY.labels(self._name).set(expires_s)
        try:
            return await self._read(call)
        except CallEnded as ended:
            self._keepalive_s = keepalive_after(ended.message, self._keepalive_s)
            if self._timed_out is not None:
                return self._timed_out, "nothing came in time"
            return ended.reason, ended.message
        finally:
            call.cancel()

    async def _read(self, call: Call) -> NoReturn:
        """Until the call ends."""
        self._last_s = time.monotonic()
        watchdog = asyncio.create_task(self._end_if_silent(call))
        try:
            while True:
                messages = await call.read()
                self._last_s = time.monotonic()
                if not self.synced.is_set() and _SYNC in messages:
                    self.synced.set()
                if self._logged is not None and any(message != _SYNC for message in messages):
                    self._logged = None
                if not self.delivering:
                    self._delivering_since_s = self._last_s
                    self._set(delivering=True, down=None)
                await self._deliver(messages)
                self._last_s = time.monotonic()  # waiting for room is no silence of the target
        finally:
            watchdog.cancel()

    async def _end_if_silent(self, call: Call) -> None:
        """Ends the call when nothing comes for too long. TCP needs minutes to notice a dead connection."""
        began_s, warned = time.monotonic(), False
        first_s = max(self._silence_s or 0.0, self._config.connect_timeout_s)
        while self._timed_out is None:
            step_s = min(0.5, (self._silence_s or 2.0) / 10)
            due_s = time.monotonic() + step_s
            await asyncio.sleep(step_s)
            now_s = time.monotonic()
            late_s = now_s - due_s
            if late_s > step_s:  # this process did not run: the silence is ours
                self._last_s, began_s = self._last_s + late_s, began_s + late_s
            age_s, quiet_s = now_s - began_s, now_s - self._last_s
            if not self.delivering:
                if not call.settings_received and age_s > self._config.connect_timeout_s:
                    self._timed_out = DownReason.TIMEOUT
                elif self._silence_s is not None and quiet_s > first_s:
                    self._timed_out = DownReason.SILENT
                elif age_s > self._config.sync_timeout_s:
                    self._timed_out = DownReason.TIMEOUT
            elif self._silence_s is not None and quiet_s > self._silence_s:
                self._timed_out = DownReason.SILENT
            elif not warned and not self.synced.is_set() and age_s > self._config.sync_timeout_s:
                warned = True  # its updates are valid: using them is better than reconnecting for ever
                metrics.SUBSCRIPTIONS_UNSYNCED.labels(self._config.job_name).inc()
                self._log.warning("target never sent sync_response")
        call.cancel()

    def _set(self, *, delivering: bool, down: DownReason | None) -> None:
        if delivering != self.delivering:
            metrics.SUBSCRIPTIONS_UP.labels(self._config.job_name).inc(1 if delivering else -1)
        self.delivering, self.down = delivering, down
        self._changed()
