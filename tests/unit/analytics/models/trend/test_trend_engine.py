"""A file system that fills, a fibre that gets dirty and a memory that wears out, through the whole engine."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.worker import build_engine
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.trends import DeviceTrends, Forecast
from tests.unit.analytics.restart import restarted

SECOND, DAY_S = 10**9, 86400
START_NS = 1_700_000_000 * SECOND
INTERVAL_S = 1800
CONFIG = EngineConfig(interval_s=INTERVAL_S)
PER_DAY = DAY_S // INTERVAL_S
DAYS, CAPACITY_BYTES, SPEED = 5, 700e12, 400e9
TARGET = {"device": "oss1", "system": "lustre", "fs": "scratch", "side": "server", "target": "OST0000"}
FULL = {**TARGET, "target": "OST0001"}
PORT = {"device": "leaf1", "port": "Ethernet0"}
LANE = {**PORT, "direction": "rx", "lane": "1"}
GPU = {"device": "node1", "gpu": "GPU-0", "cause": "correctable"}


@dataclass
class Told:
    findings: list[Finding] = field(default_factory=list)
    incidents: dict[str, Incident] = field(default_factory=dict)
    trends: dict[str, DeviceTrends] = field(default_factory=dict)

    def forecast(self, device: str) -> Forecast:
        (one,) = self.trends[device].forecasts
        return one


def tables() -> dict[str, SeriesTable]:
    storage = [
        series_key(f"storage_{name}_bytes", labels) for labels in (TARGET, FULL) for name in ("available", "capacity")
    ]
    port = [
        series_key("fabric_port_optical_power_dbm", LANE),
        series_key("fabric_port_transmit_bytes_total", PORT),
        series_key("fabric_port_speed_bits_per_second", PORT),
    ]
    keys = {"oss1": storage, "leaf1": port, "node1": [series_key("gpu_remapped_rows_total", GPU)]}
    return {device: SeriesTable(f"any/{device}", device, tuple(of)) for device, of in keys.items()}


def values(rng: np.random.Generator, days: float) -> dict[str, list[float]]:
    """The first target has 5 % left after 12 days, the light of the port falls to its limit after 15, rows after 20."""
    left = 0.95 * (1.0 - days / 12.0) + 0.05 + rng.normal(0.0, 0.001)
    swing = 0.2 * np.sin(2 * np.pi * days)
    light = -1.0 - 6.3 * days / 15.0 + swing + rng.normal(0.0, 0.05)
    load = SPEED / 8 * 0.4 * days * DAY_S
    storage = [left * CAPACITY_BYTES, CAPACITY_BYTES, (0.4 + rng.normal(0.0, 0.001)) * CAPACITY_BYTES, CAPACITY_BYTES]
    return {"oss1": storage, "leaf1": [light, load, SPEED], "node1": [float(int(512 * days / 20))]}


def run(restarts: bool = False) -> Told:
    engine, told, of, rng = build_engine(CONFIG), Told(), tables(), np.random.default_rng(2)
    for number in range(DAYS * PER_DAY):
        at_ns = START_NS + number * INTERVAL_S * SECOND
        for device, row in values(rng, number / PER_DAY).items():
            times = np.full(len(row), at_ns)
            rows = np.arange(len(row), dtype=np.uint32)
            engine.observe(
                SampleBatch(of[device], Collection(START_NS, number, at_ns, 0.1), times, rows, np.array(row))
            )
        _keep(engine, told)
        if restarts and number % 31 == 30:
            engine = restarted(engine, build_engine(CONFIG))
    return told


def _keep(engine: Engine, told: Told) -> None:
    for output in engine.advance():
        if isinstance(output, Finding):
            told.findings.append(output)
        else:
            told.incidents[output.id] = output
    told.trends |= {one.device: one for one in engine.trends.pop_due()}


@pytest.fixture(scope="module")
def told() -> Told:
    return run()


@pytest.mark.parametrize(
    ("device", "after_days", "limit"), [("oss1", 12.0, 0.05), ("leaf1", 15.0, -7.3), ("node1", 20.0, 512.0)]
)
def test_each_date_is_known(told: Told, device: str, after_days: float, limit: float) -> None:
    one = told.forecast(device)
    left = after_days - (told.trends[device].at_ns - START_NS) / SECOND / DAY_S
    assert one.limit == pytest.approx(limit)
    assert one.days == pytest.approx(left, rel=0.1)
    assert one.days_high is not None
    assert one.days_low < left < one.days_high


def test_what_comes_soon_is_an_incident_without_alarm(told: Told) -> None:
    mine = {FindingKind.CAPACITY, FindingKind.WEAR}
    found = {(finding.kind, str(finding.object)) for finding in told.findings if finding.kind in mine}
    assert found == {
        (FindingKind.CAPACITY, "storage_target:scratch/OST0000"),
        (FindingKind.WEAR, "port:leaf1/Ethernet0"),
    }
    kinds = (IncidentKind.CAPACITY, IncidentKind.WEAR)
    incidents = {told.kind: told for told in told.incidents.values() if told.kind in kinds}
    assert incidents[IncidentKind.CAPACITY].severity is Severity.WARNING
    assert incidents[IncidentKind.WEAR].severity is Severity.INFO
    assert all(incident.state is IncidentState.FIRING for incident in incidents.values())


def test_a_restart_changes_nothing(told: Told) -> None:
    assert run(restarts=True) == told
