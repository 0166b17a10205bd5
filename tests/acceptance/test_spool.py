"""The bus is away, ingest is killed meanwhile and started again: no sample that a target has numbered is missing.

``fabricscope ingest`` as a process, on a real Kafka that is stopped, and on an embedded bus whose file is locked.
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from bus.base import Bus, Gap
from bus.open import open_bus
from fabricscope.settings import load_settings
from ingest.spool.record import Amount
from ingest.spool.state_file import State, StateFile
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from tests.acceptance.lab import Program
from tests.acceptance.numbered_pages import NumberedPages
from tests.servers.kafka import KafkaServer
from tests.waiting import until

TARGETS = 4
MORE = 100  # samples that are waited for in each part of the test


class StoppableBus(Protocol):
    """What carries the records, and can be away."""

    @property
    def settings(self) -> dict[str, Any]: ...
    async def begin_outage(self) -> None: ...
    async def end_outage(self) -> None: ...


class StoppableKafka:
    """Killed, and started again with the same data."""

    def __init__(self, server: KafkaServer) -> None:
        self._server = server

    @property
    def settings(self) -> dict[str, Any]:
        kafka = {"bootstrap": [self._server.address], "publish_deadline_s": 3, "attempt_deadline_s": 2}
        return {"kind": "kafka", "kafka": kafka}

    async def begin_outage(self) -> None:
        await asyncio.to_thread(self._server.kill)

    async def end_outage(self) -> None:
        await asyncio.to_thread(self._server.start)


class LockableFile:
    """An embedded bus whose file another process writes to, and does not come to an end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: sqlite3.Connection | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"kind": "embedded", "embedded": {"path": str(self._path), "publish_deadline_s": 3}}

    async def begin_outage(self) -> None:
        self._lock = sqlite3.connect(self._path, isolation_level=None)
        self._lock.execute("BEGIN IMMEDIATE")

    async def end_outage(self) -> None:
        assert self._lock is not None
        self._lock.execute("ROLLBACK")
        self._lock.close()


@pytest.fixture(params=["kafka", "embedded"])
def stoppable(request: pytest.FixtureRequest, tmp_path: Path) -> StoppableBus:
    if request.param == "kafka":
        return StoppableKafka(request.getfixturevalue("own_kafka"))
    return LockableFile(tmp_path / "bus.sqlite")


@pytest.fixture
async def pages() -> AsyncIterator[NumberedPages]:
    numbered = NumberedPages(TARGETS)
    await numbered.start()
    yield numbered
    await numbered.stop()


class OnTheBus:
    """What the bus has: by target, the numbers of its pages in the order in which they came; the newest report."""

    def __init__(self) -> None:
        self.numbers: defaultdict[str, list[int]] = defaultdict(list)
        self.report: StageReport | None = None

    async def read(self, bus: Bus) -> None:
        """From the beginning to the end."""
        self.numbers.clear()
        reader, decoder = bus.consume([topics.SAMPLES, topics.LEDGER], {}), BatchDecoder()
        try:
            while not await reader.at_end():
                for record in await reader.poll(wait_s=0.1):
                    if record.topic == topics.LEDGER.name:
                        self.report = decode_record(record.value or b"", StageReport)
                    elif len(batch := decoder.decode(record.value or b"", record.headers)):
                        (number,) = set(batch.values.tolist())
                        self.numbers[batch.table.target.partition("/")[2]].append(int(number))
        except Gap as gap:
            raise AssertionError(f"the bus has lost records: {gap}") from gap
        finally:
            await reader.stop()


def write_settings(folder: Path, bus: dict[str, Any], addresses: list[str]) -> Path:
    targets = [{"targets": [address], "labels": {"device": f"node{n}"}} for n, address in enumerate(addresses)]
    job = {"job_name": "node", "source": "node_exporter", "scrape_interval": "250ms", "static_configs": targets}
    path = folder / "fabricscope.yaml"
    document = {
        "global": {"data_dir": str(folder / "data"), "metrics_ports": {"ingest": 0}},
        "bus": bus,
        "ingest": {"report_interval_s": 0.5, "publish": {"spool": {"free_bytes_min": 0}}},
        "scrape_configs": [job],
    }
    path.write_text(yaml.safe_dump(document))
    return path


async def test_what_targets_have_numbered_is_on_the_bus_after_an_outage_and_a_kill(
    stoppable: StoppableBus, pages: NumberedPages, tmp_path: Path
) -> None:
    settings = write_settings(tmp_path, stoppable.settings, pages.addresses)
    ingest = Program("ingest", ["ingest", "--config", str(settings)], tmp_path)

    def saved() -> State | None:
        assert not ingest.failed, ingest.log_tail()
        return StateFile(tmp_path / "data" / "ingest" / "ingest-0", "").read()

    def spooled() -> int:
        """Samples on the disk."""
        return state.written.beyond(state.published).samples if (state := saved()) else 0

    async def received(samples: int) -> None:
        expected = pages.samples + samples
        await until(lambda: pages.samples >= expected)

    async def quiet() -> None:
        pages.is_open = False
        await until(lambda: pages.is_settled)

    ingest.start()
    try:
        await until(lambda: (state := saved()) is not None and state.counts.samples_out >= MORE)
        await stoppable.begin_outage()
        await until(lambda: spooled() > 0)
        await received(MORE)
        await quiet()
        await until(lambda: (state := saved()) is not None and state.counts.samples_in == pages.samples)
        await until(lambda: (state := saved()) is not None and state.counts.held == spooled())
        waiting = spooled()
        assert waiting > MORE
        ingest.kill()

        ingest.start()
        pages.is_open = True
        await until(lambda: spooled() >= waiting + MORE)
        await stoppable.end_outage()
        await until(lambda: spooled() == 0)
        await received(MORE)
        await quiet()
        await until(lambda: (state := saved()) is not None and state.counts.samples_in == pages.samples)
        await until(lambda: (state := saved()) is not None and state.counts.held == 0)
    finally:
        ingest.stop()
    bus, found = open_bus(load_settings(settings).bus), OnTheBus()
    await bus.start()
    await found.read(bus)
    await bus.stop()
    assert {address: pages.received[address] - set(found.numbers[address]) for address in pages.addresses} == {
        address: set() for address in pages.addresses
    }
    for numbers in found.numbers.values():
        firsts = list(dict.fromkeys(numbers))  # a publish that was repeated may be there twice
        assert firsts == sorted(firsts)
    report = found.report
    assert report is not None
    assert (report.samples_in, report.samples_out, report.held) == (pages.samples, pages.samples, 0)
    assert (report.dropped, report.balance, report.details["spooled_bytes"]) == ({}, 0, 0.0)
    assert saved_amount(tmp_path) == Amount()


def saved_amount(folder: Path) -> Amount:
    state = StateFile(folder / "data" / "ingest" / "ingest-0", "").read()
    assert state is not None
    return state.written.beyond(state.published)
