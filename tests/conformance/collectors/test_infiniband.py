"""A fabric by its own tools: programs that print what these print, and all that they may do instead."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext, PollCollector
from ingest.collectors.infiniband.collector import HOLD_NS, infiniband_collectors
from ingest.collectors.infiniband.config import Config
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import series_key
from telemetry.topology import Link, TopologyFact
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES
from tests.waiting import until

NOW_NS = 1_760_000_000 * NS_PER_S
FOLDER = SAMPLES / "infiniband"
TOPOLOGY = {"command": ["cat", str(FOLDER / "ibnetdiscover__test.txt")], "timeout_s": 30}
COUNTERS = {"command": ["cat", *map(str, sorted(FOLDER.glob("perfquery*.txt")))]}


@pytest.fixture
def context(ledger: Ledger) -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(ledger, lambda: 7, workers)
    workers.shutdown()


def make(context: CollectorContext, topology: Any = TOPOLOGY, counters: Any = COUNTERS) -> list[PollCollector]:
    config = Config.model_validate({"topology": topology, "counters": counters})
    return list(infiniband_collectors([config], context))


async def facts(collector: PollCollector, at_ns: int = NOW_NS) -> list[TopologyFact]:
    output = await collector.collect(at_ns)
    assert not isinstance(output, SampleBatch), output.collection.down
    return [fact for fact in output if isinstance(fact, TopologyFact)]


async def batch(collector: PollCollector) -> SampleBatch:
    output = await collector.collect(NOW_NS)
    assert isinstance(output, SampleBatch)
    return output


async def test_links_and_counters_of_a_fabric_have_the_same_names(context: CollectorContext, ledger: Ledger) -> None:
    links, counters = make(context)
    found = {fact.entity for fact in await facts(links)}
    assert Link("ib-i1l1s01", "10", "o0001", "HCA-1", 100e9) in found
    assert await facts(links) == [], "nothing has changed"
    collected = await batch(counters)
    keys = (collected.table.keys[row] for row in collected.series)
    values = dict(zip(keys, collected.values.tolist(), strict=True))
    of_port = {"device": "o0001", "port": "HCA-1"}
    assert values[series_key("ib_port_transmit_bytes_total", of_port)] == 9049592493976 * 4
    of_switch = {"device": "ib-i1l1s01", "port": "2"}
    assert values[series_key("ib_port_transmit_wait_ticks_total", of_switch)] == 36510964
    assert series_key("ib_port_receive_error_causes_total", {**of_switch, "cause": "looping"}) in values
    assert collected.collection.unmapped == 0
    assert_accounted(ledger, [collected])


async def test_counters_that_are_collected_first_read_the_names_themselves(context: CollectorContext) -> None:
    assert (await batch(make(context)[1])).collection.up


async def test_counters_and_links_that_are_due_at_once_are_both_collected(
    context: CollectorContext, tmp_path: Path
) -> None:
    """ibnetdiscover takes seconds, and runs once at a time."""
    started = tmp_path / "started"
    program = f"touch {started}; until [ -e {tmp_path}/go ]; do sleep 0.01; done; cat {FOLDER}/ibnetdiscover__test.txt"
    links, counters = make(context, {"command": ["sh", "-c", program]})
    first = asyncio.create_task(links.collect(NOW_NS))
    await until(started.exists)
    second = asyncio.create_task(counters.collect(NOW_NS))
    for _ in range(20):
        await asyncio.sleep(0)  # until it waits
    (tmp_path / "go").touch()
    found, collected = await asyncio.gather(first, second)
    assert not isinstance(found, SampleBatch)
    assert isinstance(collected, SampleBatch)
    assert collected.collection.up


async def test_a_link_that_is_gone_for_long_ends(context: CollectorContext, tmp_path: Path) -> None:
    file = tmp_path / "topology"
    text = (FOLDER / "ibnetdiscover__test.txt").read_text()
    file.write_text(text)
    links, _ = make(context, {"file": str(file)})
    before = await facts(links)
    file.write_text("".join(line for line in text.splitlines(keepends=True) if "o0001" not in line))
    assert await facts(links, NOW_NS + HOLD_NS - 1) == []
    ended = await facts(links, NOW_NS + HOLD_NS)
    assert [(fact.entity, fact.gone) for fact in ended] == [(Link("ib-i1l1s01", "10", "o0001", "HCA-1", 100e9), True)]
    assert {fact.source for fact in before + ended} == {"ibnetdiscover/infiniband"}


async def test_a_port_that_nobody_knows_is_counted_as_unmapped(context: CollectorContext, ledger: Ledger) -> None:
    counters = {"command": ["printf", "# Port counters: Lid 9 port 1\nPortXmitData:...5\n"]}
    collected = await batch(make(context, counters=counters)[1])
    assert (collected.collection.down, len(collected)) == (DownReason.NO_SAMPLES, 0)
    assert ledger.samples_unmapped == 1


FAILURES = [
    ({"command": ["false"]}, DownReason.CLOSED),
    ({"command": ["/absent/program"]}, DownReason.REFUSED),
    ({"command": ["sleep", "1000"], "timeout_s": 0.2}, DownReason.TIMEOUT),
    ({"command": ["yes"], "body_bytes_max": 1000}, DownReason.TOO_LARGE),
    ({"command": ["echo", "can't open UMAD port"]}, DownReason.BAD_FORMAT),
    ({"command": ["true"]}, DownReason.BAD_FORMAT),
    ({"file": "/absent/file"}, DownReason.REFUSED),
]


@pytest.mark.parametrize(("source", "down"), FAILURES)
async def test_a_failure_of_ibnetdiscover_is_down_with_a_reason_and_ends_no_link(
    context: CollectorContext, tmp_path: Path, source: dict[str, Any], down: DownReason
) -> None:
    links, counters = make(context, source)
    assert (await batch(links)).collection.down is down
    assert (await batch(counters)).collection.down is down, "without names there are no counters"


@pytest.mark.parametrize(("source", "down"), FAILURES)
async def test_a_failure_of_perfquery_is_down_with_a_reason_and_leaves_the_links(
    context: CollectorContext, ledger: Ledger, source: dict[str, Any], down: DownReason
) -> None:
    links, counters = make(context, counters=source)
    failed = [await batch(counters) for _ in range(2)]
    assert [each.collection.down for each in failed] == [down, down]
    assert [each.collection.seq for each in failed] == [0, 1]
    assert ledger.samples_in == ledger.drops.total() == 0
    assert await facts(links)
