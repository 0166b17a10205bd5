"""What topics of Telegraf cost to read, beside Telegraf's own consumer: the same messages, from a real Kafka.

Both are processes of their own, and what counts is their CPU time, user and system, threads and client of Kafka
included. Ours goes on to canonical samples in batches of each device, Telegraf to its own metrics, which its output
``discard`` takes. Needs ``build/bin/telegraf``, which ``make bench`` builds.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cramjam
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from benchmarks.kafka_topics import FORMATS, NOW_NS, RULES
from benchmarks.loads.child import ServerProcess, cpu_s
from benchmarks.loads.telegraf import BATCH, Telegraf
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.kafka_topics.collector import KafkaTopics
from ingest.collectors.kafka_topics.config import Config, Format
from ingest.ledger import Ledger
from telemetry.samples import SampleBatch
from tests.servers.kafka import KafkaServer

_FIRST, _ROUNDS = 3, 40  # rounds in which a reader learns the series, and those that are measured
_START_S, _WAIT_S = 120.0, 300.0
# What Telegraf needs to know to read its own messages again.
_PARSERS = {
    Format.TELEGRAF_INFLUX: 'data_format = "influx"',
    Format.TELEGRAF_JSON: 'data_format = "json"\njson_name_key = "name"\ntag_keys = ["tags_*"]\n'
    'json_time_key = "timestamp"\njson_time_format = "unix_ns"',
    Format.TELEGRAF_REMOTE_WRITE: 'data_format = "prometheusremotewrite"',
}
_INPUT = """
[[inputs.kafka_consumer]]
brokers = ["{broker}"]
topics = ["{topic}"]
consumer_group = "{topic}"
kafka_version = "3.6.0"
max_undelivered_messages = {batch}
{parser}
"""
Reader = Callable[[KafkaServer, str, Format], Any]
"""A context in which a process reads a topic as a group of the same name; it gives the process's id."""


def run() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        broker = KafkaServer(Path(name) / "kafka")
        broker.start()
        try:
            for form, written, plain in FORMATS:
                if form.is_of_telegraf:
                    samples = _ROUNDS * plain()(written(0))
                    rounds = [written(number) for number in range(_FIRST + _ROUNDS)]
                    ours = samples / _spent_s(broker, form, rounds, _own)
                    theirs = samples / _spent_s(broker, form, [_for_telegraf(form, each) for each in rounds], _telegraf)
                    rows.append(row(f"kafka_topics_{form}_beside_telegraf", ours, "samples/CPU-s", theirs))
        finally:
            broker.stop()
    return rows


def _for_telegraf(form: Format, messages: Sequence[bytes]) -> Sequence[bytes]:
    """Its parser of remote write does not unpack what its serializer packs."""
    if form is not Format.TELEGRAF_REMOTE_WRITE:
        return messages
    return [bytes(cramjam.snappy.decompress_raw(message)) for message in messages]


def _spent_s(broker: KafkaServer, form: Format, rounds: Sequence[Sequence[bytes]], reader: Reader) -> float:
    """CPU-seconds for the rounds after those in which it starts."""
    topic = f"{reader.__name__.strip('_')}-{form}"
    first = [message for each in rounds[:_FIRST] for message in each]
    rest = [message for each in rounds[_FIRST:] for message in each]
    asyncio.run(_make(broker, topic))
    with reader(broker, topic, form) as pid:
        asyncio.run(_put_and_wait(broker, topic, first, len(first)))
        before_s = cpu_s(pid)
        asyncio.run(_put_and_wait(broker, topic, rest, len(first) + len(rest)))
        return cpu_s(pid) - before_s


async def _make(broker: KafkaServer, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1)])
    await admin.close()


async def _put_and_wait(broker: KafkaServer, topic: str, messages: Sequence[bytes], offset: int) -> None:
    """Until the group has committed the offset."""
    producer = AIOKafkaProducer(bootstrap_servers=broker.address, linger_ms=20)
    await producer.start()
    await asyncio.gather(*[await producer.send(topic, message, partition=0) for message in messages])
    await producer.stop()
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.address, group_id=topic, enable_auto_commit=False)
    await consumer.start()
    try:
        async with asyncio.timeout(_WAIT_S):
            while await consumer.committed(TopicPartition(topic, 0)) != offset:  # noqa: ASYNC110  # the broker's
                await asyncio.sleep(0.2)
    finally:
        await consumer.stop()


@contextmanager
def _telegraf(broker: KafkaServer, topic: str, form: Format) -> Iterator[int]:
    settings = _INPUT.format(broker=broker.address, topic=topic, batch=BATCH, parser=_PARSERS[form])
    with Telegraf(broker.folder, topic, settings) as process:
        yield process.pid


@contextmanager
def _own(broker: KafkaServer, topic: str, form: Format) -> Iterator[int]:
    with ServerProcess(_serve, broker.address, topic, form, start_s=_START_S) as process:
        yield process.pid


def _serve(address: str, topic: str, form: Format, ready: Any) -> None:
    """The collector in a process of its own, which ends at once when it drops a sample; batches go nowhere."""
    kafka = {"bootstrap": [address]}
    config = Config.model_validate({"kafka": kafka, "topics": [topic], "group": topic, "format": form, "rules": RULES})
    ledger = Ledger(0)
    context = CollectorContext(ledger, lambda: NOW_NS + 60 * NS_PER_S, ThreadPoolExecutor(1))

    def emit(output: CollectorOutput) -> None:
        assert isinstance(output, SampleBatch)
        assert not ledger.drops, "each is a sample of a canonical series"

    ready.set()
    asyncio.run(KafkaTopics(config, context, LinkTable()).run(emit))


if __name__ == "__main__":
    print_rows(run())
