"""One Subscribe call, kept alive: it ends for many reasons and begins again."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import structlog

from ingest.collectors.gnmi import metrics
from ingest.collectors.gnmi.channel import down_of, keepalive_after, metadata_of, open_channel
from ingest.collectors.gnmi.config import Config, SubscriptionConfig, TargetConfig
from ingest.collectors.gnmi.subscriptions import request_of, silence_s
from telemetry.errors import ConfigError, Unavailable
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import Down

METHOD = "/gnmi.gNMI/Subscribe"
# A response that is nothing but sync_response: true. Whatever else carries it is noticed when it is decoded.
_SYNC = gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()

log = structlog.get_logger(__name__)


class Stream:
    """Delivers the messages of one subscription until cancelled.

    deliver: takes a serialised SubscribeResponse; waits while the target's queue is full.
    changed: called when ``delivering`` or ``down`` changed.
    """

    def __init__(
        self,
        config: Config,
        target: TargetConfig,
        subscription: SubscriptionConfig,
        deliver: Callable[[bytes], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        self._config, self._target, self._subscription = config, target, subscription
        self._deliver, self._changed = deliver, changed
        self._request = request_of(subscription, config.interval_s)
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
            channel = await open_channel(self._config, self._target, self._keepalive_s)
        except ConfigError as error:
            return Down.TLS, str(error)
        except Unavailable as error:
            return Down.REFUSED, str(error)
        try:
            return await self._read(channel)
        except grpc.aio.AioRpcError as error:
            words = error.details() or error.code().name
            self._keepalive_s = keepalive_after(words, self._keepalive_s)
            return self._verdict or down_of(error), words
        except asyncio.CancelledError:
            if self._verdict is None:
                raise
            return self._verdict, "nothing came in time"
        except ConfigError as error:
            return Down.AUTH, str(error)
        finally:
            await channel.close(None)

    async def _read(self, channel: grpc.aio.Channel) -> tuple[Down, str]:
        open_call: grpc.aio.StreamStreamMultiCallable[Any, Any] = channel.stream_stream(
            METHOD, request_serializer=gnmi_pb2.SubscribeRequest.SerializeToString, response_deserializer=None
        )
        call = open_call(metadata=metadata_of(self._config))
        self._last_s = time.monotonic()
        watchdog = asyncio.create_task(self._watch(channel, call))
        try:
            await call.write(self._request)
            while isinstance(message := await call.read(), bytes):  # else it is grpc.aio.EOF
                self._last_s = time.monotonic()
                if message == _SYNC:
                    self.synced.set()
                if not self.delivering:
                    self._set(delivering=True, down=None)
                await self._deliver(message)
                self._last_s = time.monotonic()  # waiting for room is not the target's silence
            return Down.CLOSED, "the target ended the stream"
        finally:
            watchdog.cancel()
            call.cancel()

    async def _watch(self, channel: grpc.aio.Channel, call: grpc.aio.StreamStreamCall[Any, Any]) -> None:
        """Ends the call when nothing comes for too long. A dead TCP connection looks alive for minutes."""
        began_s, warned = time.monotonic(), False
        first_s = max(self._silence_s or 0.0, self._config.connect_timeout_s)
        while self._verdict is None:
            await asyncio.sleep(min(0.5, (self._silence_s or 2.0) / 10))
            now_s = time.monotonic()
            age_s, quiet_s = now_s - began_s, now_s - self._last_s
            if not self.delivering:
                if channel.get_state() is not grpc.ChannelConnectivity.READY and age_s > self._config.connect_timeout_s:
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
