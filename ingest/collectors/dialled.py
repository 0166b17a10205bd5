"""A receiver that devices dial and stream to: calls in, batches and facts of each device out."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

import structlog

from common.units import NS_PER_S, to_ns
from ingest import metrics
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.dialled_config import DialledConfig
from ingest.collectors.gnmi.device import DeviceUpdates, MessageDecoder
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.grpc_receiver import GrpcServer
from ingest.transport.grpc_call import ServerCall
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.grpc_status import Refused, Status
from telemetry.samples import DownReason

_FORGET_NS = 3600 * NS_PER_S

log = structlog.get_logger("ingest")


class Unwrap(Protocol):
    """Of one call, from its messages to those for the decoder."""

    def __call__(self, message: bytes) -> tuple[str, bytes] | None:
        """The device, '' for the sender, and a message of it; None while more is needed.

        CallEnded for what ends the call.
        """
        ...


@dataclass(frozen=True, slots=True)
class Service:
    """What is dialled. method: ``/package.Service/Method``. unwrap: made for each call.

    decoder: makes that of a device, from the target's name and the device's. warm_up: compiles what it uses.
    """

    method: str
    unwrap: Callable[[], Unwrap]
    decoder: Callable[[str, str], MessageDecoder]
    warm_up: Callable[[], None]


@dataclass(slots=True)
class _Device:
    """One device that has dialled. streams: its calls; heard_ns: when it sent last; said_ns: or was said to be down."""

    updates: DeviceUpdates
    decoding: "asyncio.Task[None]"
    streams: int = 0
    heard_ns: int = 0
    said_ns: int = 0


class DialledReceiver:
    """One address that devices dial. server: its port is known once it listens.

    links: shared by all receivers of the process, so that both ends of a link are one link.
    """

    def __init__(self, config: DialledConfig, service: Service, context: CollectorContext, links: LinkTable) -> None:
        self._config, self._service, self._context, self._links = config, service, context, links
        self._devices: dict[str, _Device] = {}
        self.server = GrpcServer(
            config,
            config.limits.message_bytes_max,
            {service.method: self._call},
            connections_max=config.limits.devices_max * config.limits.streams_max,
            read_pause_s=config.gather_quiet_s / 4,  # within a batch no pause looks like its end
        )
        self._emit: Emit = _nowhere
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._config.listen}"

    async def run(self, emit: Emit) -> None:
        """Listens until cancelled. ConfigError when the address is taken or a certificate cannot be read."""
        self._emit = emit
        await asyncio.to_thread(self._service.warm_up)
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
            await self.server.stop(grace_s=0.0)  # streams do not end by themselves

    async def _call(self, call: ServerCall) -> None:
        """One call of a device. It is sent nothing: switches read no answer."""
        sender = self.server.sender(call)
        if sender is None:
            raise self._refused(Status.PERMISSION_DENIED, "this address may not push (allow)")
        named = self._config.senders.get(sender.certificate) or self._config.senders.get(sender.address)
        unwrap, device, known = self._service.unwrap(), None, ""
        try:
            while messages := await call.read():
                for node, bodies in _by_node(messages, unwrap):
                    name = self._config.senders.get(node, node) or named or sender.certificate or sender.address
                    if device is None or name != known:
                        self._leave(device)
                        device = None
                        device, known = self._enter(name), name
                    device.heard_ns = self._context.clock()
                    await device.updates.deliver(bodies)
        except CallEnded as ended:
            raise self._refused(Status.RESOURCE_EXHAUSTED, ended.message) from ended
        finally:
            self._leave(device)

    def _enter(self, name: str) -> _Device:
        """The device of a call that sends for it. CallEnded when there are too many devices or calls."""
        device, limits = self._devices.get(name), self._config.limits
        if device is None:
            if len(self._devices) >= limits.devices_max or self._tasks is None:
                raise CallEnded(DownReason.TOO_LARGE, "too many devices (limits.devices_max)")
            target = f"{self._config.job_name}/{name}"
            decoder = self._service.decoder(target, name)
            context = self._context
            updates = DeviceUpdates(self._config, target, name, decoder, context.ledger, self._links, context.clock)
            decoding = self._tasks.create_task(updates.run(self._emit))
            device = self._devices[name] = _Device(updates, decoding)
        if device.streams >= limits.streams_max:
            raise CallEnded(DownReason.TOO_LARGE, "too many calls of one device (limits.streams_max)")
        device.streams += 1
        metrics.DIALLED_STREAMS.labels(self._config.job_name).inc()
        return device

    def _leave(self, device: _Device | None) -> None:
        if device is not None:
            device.streams -= 1
            metrics.DIALLED_STREAMS.labels(self._config.job_name).dec()

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
                elif now_ns - max(device.heard_ns, device.said_ns) >= silence_ns:
                    device.said_ns = now_ns
                    reason = DownReason.SILENT if device.streams else DownReason.CLOSED
                    self._emit(device.updates.down_batch(reason))

    def _refused(self, status: Status, message: str) -> Refused:
        metrics.DIALLED_CALLS_REFUSED.labels(self._config.job_name, status.name.lower()).inc()
        return Refused(status, message)


def _by_node(messages: Sequence[bytes], unwrap: Unwrap) -> Iterator[tuple[str, list[bytes]]]:
    """Messages of one device that follow each other; CallEnded after those that came before what ends the call."""
    node, bodies, ended = "", list[bytes](), None
    for message in messages:
        try:
            found = unwrap(message)
        except CallEnded as error:
            ended = error
            break
        if found is None:
            continue
        if found[0] != node and bodies:
            yield node, bodies
            bodies = []
        node = found[0]
        bodies.append(found[1])
    if bodies:
        yield node, bodies
    if ended is not None:
        raise ended


def _nowhere(output: object) -> None:
    raise AssertionError("run has not begun")
