"""Values that scans take straight to rows of series become the batches that messages of the devices become."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from common.threads import OneThread
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.kafka_topics.config import Config, Format
from ingest.collectors.kafka_topics.decode.responses import Responses
from ingest.collectors.kafka_topics.gnmic import GnmicDevices
from ingest.ledger import Ledger
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import SampleBatch
from tests.unit.ingest.kafka_topics.as_gnmic import as_json, events, responses

NOW = 1_700_000_000_000_000_000
RECORDED = (
    "arista_interface_counters",
    "bgp_neighbor_session_state",
    "platform_psu_temperature",
    "junos_queue_monitor",
    "delete_notification",
)
SENT = [response for name in RECORDED for response in responses(name, NOW)]
WRITTEN: dict[Format, Callable[[gnmi_pb2.SubscribeResponse, str], bytes]] = {
    Format.GNMIC_EVENT: events,
    Format.GNMIC_JSON: as_json,
}
WORDS = ("ESTABLISHED", "IDLE", "ACTIVE", "n/a", "no such word")


class Reading:
    """The devices of a topic: what they emit, and their ledger."""

    def __init__(self, form: Format, *, plainly: bool, series_max: int = 50_000) -> None:
        limits = {"series_max": series_max, "devices_max": 3}
        config = Config.model_validate({"topics": ["t"], "format": form, "source": "arista", "limits": limits})
        self.now_ns, self.ledger = NOW, Ledger(0)
        self._workers, self._reading = ThreadPoolExecutor(1), OneThread("kafka-topics")
        context = CollectorContext(self.ledger, lambda: self.now_ns, self._workers)
        self.devices = GnmicDevices(config, context, LinkTable())
        if plainly:
            reader = self.devices._reader

            def read_all(messages: Sequence[bytes], into: Responses) -> int:
                of_no_use = 0
                for message in messages:
                    try:
                        reader.read(message, into)
                    except BadInput:
                        of_no_use += 1
                return of_no_use

            reader.read_all = read_all  # type: ignore[method-assign]

    def poll(self, messages: Sequence[bytes]) -> list[object]:
        found: list[object] = []

        def emit(output: CollectorOutput) -> None:
            found.append(_plain(output) if isinstance(output, SampleBatch) else output)

        asyncio.run(self.devices.take(messages, self._reading, emit))
        self.now_ns += 10**9
        return found

    def stop(self) -> None:
        self._reading.stop()
        self._workers.shutdown()


def _plain(batch: SampleBatch) -> object:
    """All of it. The two meet numbers, words and new series of a poll in different orders, so these of a batch may come
    in any; the samples of each series come in theirs."""
    series = {key: list[tuple[int, str]]() for key in batch.table.keys}
    for at_ns, row, value in zip(batch.times_ns.tolist(), batch.series.tolist(), batch.values.tolist(), strict=True):
        series[batch.table.keys[row]].append((at_ns, repr(value)))
    return batch.table.target, sorted(batch.table.keys), replace(batch.collection, duration_s=0.0), series


@contextmanager
def readings(form: Format, series_max: int = 50_000) -> Iterator[tuple[Reading, Reading]]:
    """By scans, and by the plain reader."""
    both = Reading(form, plainly=False, series_max=series_max), Reading(form, plainly=True, series_max=series_max)
    try:
        yield both
    finally:
        for each in both:
            each.stop()


def sent(form: Format, number: int, device: int, by: int) -> bytes:
    """One of the recorded messages, of a device, with other values and another time."""
    response = gnmi_pb2.SubscribeResponse()
    response.CopyFrom(SENT[number % len(SENT)])
    response.update.timestamp = NOW + by * 10**8
    for place, update in enumerate(response.update.update):
        match update.val.WhichOneof("value"):
            case "uint_val":
                update.val.uint_val += by
            case "int_val":
                update.val.int_val -= by
            case "string_val":
                update.val.string_val = WORDS[(place + by) % len(WORDS)]
    return WRITTEN[form](response, f"leaf{device}:57400")


MESSAGES = st.tuples(st.integers(0, len(SENT) - 1), st.integers(1, 4), st.integers(0, 9))


@pytest.mark.parametrize("form", WRITTEN)
@given(st.lists(st.lists(MESSAGES, max_size=12), min_size=2, max_size=4))
@example([[(0, 1, 0), (5, 1, 0), (0, 1, 0), (3, 1, 0)]])  # a word beside numbers, some of them known by then
@settings(deadline=None, max_examples=40)
def test_the_batches_are_the_same(form: Format, polls: list[list[tuple[int, int, int]]]) -> None:
    with readings(form) as (fast, plain):
        for poll in (*polls, *polls):
            messages = [sent(form, *each) for each in poll]
            assert fast.poll(messages) == plain.poll(messages)
        assert fast.devices.unmapped == plain.devices.unmapped
        assert (fast.ledger.samples_in, fast.ledger.drops) == (plain.ledger.samples_in, plain.ledger.drops)


@pytest.mark.parametrize("form", WRITTEN)
def test_series_beyond_the_limit_are_left_out_the_same(form: Format) -> None:
    everything = [sent(form, number, 1, 1) for number in range(len(SENT))]
    with readings(form, series_max=5) as (fast, plain):
        for _ in range(3):
            assert fast.poll(everything) == plain.poll(everything)


@pytest.mark.parametrize("form", WRITTEN)
def test_a_device_that_was_forgotten_begins_again(form: Format) -> None:
    """Its decoder is another one, in which the paths that the reader knows have no slots yet."""
    everything = [sent(form, number, 1, 1) for number in range(len(SENT))]
    with readings(form) as (fast, plain):
        for reading in (fast, plain):
            reading.poll(everything)
            reading.devices._devices.clear()
        again = [sent(form, number, 1, 2) for number in range(len(SENT))]
        found = fast.poll(again)
        assert found == plain.poll(again)
        assert found


def test_a_port_that_has_a_new_name_begins_again() -> None:
    """The decoder forgets what its paths are when it learns what a port is called."""
    port = "/interfaces/interface[name=Ethernet1]"
    update = b'{"Path":"%b","values":{"v":%b}}'
    body = b'{"source":"leaf1:1","timestamp":%d,"prefix":"%b","updates":[%b]}'
    octets = update % (b"state/counters/in-octets", b"5")
    alias = update % (b"state/description", b'"up"')
    messages = [body % (NOW, port.encode(), each) for each in (octets, alias, octets)]
    with readings(Format.GNMIC_JSON) as (fast, plain):
        for _ in range(3):
            assert fast.poll(messages) == plain.poll(messages)
            for reading in (fast, plain):
                for device in reading.devices._devices.values():
                    device.decoder._resolver.names.version += 1
