"""What tests of the API publish on its bus, and how they ask it."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from bus.base import Bus, Message
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.incidents import (
    BlastRadius,
    Hypothesis,
    Incident,
    IncidentKind,
    IncidentState,
    ObjectRecord,
    RecordEvent,
    Severity,
    TimelineEntry,
)
from telemetry.objects import port
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.traffic import publish_batches
from tests.waiting import DEADLINE_S

NS = 1_000_000_000
PAUSE = series_key(
    "fabric_port_pfc_pause_seconds_total", {"device": "leaf1", "port": "Ethernet4", "direction": "rx", "priority": "3"}
)
HOSTILE = '<img src=x onerror=alert(1)> "quoted" \\ <!channel>'


def incident(
    identity: str = "i1", state: IncidentState = IncidentState.FIRING, gpu_seconds: float = 7200.0
) -> Incident:
    now = time.time_ns()
    return Incident(
        id=identity,
        kind=IncidentKind.SLOW_RECEIVER,
        root=port("leaf1", "Ethernet4"),
        state=state,
        severity=Severity.CRITICAL,
        title="[CRIT] pod1: PFC storm from leaf1/Ethernet4 — 64 GPUs, 1 job stalled",
        onset_ns=now - 60 * NS,
        opened_ns=now - 55 * NS,
        updated_ns=now,
        fired_ns=now - 50 * NS,
        resolved_ns=now if state is IncidentState.RESOLVED else 0,
        confidence=0.93,
        order_known=True,
        first_symptom="leaf1/Ethernet4 is paused by its host for 61 % of the time",
        evidence=(Evidence(PAUSE, 0.61, 0.0, "ratio"), Evidence(HOSTILE, 9.0, None, "bytes")),
        alternatives=(
            Hypothesis(IncidentKind.INCAST, port("leaf1", "Ethernet8"), 0.2, "ECN marks without a pausing host"),
        ),
        blast=BlastRadius(("leaf1/Ethernet4--node1/mlx5_0",), ("node1",), ("node1/GPU-1", "node1/GPU-2"), ("4711",)),
        gpu_seconds=gpu_seconds,
        findings=("f1",),
        timeline=(TimelineEntry(now - 60 * NS, port("leaf1", "Ethernet4"), "pause begins"),),
        gaps=("1 of 6 switches silent",),
        action="Drain node1 and look at its PCIe link.",
        runbook="slow_receiver",
        because=(
            "node1 pauses leaf1/Ethernet4 and nothing pauses node1",
            "it predicts what else is seen: queueing (3)",
        ),
        against=("not incast: no queue is long", "not slow storage: no storage target answers slowly"),
        missing=("leaf3 not heard of",),
        record=ObjectRecord(
            port("leaf1", "Ethernet4"),
            now - 3600 * NS,
            (RecordEvent(now - 3600 * NS, "flap"), RecordEvent(now - 60 * NS, "flap")),
            {"flap": 2},
            2.0,
            "2nd flap in 24 h",
        ),
    )


def finding(identity: str, state: FindingState) -> Finding:
    now = time.time_ns()
    return Finding(
        id=identity,
        kind=FindingKind.PFC_PAUSE_RECEIVED,
        object=port("leaf1", "Ethernet4"),
        detector="pfc_pause",
        state=state,
        onset_ns=now - 60 * NS,
        observed_ns=now,
        score=12.2,
        confidence=0.9,
        evidence=(Evidence(PAUSE, 0.61, 0.0, "ratio"),),
    )


async def publish_cluster(bus: Bus, counter: str = PAUSE) -> None:
    """A leaf in the topology, and 30 collections of one counter that grows by 0.6 each second."""
    fact = TopologyFact(Device("leaf1", Role.LEAF), 1, "inventory")
    await bus.publish(topics.TOPOLOGY, [Message(fact.entity.key.encode(), encode_record(fact))])
    table = SeriesTable("gnmi/leaf1", "leaf1", (counter,))
    start = time.time_ns() - 30 * NS
    batches = []
    for seq in range(30):
        at = start + seq * NS
        index, value = np.array([0], dtype=np.uint32), np.array([0.6 * seq])
        batches.append(SampleBatch(table, Collection(1, seq, at, 0.01), np.array([at]), index, value))
    await publish_batches(bus, *batches)


def bearer(state_dir: Path) -> dict[str, str]:
    """The header of a request with the token that commands on this machine use."""
    return {"Authorization": f"Bearer {(state_dir / 'local.token').read_text().strip()}"}


async def get(url: str, path: str, **arguments) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(url + path, **arguments) as answer:
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, await (answer.json() if is_json else answer.text())


async def eventually(url: str, path: str, done, **arguments) -> Any:
    """The first answer that is ``done``; TimeoutError when there is none."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            _, body = await get(url, path, **arguments)
            if done(body):
                return body
            await asyncio.sleep(0.05)
