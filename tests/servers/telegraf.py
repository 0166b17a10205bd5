"""A real Telegraf that writes into a real Kafka, once for each of its formats: the messages in ``tests/data/telegraf``.

    python -m tests.servers.telegraf build/bin/telegraf

Building Telegraf takes minutes, so its messages are kept instead of made by each run of the tests:

    bash benchmarks/peers/telegraf/build.sh
"""

import asyncio
import base64
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.samples import SAMPLES
from tests.servers.kafka import KafkaServer

RECORDED = Path(__file__).parents[1] / "data" / "telegraf"
FORMATS = ("influx", "json", "prometheusremotewrite")
_INPUTS = """
[agent]
hostname = "gpu-node-1"
[[inputs.prometheus]]
urls = ["http://127.0.0.1:{port}/h100_8gpu_k8s_driver580.prom"]
metric_version = 2
[[inputs.file]]
files = ["{lines}"]
data_format = "influx"
[[outputs.file]]
files = ["{batch}"]
data_format = "json"
use_batch_format = true
"""
_OUTPUT = """
[[outputs.kafka]]
brokers = ["{broker}"]
topic = "{format}"
data_format = "{format}"
"""


def messages(form: str) -> list[bytes]:
    """Those that Telegraf 1.37.2 wrote of one gathering, in their order: each is one metric."""
    return [base64.b64decode(line) for line in (RECORDED / f"{form}.base64").read_bytes().splitlines()]


def record(program: str) -> None:
    """Replaces the recorded messages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (SAMPLES / "telegraf" / "infiniband.influx").read_bytes().splitlines()
        (folder / "lines").write_bytes(
            b"".join(b"%b %d\n" % (each.rpartition(b" ")[0], time.time_ns()) for each in lines)
        )
        serve = partial(SimpleHTTPRequestHandler, directory=str(SAMPLES / "dcgm" / "exposition"))
        pages = ThreadingHTTPServer(("127.0.0.1", 0), serve)
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        broker = KafkaServer(folder / "kafka")
        broker.start()
        try:
            inputs = _INPUTS.format(port=pages.server_port, lines=folder / "lines", batch=folder / "batch")
            outputs = [_OUTPUT.format(broker=broker.address, format=form) for form in FORMATS]
            (folder / "telegraf.conf").write_text(inputs + "".join(outputs))
            asyncio.run(_make_topics(broker))
            subprocess.run([program, "--once", "--config", folder / "telegraf.conf"], check=True)
            asyncio.run(_keep(broker))
            (RECORDED / "batch.json").write_bytes((folder / "batch").read_bytes())
        finally:
            broker.stop()
            pages.shutdown()


async def _make_topics(broker: KafkaServer) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    await admin.create_topics([NewTopic(form, 1, 1) for form in FORMATS])
    await admin.close()


async def _keep(broker: KafkaServer) -> None:
    RECORDED.mkdir(exist_ok=True)
    for form in FORMATS:
        consumer = AIOKafkaConsumer(form, bootstrap_servers=broker.address, auto_offset_reset="earliest")
        await consumer.start()
        found: list[bytes] = []
        (partition,) = consumer.assignment()
        end = (await consumer.end_offsets([partition]))[partition]
        while len(found) < end:
            found += [record.value for batch in (await consumer.getmany(timeout_ms=500)).values() for record in batch]
        await consumer.stop()
        (RECORDED / f"{form}.base64").write_bytes(b"".join(base64.b64encode(each) + b"\n" for each in found))


if __name__ == "__main__":
    record(sys.argv[1])
