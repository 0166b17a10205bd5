"""What topics of other collectors cost, beside the plain decoder of each format on the same messages.

Messages are those that Telegraf 1.37.2 wrote, of many hosts, and what gnmic writes of a switch's counters. A round is
what one poll brings: to ours joined, as its client of Kafka hands messages on, to the plain decoder one by one, as
others do. Ours goes from the bytes to batches of canonical samples with ledger and limits; the plain decoder (the json
module, protobuf's classes, splits of a line) finds the number of each series by its name and labels in a dict, which is
the least that a reader does.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import cramjam

from benchmarks.gnmi import messages_of
from benchmarks.rows import Row, print_rows, row
from common.threads import OneThread
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.kafka_topics.collector import Content
from ingest.collectors.kafka_topics.config import Config, Format
from ingest.collectors.kafka_topics.gnmic import GnmicDevices
from ingest.collectors.kafka_topics.joined import joined
from ingest.collectors.kafka_topics.telegraf import TelegrafSeries
from ingest.ledger import Ledger
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import SampleBatch
from tests.servers.telegraf import messages as telegraf_messages
from tests.unit.export.prompb import WriteRequest
from tests.unit.ingest.kafka_topics.as_gnmic import as_json, as_proto, events

_ROUND_S = 2.0
NOW_NS = 1_780_000_000 * NS_PER_S
_HOSTS, _DEVICES, _MESSAGES = 50, 16, 20  # of Telegraf; of gnmic, and messages of each
_UPDATES = 24  # of a message of gnmic
RULES = [{"job": "infiniband", "source": "telegraf"}, {"source": "dcgm"}]

Read = Callable[[Sequence[bytes]], int]
"""Reads the messages of a round, and returns how many samples they have."""


def run() -> list[Row]:
    rows = []
    for form, written, plain in FORMATS:
        samples = plain()(written(0))
        ours = _best_per_s(_own(form, samples), partial(_joined, written), samples)
        theirs = _best_per_s(plain(), written, samples)
        rows.append(row(f"kafka_topics_{form}", ours, "samples/CPU-s", theirs))
    return rows


def _joined(written: Callable[[int], Sequence[bytes]], number: int) -> Sequence[bytes]:
    return joined(written(number))


def _best_per_s(read: Read, written: Callable[[int], Sequence[bytes]], samples: int) -> float:
    """Samples per CPU-second of the best round, after one that brings all series."""
    best, deadline, number = 0.0, 0.0, 0
    while not deadline or time.monotonic() < deadline:
        messages = written(number)
        number += 1
        began = time.process_time()
        read(messages)
        passed = time.process_time() - began
        if deadline:
            best = max(best, samples / passed)
        deadline = deadline or time.monotonic() + _ROUND_S
    return best


def _own(form: Format, samples: int) -> Read:
    """As the collector takes a poll. samples: of a round, each of which the catalogue knows."""
    settings: dict[str, object] = {"rules": RULES} if form.is_of_telegraf else {"source": "arista"}
    config = Config.model_validate({"topics": ["t"], "format": form, **settings})
    ledger, number = Ledger(0), 0
    context = CollectorContext(ledger, lambda: NOW_NS + number * NS_PER_S, ThreadPoolExecutor(1))
    content: Content = (
        TelegrafSeries(config, context) if form.is_of_telegraf else GnmicDevices(config, context, LinkTable())
    )
    content.warm_up()
    loop, reading = asyncio.new_event_loop(), OneThread("kafka-topics")

    def read(messages: Sequence[bytes]) -> int:
        nonlocal number
        number += 1
        emitted = 0

        def count(output: CollectorOutput) -> None:
            nonlocal emitted
            emitted += len(output) if isinstance(output, SampleBatch) else 0

        loop.run_until_complete(content.take(messages, reading, count))
        assert emitted >= samples, "each is a sample of a canonical series, or more"
        assert not ledger.drops
        return emitted

    return read


# Telegraf


def _of_hosts(messages: Sequence[bytes], at: re.Pattern[bytes], scale: int, number: int) -> Sequence[bytes]:
    """The messages of one gathering, of many hosts, as of a time. at: what is before a time, and the time."""
    stamp = b"%d" % ((NOW_NS + number * NS_PER_S) // scale)
    found = []
    for host in range(_HOSTS):
        name = b"node%d" % host
        for message in messages:
            stamped = at.sub(lambda match: match[1] + stamp, message)
            moved = stamped.replace(b"gpu-node-1", name).replace(b"hop-r640-12", name)
            found.append(moved.replace(b"853788965", b"%09d" % (853788965 + number)))
    return found


def _remote_writes(number: int) -> Sequence[bytes]:
    """The same as remote write, of an input ``infiniband`` that has its name as the tag ``job``."""
    found = []
    bodies = [WriteRequest.FromString(bytes(cramjam.snappy.decompress_raw(each))) for each in _TELEGRAF_BODIES]
    for host in range(_HOSTS):
        for body in bodies:
            for series in body.timeseries:
                if not host and series.labels[0].value.startswith("infiniband"):
                    series.labels.add(name="job", value="infiniband")
                for label in series.labels:
                    if label.name in ("host", "Hostname"):
                        label.value = f"node{host}"
                for sample in series.samples:
                    sample.timestamp = NOW_NS // 10**6 + 1000 * number
            found.append(bytes(cramjam.snappy.compress_raw(body.SerializeToString())))
    return found


_TELEGRAF_BODIES = telegraf_messages("prometheusremotewrite")


class _Samples:
    """What a plain decoder keeps."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._found: list[tuple[int, int, float]] = []

    def add(self, series: object, at: int, value: float) -> None:
        self._found.append((self._numbers.setdefault(series, len(self._numbers)), at, value))

    def taken(self) -> int:
        count, self._found = len(self._found), []
        return count


_SPACES, _COMMAS = re.compile(r"(?<!\\) "), re.compile(r"(?<!\\),")


def _plain_influx() -> Read:
    samples = _Samples()

    def read(messages: Sequence[bytes]) -> int:
        for message in messages:
            for line in message.decode().splitlines():
                head, fields, stamp = _SPACES.split(line) if "\\" in line else line.split(" ")
                at = int(stamp)
                for field in fields.split(","):
                    name, _, text = field.partition("=")
                    samples.add((head, name), at, float(text.rstrip("iu")))
        return samples.taken()

    return read


def _plain_json() -> Read:
    samples = _Samples()

    def read(messages: Sequence[bytes]) -> int:
        for message in messages:
            metric = json.loads(message)
            of, at = (metric["name"], *metric["tags"].items()), metric["timestamp"]
            for name, value in metric["fields"].items():
                if isinstance(value, (int, float)):
                    samples.add((of, name), at, float(value))
        return samples.taken()

    return read


def _plain_remote_write() -> Read:
    samples = _Samples()

    def read(messages: Sequence[bytes]) -> int:
        for message in messages:
            body = WriteRequest.FromString(bytes(cramjam.snappy.decompress_raw(message)))
            for series in body.timeseries:
                labels = tuple([(label.name, label.value) for label in series.labels])
                for sample in series.samples:
                    samples.add(labels, sample.timestamp, sample.value)
        return samples.taken()

    return read


# gnmic


def _of_devices(written: Callable[[gnmi_pb2.SubscribeResponse, str], bytes], number: int) -> Sequence[bytes]:
    """Counters of the ports of some switches, as of a time."""
    found = []
    for n, message in enumerate(_SENT):
        response = gnmi_pb2.SubscribeResponse.FromString(message)
        response.update.timestamp = NOW_NS + number * NS_PER_S + n
        for update in response.update.update:
            update.val.uint_val += number * 1000
        found += [written(response, f"leaf{device}:57400") for device in range(_DEVICES)]
    return found


_SENT = messages_of(_UPDATES)[:_MESSAGES]


def _plain_events() -> Read:
    samples = _Samples()

    def read(messages: Sequence[bytes]) -> int:
        for message in messages:
            for event in json.loads(message):
                tags, at = tuple(event["tags"].items()), event["timestamp"]
                for path, value in event["values"].items():
                    samples.add((tags, path), at, float(value))
        return samples.taken()

    return read


def _plain_notifications() -> Read:
    samples = _Samples()

    def read(messages: Sequence[bytes]) -> int:
        for message in messages:
            notification = json.loads(message)
            of, at = (notification["source"], notification["prefix"]), notification["timestamp"]
            for update in notification["updates"]:
                for value in update["values"].values():
                    samples.add((of, update["Path"]), at, float(value))
        return samples.taken()

    return read


def _plain_proto() -> Read:
    samples = _Samples()

    def read(messages: Sequence[bytes]) -> int:
        for message in messages:
            notification = gnmi_pb2.SubscribeResponse.FromString(message).update
            of, at = _path(notification.prefix), notification.timestamp
            for update in notification.update:
                value = float(getattr(update.val, update.val.WhichOneof("value") or ""))
                samples.add((of, _path(update.path)), at, value)
        return samples.taken()

    return read


def _path(path: gnmi_pb2.Path) -> str:
    """With the device that gnmic writes into it."""
    steps = [elem.name + "".join(f"[{key}={value}]" for key, value in elem.key.items()) for elem in path.elem]
    return path.target + "/" + "/".join(steps)


def _formats() -> Iterator[tuple[Format, Callable[[int], Sequence[bytes]], Callable[[], Read]]]:
    """Each with what writes a round, and its plain decoder."""
    lines = partial(_of_hosts, telegraf_messages("influx"), re.compile(rb"( )\d+$", re.MULTILINE), 1)
    metrics = partial(_of_hosts, telegraf_messages("json"), re.compile(rb'("timestamp":)\d+'), 1)
    yield Format.TELEGRAF_INFLUX, lines, _plain_influx
    yield Format.TELEGRAF_JSON, metrics, _plain_json
    yield Format.TELEGRAF_REMOTE_WRITE, _remote_writes, _plain_remote_write
    yield Format.GNMIC_EVENT, partial(_of_devices, events), _plain_events
    yield Format.GNMIC_JSON, partial(_of_devices, as_json), _plain_notifications
    yield Format.GNMIC_PROTO, partial(_of_devices, as_proto), _plain_proto


FORMATS = tuple(_formats())

if __name__ == "__main__":
    print_rows(run())
