"""The dial-out receiver: switches call Publish and stream SubscribeResponses, which are read as those of gNMI jobs."""

import asyncio
from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
import structlog

from common.units import NS_PER_S, to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.gnmi.decode.decoder import warm_up
from ingest.collectors.gnmi.device import DeviceUpdates
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi_dialout import metrics
from ingest.collectors.gnmi_dialout.config import Config
from ingest.collectors.grpc_receiver import GrpcServer
from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import DownReason

METHOD = "/gnmi.sonic.gNMIDialOut/Publish"
_FORGET_NS = 3600 * NS_PER_S

log = structlog.get_logger("ingest")


@dataclass(slots=True)
class _Device:
    """One device that has dialled. streams: its calls; heard_ns: when it sent last; told_ns: or was said to be down."""

    updates: DeviceUpdates
    decoding: "asyncio.Task[None]"
    streams: int = 0
    heard_ns: int = 0
    told_ns: int = 0


class DialOutReceiver:
    """One address that switches dial. server: its port is known once ``run`` has begun.

    links: shared by all receivers of the process, so that both ends of a link are one link.
    """

    def __init__(self, config: Config, context: CollectorContext, links: LinkTable) -> None:
        self._config, self._context, self._links = config, context, links
        self._devices: dict[str, _Device] = {}
        handler: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(self._publish)
        self.server = GrpcServer(config, config.limits.message_bytes_max, {METHOD: handler})
        self._emit: Emit = _nowhere
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._config.listen}"

    async def run(self, emit: Emit) -> None:
        """Listens until cancelled. ConfigError when the address is taken or a certificate cannot be read."""
        self._emit = emit
        await asyncio.to_thread(warm_up)
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self.server.start()
                log.info("receiver listens", target=self.name, port=self.server.port)
                if self._config.tls is None:
                    log.warning("receiver is not secure", target=self.name)
                await self._watch()
        finally:
            self._tasks = None
            self._devices.clear()
            await self.server.stop()

    async def _publish(self, messages: AsyncIterable[bytes], context: Any) -> None:
        """One call of a device: serialised SubscribeResponses. It is sent nothing: SONiC reads no answer."""
        sender = self.server.sender(context)
        if sender is None:
            await self._refuse(context, grpc.StatusCode.PERMISSION_DENIED, "this address may not push (allow)")
        named = self._config.senders.get(sender.certificate) or self._config.senders.get(sender.address)
        name = named or sender.certificate or sender.address
        device = self._device(name)
        if device is None or device.streams >= self._config.limits.streams_max:
            what = "devices (limits.devices_max)" if device is None else "calls of one device (limits.streams_max)"
            await self._refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, f"too many {what}")
        device.streams += 1
        metrics.STREAMS.labels(self._config.job_name).inc()
        try:
            async for message in messages:
                device.heard_ns = self._context.clock()
                await device.updates.deliver([message])
        except CallEnded as ended:
            await self._refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, ended.message)
        finally:
            device.streams -= 1
            metrics.STREAMS.labels(self._config.job_name).dec()

    def _device(self, name: str) -> _Device | None:
        """None when there are too many."""
        found = self._devices.get(name)
        if found is None and len(self._devices) < self._config.limits.devices_max and self._tasks is not None:
            target = f"{self._config.job_name}/{name}"
            updates = DeviceUpdates(self._config, target, name, self._context.ledger, self._links, self._context.clock)
            decoding = self._tasks.create_task(updates.run(self._emit))
            found = self._devices[name] = _Device(updates, decoding, heard_ns=self._context.clock())
        return found

    async def _watch(self) -> NoReturn:
        """Says of each device that sends nothing that it is down, and forgets it after an hour."""
        silence_ns = to_ns(self._config.silence_s)
        while True:
            await asyncio.sleep(self._config.silence_s / 10)
            now_ns = self._context.clock()
            if facts := self._links.expire(now_ns):
                self._emit(facts)
            for name, device in list(self._devices.items()):
                if not device.streams and now_ns - device.heard_ns > _FORGET_NS:
                    device.decoding.cancel()
                    del self._devices[name]
                elif now_ns - max(device.heard_ns, device.told_ns) >= silence_ns:
                    device.told_ns = now_ns
                    reason = DownReason.SILENT if device.streams else DownReason.CLOSED
                    self._emit(device.updates.down_batch(reason))

    async def _refuse(self, context: Any, code: grpc.StatusCode, message: str) -> NoReturn:
        metrics.CALLS_REFUSED.labels(self._config.job_name, code.name.lower()).inc()
        await context.abort(code, message)
        raise AssertionError("abort raises")


def _nowhere(output: object) -> None:
    raise AssertionError("run has not begun")
