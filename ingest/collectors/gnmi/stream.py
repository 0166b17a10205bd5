"""One Subscribe call, kept alive: it ends for many reasons and begins again."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

import structlog

from ingest.collectors.gnmi import metrics
from ingest.collectors.gnmi.channel import keepalive_after, subscribe
from ingest.collectors.gnmi.config import Config, SubscriptionConfig, TargetConfig
from ingest.collectors.gnmi.subscriptions import request_of, silence_s
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.http2 import Call
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import Down

# A response that is nothing but sync_response: true. Whatever else carries it is noticed when it is decoded.
_SYNC = gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()

log = structlog.get_logger(__name__)


class Stream:
    """Delivers the messages of one subscription until cancelled.

    deliver: takes serialised SubscribeResponses; waits while the target's queue is full.
    changed: called when ``delivering`` or ``down`` changed.
    """

    def __init__(
        self,
        config: Config,
        target: TargetConfig,
        subscription: SubscriptionConfig,
        deliver: Callable[[Sequence[bytes]], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        self._config, self._target, self._subscription = config, target, subscription
        self._deliver, self._changed = deliver, changed
        self._request = request_of(subscription, config.interval_s).SerializeToString()
        self._silence_s = silence_s(subscription, config.interval_s, config.silence_intervals)
        self._verdict: Down | None = None
        self._last_s = 0.0
        self._keepalive_s = config.keepalive_s
        self.delivering = False
        self.down: Down | None = None
        self.synced = asyncio.Event()

    async def run(self) -> None:
        try:
            await self._subscribe_always()
        finally:
            self._set(delivering=False, down=self.down)

    async def _subscribe_always(self) -> None:
        failures = 0
        while True:
            reason, words = await self._attempt()
            failures = 0 if self.delivering else failures + 1
            if self.delivering or reason is not self.down:  # once, not at each attempt
                words = words[:200]
                log.warning("gnmi subscription ended", target=self._target.address, reason=str(reason), words=words)
            self._set(delivering=False, down=reason)
            metrics.FAILURES.labels(self._config.job_name, reason).inc()
            wait_s = min(self._config.backoff_max_s, 0.5 * 2.0 ** min(failures, 10))
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))

    async def _attempt(self) -> tuple[Down, str]:
        """One call from its beginning to its end; why it ended, and the peer's words."""
        self._verdict = None
        try:
            call = await subscribe(self._config, self._target, self._request, self._keepalive_s)
        except CallEnded as ended:
            return ended.down, ended.words
        try:
            return await self._read(call)
        except CallEnded as ended:
            self._keepalive_s = keepalive_after(ended.words, self._keepalive_s)
            return self._verdict or ended.down, "nothing came in time" if self._verdict else ended.words
        finally:
            call.cancel()

    async def _read(self, call: Call) -> NoReturn:
        """Until the call ends."""
        self._last_s = time.monotonic()
        watchdog = asyncio.create_task(self._watch(call))
        try:
            while True:
                messages = await call.read()
                self._last_s = time.monotonic()
                if not self.synced.is_set() and _SYNC in messages:
                    self.synced.set()
                if not self.delivering:
                    self._set(delivering=True, down=None)
                await self._deliver(messages)
                self._last_s = time.monotonic()  # waiting for room is not the target's silence
        finally:
            watchdog.cancel()

    async def _watch(self, call: Call) -> None:
        """Ends the call when nothing comes for too long. A dead TCP connection looks alive for minutes."""
        began_s, warned = time.monotonic(), False
        first_s = max(self._silence_s or 0.0, self._config.connect_timeout_s)
        while self._verdict is None:
            step_s = min(0.5, (self._silence_s or 2.0) / 10)
            due_s = time.monotonic() + step_s
            await asyncio.sleep(step_s)
            now_s = time.monotonic()
            late_s = now_s - due_s
            if late_s > step_s:  # we were not running: nobody was heard
                self._last_s, began_s = self._last_s + late_s, began_s + late_s
            age_s, quiet_s = now_s - began_s, now_s - self._last_s
            if not self.delivering:
                if not call.settled and age_s > self._config.connect_timeout_s:
                    self._verdict = Down.TIMEOUT
                elif self._silence_s is not None and quiet_s > first_s:
                    self._verdict = Down.SILENT
                elif age_s > self._config.sync_timeout_s:
                    self._verdict = Down.TIMEOUT
            elif self._silence_s is not None and quiet_s > self._silence_s:
                self._verdict = Down.SILENT
            elif not warned and not self.synced.is_set() and age_s > self._config.sync_timeout_s:
                warned = True  # its data are as good as any: going on beats an endless circle of reconnects
                metrics.UNSYNCED.labels(self._config.job_name).inc()
                log.warning("gnmi target never sent sync_response", target=self._target.address)
        call.cancel()

    def _set(self, *, delivering: bool, down: Down | None) -> None:
        if delivering != self.delivering:
            metrics.SUBSCRIBED.labels(self._config.job_name).inc(1 if delivering else -1)
        self.delivering, self.down = delivering, down
        self._changed()
