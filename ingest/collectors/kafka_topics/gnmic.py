"""What gnmic collected, by device: its messages as those of devices that we ask ourselves."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from common.threads import OneThread
from common.units import NS_PER_S, to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.gnmi.config import LimitsConfig
from ingest.collectors.gnmi.decode.decoder import Decoder, warm_up
from ingest.collectors.gnmi.decode.known_updates import KnownUpdates
from ingest.collectors.gnmi.device import THREAD_BYTES, DeviceUpdates
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.kafka_topics import metrics
from ingest.collectors.kafka_topics.config import Config, Format
from ingest.collectors.kafka_topics.decode import scan_events, scan_notifications
from ingest.collectors.kafka_topics.decode.gnmic_event import EventReader
from ingest.collectors.kafka_topics.decode.gnmic_json import JsonReader
from ingest.collectors.kafka_topics.decode.gnmic_proto import ProtoJsonReader, ProtoReader, ProtoTextReader
from ingest.collectors.kafka_topics.decode.responses import MALFORMED, Reader, Responses
from ingest.collectors.unmapped_settings import kept_max
from telemetry.samples import DownReason

_FORGET_NS = 3600 * NS_PER_S
_THREAD_UPDATES = 4_000  # known ones, which take as long as the bytes that are decoded in a thread
_UNLIMITED = 1e15  # the topic keeps what waits, so nobody takes the place of others
_TOO_MANY = "too_many_devices"
READERS: dict[Format, Callable[[], Reader]] = {
    Format.GNMIC_EVENT: EventReader,
    Format.GNMIC_JSON: JsonReader,
    Format.GNMIC_PROTO: ProtoReader,
    Format.GNMIC_PROTOJSON: ProtoJsonReader,
    Format.GNMIC_PROTOTEXT: ProtoTextReader,
}


@dataclass(frozen=True, slots=True)
class _Job:
    """What ``DeviceUpdates`` asks for. The window is that of the topics."""

    job_name: str
    limits: LimitsConfig
    gather_quiet_s: float = 0.0
    gather_max_s: float = 0.0


@dataclass(slots=True)
class _Device:
    """heard_ns: when it had messages last; said_ns: or was said to be silent."""

    decoder: Decoder
    updates: DeviceUpdates
    heard_ns: int = 0
    said_ns: int = 0


class GnmicDevices:
    """All devices of some topics. links: shared by all of the process, so that both ends of a link are one link."""

    def __init__(self, config: Config, context: CollectorContext, links: LinkTable) -> None:
        self._config, self._context, self._links = config, context, links
        self._naming = Naming((config.source, "openconfig"), kept_max(config))
        self._reader = READERS[config.format]()
        self._devices: dict[str, _Device] = {}
        limits = LimitsConfig(
            message_bytes_max=config.limits.message_bytes_max,
            bytes_per_s=_UNLIMITED,
            updates_per_s=_UNLIMITED,
            messages_per_s=_UNLIMITED,
            series_max=config.limits.series_max,
        )
        self._job = _Job(config.job_name, limits)

    def warm_up(self) -> None:
        """Compiles what decodes, or loads it."""
        warm_up()
        match self._config.format:
            case Format.GNMIC_EVENT:
                scan_events.warm_up()
            case Format.GNMIC_JSON:
                scan_notifications.warm_up()

    @property
    def unmapped(self) -> set[str]:
        """Paths that devices sent and that nothing maps."""
        return set().union(*(device.updates.unmapped for device in self._devices.values()))

    async def take(self, messages: Sequence[bytes], reading: OneThread, emit: Emit) -> None:
        """Emits the samples of each device."""
        found = await reading(self._read, messages)
        began_ns, began_s = self._context.clock(), time.monotonic()
        for source, of_source in found.by_source.items():
            device = self._device(source)
            if device is None:
                found.dropped[_TOO_MANY] += _messages(of_source)
                continue
            device.heard_ns = began_ns
            await _take(device, of_source, began_ns, began_s, emit)
        for reason, count in found.dropped.items():
            metrics.PARTS_DROPPED.labels(self._config.job_name, reason).inc(count)

    def watch(self, emit: Emit) -> None:
        """Says of each device without messages that it is silent, and forgets it after an hour."""
        now_ns, silence_ns = self._context.clock(), to_ns(self._config.silence_s)
        if facts := self._links.expire(now_ns):
            emit(facts)
        for name, device in list(self._devices.items()):
            if now_ns - device.heard_ns > _FORGET_NS:
                del self._devices[name]
            elif now_ns - max(device.heard_ns, device.said_ns) >= silence_ns:
                device.said_ns = now_ns
                emit(device.updates.down_batch(DownReason.SILENT))

    def _read(self, messages: Sequence[bytes]) -> Responses:
        """What they hold; those that hold nothing are counted."""
        found = Responses()
        if of_no_use := self._reader.read_all(messages, found):
            metrics.MESSAGES_DROPPED.labels(self._config.job_name, MALFORMED).inc(of_no_use)
        return found

    def _device(self, source: str) -> _Device | None:
        """That of a source; None when there are too many."""
        name = self._config.devices.get(source) or device_name(source)
        device = self._devices.get(name)
        if device is None and len(self._devices) < self._config.limits.devices_max:
            target, context = f"{self._config.job_name}/{name}", self._context
            decoder = Decoder(target, name, self._naming, self._config.limits.series_max)
            updates = DeviceUpdates(self._job, target, name, decoder, context.ledger, self._links, context.clock)
            device = self._devices[name] = _Device(decoder, updates)
        return device


async def _take(
    device: _Device, parts: Sequence[bytes | KnownUpdates], began_ns: int, began_s: float, emit: Emit
) -> None:
    """Decodes and emits what some messages hold of a device."""
    messages = size = known_size = updates = 0
    for part in parts:
        if isinstance(part, KnownUpdates):
            messages, known_size, updates = messages + part.messages, known_size + part.size, updates + len(part)
        else:
            messages, size = messages + 1, size + len(part)
    await device.updates.take_by(
        partial(device.decoder.decode_any, list(_runs(parts))),
        messages,
        size + known_size,
        began_ns,
        began_s,
        emit,
        is_long=size > THREAD_BYTES or updates > _THREAD_UPDATES,
    )


def _runs(parts: Sequence[bytes | KnownUpdates]) -> Iterator[Sequence[bytes] | KnownUpdates]:
    """Messages that follow each other, together."""
    messages: list[bytes] = []
    for part in parts:
        if not isinstance(part, KnownUpdates):
            messages.append(part)
            continue
        if messages:
            yield messages
            messages = []
        yield part
    if messages:
        yield messages


def _messages(parts: Sequence[bytes | KnownUpdates]) -> int:
    return sum(part.messages if isinstance(part, KnownUpdates) else 1 for part in parts)


def device_name(source: str) -> str:
    """A source without its port.

    >>> device_name("leaf1:6030"), device_name("leaf1"), device_name("[2001:db8::1]:57400"), device_name("2001:db8::1")
    ('leaf1', 'leaf1', '2001:db8::1', '2001:db8::1')
    """
    host, colon, port = source.rpartition(":")
    is_address = bool(colon) and port.isdigit() and (":" not in host or host.endswith("]"))
    return (host if is_address else source).strip("[]")
