"""A replay of a recording publishes what was published live: byte for byte, at any speed and in any chunks."""

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from alerts.config import AlertingConfig
from alerts.service import AlertsService
from analytics.config import AnalyticsConfig, EngineConfig
from analytics.service import AnalyticsService
from bus.base import Bus, Message
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from common.errors import ConfigError
from fabricscope.replay import replay
from recordings.config import RecordingConfig
from recordings.manifest import Manifest, read_manifest
from recordings.service import RecorderService
from simulator.config import SimulatorConfig
from simulator.direct import CampaignTick, campaign
from simulator.faults.schedule import ScheduledFault
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import decode_record, encode_record
from telemetry.incidents import Incident, IncidentState
from tests.waiting import DEADLINE_S

ENGINE = EngineConfig(interval_s=10)
CLUSTER = SimulatorConfig(hosts=8, interval_s=10)
FAULTS = (ScheduledFault(fault="slow-receiver", at_s=150, lasts_s=90, target="node3/mlx5_2"),)
LASTS_S = 420.0
LIVE = {"findings.jsonl": topics.FINDINGS, "incidents.jsonl": topics.INCIDENTS}
_sockets_forbidden = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, and what the analytics stage published while it was made: file of a replay -> its lines."""

    path: Path
    bus_file: Path
    samples: int
    live: dict[str, list[bytes]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return asyncio.run(_live(tmp_path_factory.mktemp("live")))


async def _live(folder: Path) -> Recorded:
    """The cluster, the bus, analytics and recorder at the same time, as in production."""
    bus = EmbeddedBus(EmbeddedConfig(path=folder / "bus.sqlite"))
    await bus.start()
    analytics = AnalyticsService(AnalyticsConfig(engine=ENGINE, state_dir=folder / "state"), bus)
    recording = RecordingConfig(path=folder / "recording", slice_s=0.5)
    recorder = RecorderService(recording, bus, Manifest(cluster="lab", analytics=ENGINE.model_dump(mode="json")))
    await analytics.start()
    await recorder.start()
    samples = 0
    ticks = campaign(CLUSTER, FAULTS, LASTS_S)
    while (tick := await asyncio.to_thread(next, ticks, None)) is not None:
        samples += await _publish(bus, tick)
    await _until(lambda: analytics.worker.report(0).samples_in == samples, "analytics")
    await _until(lambda: recorder.samples_recorded == samples, "the recorder")
    await analytics.stop()
    await recorder.stop()
    live = {name: await _values(bus, topic) for name, topic in LIVE.items()}
    await bus.stop()
    return Recorded(recording.path, folder / "bus.sqlite", samples, live)


async def _publish(bus: Bus, tick: CampaignTick) -> int:
    """Facts before the samples that they explain, as the collectors do; returns the number of samples."""
    facts = [Message(fact.entity.key.encode(), encode_record(fact)) for fact in tick.facts]
    changes = [Message(change.id.encode(), encode_record(change)) for change in tick.changes]
    batches = [Message(batch.table.device.encode(), *encode_batch(batch)) for batch in tick.batches]
    await bus.publish(topics.TOPOLOGY, facts)
    await bus.publish(topics.CHANGES, changes)
    await bus.publish(topics.SAMPLES, batches)
    return sum(map(len, tick.batches))


async def _until(done: Callable[[], bool], whom: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S:.0f} s for {whom}"
        await asyncio.sleep(0.05)


async def _values(bus: Bus, topic: topics.Topic) -> list[bytes]:
    reader, found = bus.consume([topic], {}), []
    while not await reader.at_end():
        found += [record.value for record in await reader.poll() if record.value is not None]
    await reader.stop()
    return found


@pytest.mark.parametrize("speed", [None, 500.0])
@pytest.mark.parametrize("chunk", [1, 1000])
def test_a_replay_publishes_what_was_published_live(recorded, tmp_path, speed, chunk):
    done = replay(recorded.path, tmp_path, ENGINE, speed=speed, chunk=chunk)
    assert done.samples == recorded.samples
    for name, live in recorded.live.items():
        assert (tmp_path / name).read_bytes().splitlines() == live, name


def test_the_recording_has_an_incident_that_fired_and_several_slices(recorded):
    """Otherwise the comparison above would prove nothing."""
    incidents = [decode_record(value, Incident) for value in recorded.live["incidents.jsonl"]]
    assert any(one.state is IncidentState.FIRING for one in incidents)
    assert any(one.state is IncidentState.RESOLVED for one in incidents)
    assert len(recorded.live["findings.jsonl"]) > len(incidents)
    assert len(read_manifest(recorded.path).slices) > 1


async def test_a_recording_made_afterwards_replays_the_same(recorded, tmp_path):
    """``fabricscope record --last``: everything was on the bus before the recorder began, partition after partition."""
    bus = EmbeddedBus(EmbeddedConfig(path=recorded.bus_file))
    await bus.start()
    recorder = RecorderService(RecordingConfig(path=tmp_path / "late", slice_s=0.2), bus, Manifest())
    await recorder.start()
    await _until(lambda: recorder.samples_recorded == recorded.samples, "the recorder")
    await recorder.stop()
    await bus.stop()
    replay(tmp_path / "late", tmp_path, ENGINE)
    for name, live in recorded.live.items():
        assert (tmp_path / name).read_bytes().splitlines() == live, name


def test_other_settings_give_other_findings(recorded, tmp_path):
    """The recording holds the input, not the results."""
    detection = ENGINE.detection.model_copy(update={"pause_ratio_max": 1.0})
    replay(recorded.path, tmp_path, ENGINE.model_copy(update={"detection": detection}))
    assert (tmp_path / "findings.jsonl").read_bytes().splitlines() != recorded.live["findings.jsonl"]


def test_a_replay_opens_no_socket(recorded, tmp_path):
    global _sockets_forbidden
    sys.addaudithook(_refuse_sockets)
    _sockets_forbidden = True
    try:
        replay(recorded.path, tmp_path, ENGINE)
    finally:
        _sockets_forbidden = False
    assert (tmp_path / "incidents.jsonl").stat().st_size > 0


def _refuse_sockets(event: str, _: tuple[Any, ...]) -> None:
    """An audit hook stays for the life of the process, so it has a switch."""
    if _sockets_forbidden and event.startswith("socket."):
        raise AssertionError(f"a replay must not touch the network: {event}")


def test_nobody_is_paged_from_a_replay(tmp_path):
    bus = EmbeddedBus(EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    with pytest.raises(ConfigError, match="a replay never does"):
        AlertsService(AlertingConfig(), bus, topic=topics.in_namespace(topics.INCIDENTS, "postmortem"))
