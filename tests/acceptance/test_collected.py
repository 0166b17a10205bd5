"""An unkind cluster through the real collectors: what must hold however fast the machine is.

Eight hosts whose PCIe stalls, whose chips differ and whose applications fail, training beside inference; exporters at
intervals of their own, switches without pause time, bursts of lost answers; one link that goes down.
"""

import asyncio
import contextlib
import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bus.base import Bus
from bus.open import open_bus
from evaluation.collected.live import LiveCampaign
from evaluation.collected.observed import Observed
from fabricscope.settings import load_settings
from simulator.collection.config import Losses
from simulator.collection.draws import Draws
from simulator.collection.presets import PRESETS, preset
from simulator.config import SimulatorConfig
from simulator.layout import Exporter
from simulator.wiring import build_layout
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.incidents import IncidentState
from telemetry.samples import DownReason
from telemetry.series import parse_series_key
from tests.waiting import DEADLINE_S

SPEED, FAULT_AT_S, LASTS_S = 5.0, 120.0, 300.0
ADDRESS_OFFSET = 60 + os.getpid() % 180
CLUSTER = SimulatorConfig.model_validate(
    {
        "hosts": 8,
        "seed": 4,
        "step_ms": 50,
        "conditions": [{"name": name} for name in ("pcie-hiccups", "chip-spread", "application-xids")],
        "jobs": {"jobs": 2, "kinds": ["data-parallel", "inference"]},
    }
)
# A tenth of the time, so that no run has none of them
LOSSES = Losses(bad_share=0.1, burst_s=20.0, failed_share=0.5)
COLLECTION = preset("mixed-intervals+frames-only").model_copy(update={"losses": LOSSES})
FAULT = {"fault": "link-down", "at_s": FAULT_AT_S, "target": "node3/mlx5_2"}
LOST = {DownReason.HTTP_STATUS, DownReason.TIMEOUT, DownReason.RESET, DownReason.CLOSED, DownReason.SILENT}


@dataclass
class OnTheBus:
    """samples: of all batches. downs: reasons by target. collections: that have samples, by target. times: distinct
    times of one series, by metric, of the first switch. metrics: names by target."""

    samples: int = 0
    downs: Counter[DownReason] = field(default_factory=Counter)
    collections: Counter[str] = field(default_factory=Counter)
    times: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    metrics: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


@dataclass
class Campaign:
    """truth: of the fault. elapsed_s: simulated time from the start to the end."""

    observed: Observed
    truth: dict[str, Any]
    elapsed_s: float
    bus: OnTheBus


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return asyncio.run(_run(tmp_path_factory.mktemp("collected") / "live"))


async def _run(folder: Path) -> Campaign:
    """Until the fault is found, or until more time has passed than that needs."""
    file = {**CLUSTER.model_dump(mode="json"), "collection": COLLECTION.model_dump(mode="json"), "faults": [FAULT]}
    live = LiveCampaign(folder, file, SPEED, ADDRESS_OFFSET)
    async with live:
        await live.until(LASTS_S)
        (truth,) = (await live.control("truth"))["truth"]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DEADLINE_S):
                while not _found(live.observed, truth):  # noqa: ASYNC110  # other processes find it
                    await asyncio.sleep(0.5)
        elapsed_s = await live.elapsed_s()
    bus = open_bus(load_settings(live.settings_file).bus)
    await bus.start()
    try:
        return Campaign(live.observed, truth, elapsed_s, await _read(bus))
    finally:
        await bus.stop()


def _found(observed: Observed, truth: dict[str, Any]) -> bool:
    """Whether an incident of the expected kind names its root."""
    expected = truth["expected"], truth["root"]
    return any(
        (version.kind, str(version.root)) == expected
        for _, version in observed.versions
        if version.state is IncidentState.FIRING
    )


async def _read(bus: Bus) -> OnTheBus:
    found, decoder, reader = OnTheBus(), BatchDecoder(), bus.consume([topics.SAMPLES], {})
    while not await reader.at_end():
        for record in await reader.poll():
            assert record.value is not None
            batch = decoder.decode(record.value, record.headers)
            if not batch.collection.up:
                assert batch.collection.down is not None
                found.downs[batch.collection.down] += 1
                continue
            target = batch.table.target
            found.samples += len(batch)
            found.collections[target] += 1
            names = [parse_series_key(batch.table.keys[row])[0] for row in np.unique(batch.series).tolist()]
            found.metrics[target].update(names)
            if batch.table.device == "leaf1":
                for name in names:
                    found.times[name].update(batch.times_ns.tolist())
    await reader.stop()
    return found


def test_every_sample_is_accounted_for(campaign):
    ingest, analytics = campaign.observed.reports["ingest"], campaign.observed.reports["analytics"]
    assert (ingest.balance, analytics.balance) == (0, 0)
    assert ingest.samples_out == campaign.bus.samples > 100_000
    assert analytics.samples_in <= ingest.samples_out


def test_each_exporter_is_read_at_the_interval_that_it_was_given(campaign):
    draws = Draws(COLLECTION, CLUSTER.seed, CLUSTER.interval_s, 0)
    read: dict[float, list[int]] = defaultdict(list)
    for endpoint in build_layout(CLUSTER).endpoints:
        if endpoint.exporter is not Exporter.NODE:
            continue
        (times,) = draws.target(endpoint).times.values()
        (target,) = (
            name for name in campaign.bus.collections if f"127.1.{ADDRESS_OFFSET}.{endpoint.host[8:]}:9100" in name
        )
        read[times.interval_s].append(campaign.bus.collections[target])
        assert campaign.bus.collections[target] <= campaign.elapsed_s / times.interval_s + 2
    assert set(read) == {15.0, 30.0, 60.0}
    assert max(read[15.0]) > max(read[60.0])


def test_groups_of_a_switch_arrive_at_intervals_of_their_own(campaign):
    times = {name: len(found) for name, found in campaign.bus.times.items()}
    ports, states, optics = "fabric_port_receive_bytes_total", "fabric_port_up", "fabric_transceiver_volts"
    assert times[ports] > 3 * times[states] > 6 * times[optics] > 0


def test_what_switches_do_not_count_is_not_on_the_bus(campaign):
    switches = [names for names in campaign.bus.metrics.values() if "fabric_port_up" in names]
    hosts = [names for names in campaign.bus.metrics.values() if "nic_up" in names]
    assert (len(switches), len(hosts)) == (len(build_layout(CLUSTER).switches), CLUSTER.hosts)
    for names in (*switches, *hosts):
        assert not names & set(PRESETS["frames-only"].absent)
    assert all("fabric_port_pfc_pause_frames_total" in names for names in switches)
    assert all("nic_pfc_pause_frames_total" in names for names in hosts)


def test_lost_answers_are_seen_as_what_they_are(campaign):
    assert set(campaign.bus.downs) <= LOST
    assert {DownReason.HTTP_STATUS} <= set(campaign.bus.downs)
    assert len(campaign.bus.downs) > 1


def test_the_fault_is_found_and_people_are_paged(campaign):
    observed = campaign.observed
    assert _found(observed, campaign.truth), [version.title for _, version in observed.versions]
    # Not for this fault before all others: without pause time, PCIe that stalls takes the budget of pages
    assert {one.incident for one in observed.notified} & {version.id for _, version in observed.versions}
