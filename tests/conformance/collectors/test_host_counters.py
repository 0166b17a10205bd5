"""The counters of a host: a real tree of sysfs, a program in ethtool's place, and all that can go wrong with both."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.host_counters.collector import HostCountersCollector
from ingest.collectors.host_counters.config import Config
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import series_key
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES

NOW_NS = 1_760_000_000 * NS_PER_S
TREE = SAMPLES / "roce_ib_host" / "sysfs_class_infiniband_h100.tsv"
LINES = [line.split("\t", 1) for line in TREE.read_text().splitlines()]
STATISTICS = "NIC statistics:\n     rx_prio3_pause: 7\n     tx_prio3_pause: 8\n     novelty: 1\n"


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """That of an H100 host: eight adapters for InfiniBand and a bond of two for RoCE, whose interface is eth2."""
    root = tmp_path / "sys"
    for path, text in LINES:
        file = root / "class" / "infiniband" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (root / "class/infiniband/mlx5_bond_0/device/net/eth2").mkdir(parents=True)
    return root


def make(context: CollectorContext, tree: Path, **settings: Any) -> HostCountersCollector:
    known = {"device": "node1", "sysfs": tree, "ethtool": ["printf", STATISTICS], "timeout_s": 30.0}
    return HostCountersCollector(Config.model_validate(known | settings), context)


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def key(metric: str, port: str, **labels: str) -> str:
    return series_key(metric, {"device": "node1", "port": port, **labels})


async def test_the_counters_of_a_real_host(context: CollectorContext, sysfs: Path, ledger: Ledger) -> None:
    collector = make(context, sysfs)
    batches = [await collector.collect(NOW_NS + second) for second in range(2)]
    found = values(batches[1])
    assert found[key("ib_port_receive_bytes_total", "mlx5_0")] == 230539874932483 * 4
    assert found[key("rdma_adaptive_retransmits_total", "mlx5_0", kind="retransmit")] == 3
    assert found[key("ib_port_state", "mlx5_0")] == 4
    assert found[key("ib_port_physical_state", "mlx5_0")] == 5
    assert found[key("ib_port_rate_bits_per_second", "mlx5_0")] == 400e9
    assert found[key("nic_pfc_pause_frames_total", "eth2", priority="3", direction="rx")] == 7
    software = [name for name in found if name.startswith("device_software_info")]
    assert 'version="MT4129 28.41.1000"' in "".join(software)
    assert key("ib_port_link_downed_total", "mlx5_1") not in found, "255 is where it stays"
    assert ledger.drops[DropReason.OUT_OF_BOUNDS] > 0
    assert [batch.collection.seq for batch in batches] == [0, 1]
    assert batches[0].table is batches[1].table
    assert set(batches[1].times_ns.tolist()) == {NOW_NS + 1}
    assert batches[1].collection.unmapped == 1
    assert collector.unmapped == {"ethtool/novelty"}
    assert_accounted(ledger, batches)


async def test_every_counter_of_every_port_is_read(context: CollectorContext, sysfs: Path) -> None:
    """By the plain rule: a file below counters or hw_counters is one series, but for the setting."""
    batch = await make(context, sysfs, ethtool=[]).collect(NOW_NS)
    counters = [path for path, _ in LINES if "counters/" in path and not path.endswith("/lifespan")]
    found = {name for name in batch.table.keys if name.startswith(("ib_", "rdma_"))}
    others = {name for name in found if name.startswith(("ib_port_state", "ib_port_physical_state", "ib_port_rate"))}
    assert len(found - others) == len(counters)
    assert batch.collection.unmapped == 0


async def test_files_in_place_of_ethtool(context: CollectorContext, sysfs: Path, tmp_path: Path) -> None:
    (tmp_path / "eth5.txt").write_text(STATISTICS)
    batch = await make(context, sysfs, statistics=tmp_path, interfaces=["eth5"]).collect(NOW_NS)
    assert values(batch)[key("nic_pfc_pause_frames_total", "eth5", priority="3", direction="tx")] == 8


async def test_an_adapter_that_comes_and_goes(context: CollectorContext, sysfs: Path) -> None:
    collector = make(context, sysfs)
    await collector.collect(NOW_NS)
    ports = sysfs / "class/infiniband/mlx5_0/ports"
    ports.rename(sysfs / "elsewhere")
    assert not [name for name in values(await collector.collect(NOW_NS)) if 'port="mlx5_0"' in name]
    (sysfs / "elsewhere").rename(ports)
    assert values(await collector.collect(NOW_NS))[key("ib_port_state", "mlx5_0")] == 4


async def test_a_counter_that_has_no_number_is_no_value(context: CollectorContext, sysfs: Path, ledger: Ledger) -> None:
    (sysfs / "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data").write_text("N/A (no PMA)\n")
    batch = await make(context, sysfs).collect(NOW_NS)
    assert key("ib_port_receive_bytes_total", "mlx5_0") not in values(batch)
    assert ledger.drops[DropReason.NO_VALUE] == 1


@pytest.mark.parametrize(
    "ethtool",
    [["false"], ["/absent/ethtool"], ["printf", "no stats available"], ["yes"]],
    ids=["fails", "absent", "without statistics", "endless"],
)
async def test_an_interface_without_statistics_is_left_out_with_a_warning(
    context: CollectorContext, sysfs: Path, ethtool: list[str]
) -> None:
    collector = make(context, sysfs, ethtool=ethtool)
    with capture_logs() as logged:
        batches = [await collector.collect(NOW_NS) for _ in range(2)]
    assert all(batch.collection.up and len(batch) > 400 for batch in batches)
    assert [(line["event"], line["interface"]) for line in logged] == [("interface is left out", "eth2")], "once"


@pytest.mark.parametrize(
    ("settings", "down"),
    [
        ({"ethtool": ["sleep"], "interfaces": ["1000"], "timeout_s": 1.0}, DownReason.TIMEOUT),
        ({"values_max": 10}, DownReason.TOO_MANY_SERIES),
        ({"sysfs": "/absent"}, DownReason.NO_SAMPLES),
    ],
)
async def test_a_host_without_an_answer_is_down_with_a_reason(
    context: CollectorContext, sysfs: Path, ledger: Ledger, settings: dict[str, Any], down: DownReason
) -> None:
    collector = make(context, sysfs, **settings)
    with capture_logs() as logged:
        batches = [await collector.collect(NOW_NS) for _ in range(2)]
    assert [batch.collection.down for batch in batches] == [down, down]
    assert [batch.collection.seq for batch in batches] == [0, 1]
    assert [line["event"] for line in logged] == ["target is down"], "a change, not each collection"
    assert ledger.samples_in == ledger.drops.total()


async def test_a_read_that_hangs_in_the_kernel_is_not_joined_by_another_one(
    context: CollectorContext, sysfs: Path
) -> None:
    """A pipe without a writer, in place of a counter whose adapter does not answer."""
    counter = sysfs / "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"
    counter.unlink()
    os.mkfifo(counter)
    collector = make(context, sysfs, timeout_s=1.0)
    threads = set()
    for _ in range(3):
        assert (await collector.collect(NOW_NS)).collection.down is DownReason.TIMEOUT
        threads.add(threading.active_count())
    writer = os.open(counter, os.O_WRONLY)
    counter.unlink()
    counter.write_text("5\n")
    os.close(writer)
    assert len(threads) == 1
    while (await collector.collect(NOW_NS)).collection.down is not None:
        await asyncio.to_thread(counter.read_text)
