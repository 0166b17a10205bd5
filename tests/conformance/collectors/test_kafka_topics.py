"""Topics that gnmic fills, on a real broker: its recorded messages, poison among them, restarts and other readers."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bus.config import KafkaConnection
from common.errors import ConfigError
from ingest.collectors.base import CollectorContext
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.kafka_topics.collector import KafkaTopics
from ingest.collectors.kafka_topics.config import Config
from ingest.collectors.kafka_topics.decode import scan_events, scan_lines, scan_metrics, scan_notifications
from ingest.ledger import DropReason, Ledger
from telemetry.gnmi.gnmi_pb2 import SubscribeResponse
from telemetry.samples import DownReason
from tests.conformance.collectors.gnmi_peer import Emitted
from tests.conformance.collectors.kafka_topic import Topic
from tests.samples import SAMPLES
from tests.servers.kafka import KafkaServer
from tests.servers.telegraf import messages as telegraf_messages
from tests.unit.ingest.kafka_topics.as_gnmic import as_json, as_proto, as_protojson, as_prototext, events, responses
from tests.unit.ingest.kafka_topics.test_telegraf_json import AT_NS
from tests.waiting import until


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """What reads messages: on a busy machine that takes longer than a test waits."""
    for part in (scan_events, scan_lines, scan_metrics, scan_notifications):
        part.warm_up()


@pytest.fixture
async def topic(kafka: KafkaServer) -> Topic:
    made = Topic(kafka, partitions=2)
    await made.make()
    return made


def octets(value: int, *, device: str = "leaf1", at_ns: int | None = None) -> bytes:
    tags = {"source": f"{device}:57400", "interface_name": "Ethernet1"}
    return orjson.dumps(
        [
            {
                "name": "sub1",
                "timestamp": at_ns or time.time_ns(),
                "tags": tags,
                "values": {"/interfaces/interface/state/counters/in-octets": value},
            }
        ]
    )


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("gnmic_event", events),
        ("gnmic_json", as_json),
        ("gnmic_proto", as_proto),
        ("gnmic_protojson", as_protojson),
        ("gnmic_prototext", as_prototext),
    ],
)
async def test_what_gnmic_recorded_arrives_under_canonical_names(
    topic: Topic, form: str, written: Callable[[SubscribeResponse], bytes]
) -> None:
    sent = [
        one
        for name in ("arista_interface_counters", "platform_psu_temperature")
        for one in responses(name, time.time_ns())
    ]
    await topic.put(*map(written, sent))
    async with topic.read(source="arista", format=form) as reading:
        await reading.until(lambda: len(reading.emitted.values()) >= 18)
    found = reading.emitted.values()
    assert found['fabric_device_temperature_celsius{device="leaf1",sensor="HotSpotTempSensor1"}'] == [58.0]
    assert found['fabric_port_receive_bytes_total{device="leaf1",port="Ethernet35"}'] == [0.0]
    assert {batch.table.target for batch in reading.emitted.batches} == {f"{topic.name}/leaf1"}


TELEGRAF: dict[str, Any] = {"format": "telegraf_influx", "rules": [{"source": "telegraf"}]}


def rdma(*lines: str) -> bytes:
    at_ns = time.time_ns()
    return "".join(
        f"infiniband,host=n1,device=mlx5_0,port=1 {line} {at_ns + n}\n" for n, line in enumerate(lines)
    ).encode()


async def test_what_telegraf_recorded_arrives_under_canonical_names(topic: Topic) -> None:
    recorded = (SAMPLES / "telegraf" / "infiniband.influx").read_bytes().splitlines()
    lines = [line.rpartition(b" ")[0] + b" %d" % time.time_ns() for line in recorded]
    await topic.put(*lines)
    async with topic.read(**TELEGRAF) as reading:
        await reading.until(lambda: len(reading.emitted.values()) == 49)
    key = 'ib_port_transmit_bytes_total{device="hop-r640-12",port="mlx5_bond_0"}'
    assert reading.emitted.values()[key] == [4 * 85378896588.0]
    assert reading.ledger.samples_in == 49
    assert topic.counted("samples_unmapped_total") == 0


@pytest.mark.parametrize(
    ("form", "written", "count"),
    [("telegraf_json", "json", 88), ("telegraf_remote_write", "prometheusremotewrite", 39)],
)
async def test_what_telegraf_wrote_into_kafka_arrives(topic: Topic, form: str, written: str, count: int) -> None:
    """Its own messages of one gathering, with a poison message among them, and each of them twice."""
    sent = telegraf_messages(written)
    await topic.put(*sent, b"\xffno message", *sent)
    rules = [{"job": "infiniband", "source": "telegraf"}, {"source": "dcgm"}]
    async with topic.read(format=form, rules=rules, clock=lambda: AT_NS) as reading:
        await topic.until_committed(2 * len(sent) + 1)
    values = reading.emitted.values()
    assert len(values) == sum(map(len, reading.emitted.batches)) == count
    from_labels = sum(
        key.startswith(("gpu_info{", "device_software_info{")) for key in values
    )  # again, they are no news
    assert reading.ledger.drops == {DropReason.DUPLICATE: count - from_labels}
    assert topic.counted("messages_dropped_total", reason="malformed") == 1


async def test_topics_are_read_over_tls_with_a_password(tmp_path: Path) -> None:
    """And not without the right one."""
    broker = KafkaServer(tmp_path / "kafka", users={"fabricscope": "right"})
    await asyncio.to_thread(broker.start)
    try:
        topic = Topic(broker, 1)
        await topic.make()
        await topic.put(octets(1))
        (tmp_path / "right").write_text("right\n")
        (tmp_path / "wrong").write_text("wrong\n")
        kafka = {
            "bootstrap": [broker.address],
            "security": "sasl_tls",
            "ca_file": broker.ca_file,
            "username": "fabricscope",
        }
        async with topic.read(kafka={**kafka, "password_file": tmp_path / "wrong"}) as refused:
            await until(lambda: topic.counted("reconnects_total") > 0)
        assert refused.octets == []
        async with topic.read(kafka={**kafka, "password_file": tmp_path / "right"}) as reading:
            await reading.until(lambda: reading.octets == [1.0])
    finally:
        await asyncio.to_thread(broker.stop)


async def test_a_broken_line_of_telegraf_is_counted_and_the_rest_taken(topic: Topic) -> None:
    await topic.put(
        rdma("symbol_error=1i", "symbol_error=", 'symbol_error=2i,a="x",b=1'), b"\xff\x00", rdma("symbol_error=3i")
    )
    async with topic.read(**TELEGRAF) as reading:
        await reading.until(lambda: sum(map(len, reading.emitted.batches)) == 3)
    key = 'ib_port_symbol_errors_total{device="n1",port="mlx5_0"}'
    assert reading.emitted.values()[key] == [1.0, 2.0, 3.0]
    assert topic.counted("parts_dropped_total", reason="malformed") == 2
    assert topic.counted("parts_dropped_total", reason="text") == 1
    assert topic.counted("samples_unmapped_total") == 1


async def test_lines_that_are_read_again_are_duplicates_in_the_ledger(topic: Topic) -> None:
    """By the same process: the partition came back, or Telegraf sent again what was not acknowledged."""
    again = rdma("symbol_error=1i", "symbol_error=2i")
    await topic.put(again, again)
    async with topic.read(**TELEGRAF) as reading:
        await topic.until_committed(2)
    assert sum(map(len, reading.emitted.batches)) == 2
    assert (reading.ledger.samples_in, reading.ledger.drops.total()) == (4, 2)


async def test_a_host_of_telegraf_that_is_silent_is_down(topic: Topic) -> None:
    await topic.put(rdma("symbol_error=1i"))
    async with topic.read(silence_s=0.2, **TELEGRAF) as reading:
        await reading.until(lambda: DownReason.SILENT in reading.emitted.downs)


async def test_a_poison_message_is_counted_and_the_next_one_taken(topic: Topic) -> None:
    await topic.put(octets(1), b"\xffno json", octets(2).replace(b"timestamp", b"time"), octets(3))
    async with topic.read() as reading:
        await reading.until(lambda: len(reading.octets) == 2)
    assert reading.octets == [1.0, 3.0]
    assert topic.counted("messages_received_total") == 4
    assert topic.counted("messages_dropped_total", reason="malformed") == 1
    assert topic.counted("parts_dropped_total", reason="malformed") == 1


async def test_a_message_above_the_limit_is_counted(topic: Topic) -> None:
    await topic.put(octets(1), octets(2) + b" " * 5_000, octets(3))
    async with topic.read(limits={"message_bytes_max": 4_096}) as reading:
        await reading.until(lambda: len(reading.octets) == 2)
    assert reading.octets == [1.0, 3.0]
    assert topic.counted("messages_dropped_total", reason="too_large") == 1


async def test_a_reader_that_starts_again_goes_on_where_it_was(topic: Topic) -> None:
    await topic.put(*(octets(n) for n in range(20)))
    async with topic.read() as first:
        await first.until(lambda: len(first.octets) == 20)
        await topic.until_committed(20)
    await topic.put(*(octets(n) for n in range(20, 40)))
    async with topic.read() as second:
        await second.until(lambda: len(second.octets) == 20)
    assert first.octets + second.octets == [float(n) for n in range(40)]


async def test_what_was_not_committed_is_read_again_with_its_own_times(topic: Topic, monkeypatch) -> None:
    """At least once: a repetition has the time of the first one, so analytics drops it as out_of_order."""
    sent = [octets(n, at_ns=time.time_ns()) for n in range(5)]
    await topic.put(*sent)
    with monkeypatch.context() as patched:
        patched.setattr(AIOKafkaConsumer, "commit", never)
        async with topic.read() as first:
            await first.until(lambda: len(first.octets) == 5)
    async with topic.read() as second:
        await second.until(lambda: len(second.octets) == 5)
    times = [[at for batch in one.emitted.batches for at in batch.times_ns.tolist()] for one in (first, second)]
    assert times[0] == times[1]
    assert first.octets == second.octets


async def never(consumer: AIOKafkaConsumer, offsets: object = None) -> None:
    await asyncio.Event().wait()


async def test_nothing_is_read_while_the_queue_is_full(topic: Topic) -> None:
    await topic.put(octets(1))
    answers = [True] * 5

    def is_full() -> bool:
        return bool(answers) and answers.pop()

    async with topic.read(is_full=is_full) as reading:
        while answers:
            assert (reading.octets, topic.counted("messages_received_total")) == ([], 0)
            await asyncio.sleep(0.02)
        await reading.until(lambda: reading.octets == [1.0])


async def test_two_readers_of_a_group_share_the_partitions(topic: Topic) -> None:
    async with topic.read() as one, topic.read() as other:
        n = 0
        while not (one.octets and other.octets):  # until both have a partition
            await topic.put(octets(n), partition=n % 2)
            n += 1
        await until(lambda: len({*one.octets, *other.octets}) == n)
    assert sorted({*one.octets, *other.octets}) == [float(value) for value in range(n)]


async def test_a_new_group_begins_with_what_may_be_accepted(topic: Topic) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=topic.broker.address)
    await producer.start()
    old_ms = time.time_ns() // 10**6 - 2 * 3600_000
    await producer.send_and_wait(topic.name, octets(1), partition=0, timestamp_ms=old_ms)
    await producer.send_and_wait(topic.name, octets(2), partition=0)
    await producer.stop()
    async with topic.read() as reading:
        await reading.until(lambda: reading.octets)
    assert reading.octets == [2.0]
    assert topic.counted("messages_received_total") == 1


async def test_reading_goes_on_when_the_broker_comes_back(own_kafka: KafkaServer) -> None:
    topic = Topic(own_kafka, 1)
    await topic.make()
    await topic.put(octets(1))
    async with topic.read(kafka={"bootstrap": [own_kafka.address], "attempt_deadline_s": 2, "stall_s": 1}) as reading:
        await reading.until(lambda: reading.octets == [1.0])
        await topic.until_committed(1)
        await asyncio.to_thread(own_kafka.restart)
        await topic.put(octets(2))
        await reading.until(lambda: 2.0 in reading.octets)
    assert reading.octets == [1.0, 2.0]


async def test_paths_that_nothing_maps_are_kept_where_the_topics_ask(topic: Topic) -> None:
    await topic.put(octets(7).replace(b"in-octets", b"in-novelties"))
    async with topic.read(unmapped="keep") as reading:
        key = 'interfaces_interface_state_counters_in_novelties{device="leaf1",interface_name="Ethernet1"}'
        await reading.until(lambda: reading.emitted.values().get(key) == [7.0])


async def test_a_device_that_is_silent_is_down(topic: Topic) -> None:
    await topic.put(octets(1))
    async with topic.read(silence_s=0.2) as reading:
        await reading.until(lambda: DownReason.SILENT in reading.emitted.downs)


async def test_devices_have_the_names_of_the_settings_and_a_most(topic: Topic) -> None:
    await topic.put(octets(1, device="10.0.0.1"), octets(2, device="10.0.0.2"))
    settings: dict[str, Any] = {"devices": {"10.0.0.1:57400": "leaf1"}, "limits": {"devices_max": 1}}
    async with topic.read(**settings) as reading:
        await reading.until(lambda: reading.octets)
        await topic.until_committed(2)
    assert reading.octets == [1.0]
    assert topic.counted("parts_dropped_total", reason="too_many_devices") == 1


async def test_a_file_that_is_missing_is_an_error_at_the_start(topic: Topic, tmp_path: Path) -> None:
    connection = KafkaConnection(security="tls", ca_file=tmp_path / "absent.pem")
    config = Config.model_validate({"kafka": connection, "topics": ["a"], "format": "gnmic_event"})
    workers = ThreadPoolExecutor(1)
    context = CollectorContext(Ledger(0), time.time_ns, workers)
    with pytest.raises(ConfigError, match=r"kafka: .*absent\.pem"):
        await KafkaTopics(config, context, LinkTable()).run(Emitted())
    workers.shutdown()
