"""Whatever a device reports of any metric, the engine goes on and says nothing that is no number."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from analytics.detectors.detector_set import DetectorSet
from analytics.detectors.spec import Detector, Verdicts
from analytics.engine import Engine, Output
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import catalogue
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, series_key
from tests.unit.analytics.busy_cluster import FACTS, HOSTS, batches, new_engine
from tests.unit.analytics.small_cluster import batch, run

ROUNDS = 24
VALUES = np.array([np.inf, -np.inf, -1.0, -0.0, 0.0, 1e-300, 0.5, 1.0, 1e12, 2.0**63, 2.0**64, 1e308, -1e308])
LABELS = {
    "direction": ("rx", "tx"),
    "severity": ("correctable", "uncorrectable"),
    "persistence": ("volatile",),
    "reason": ("thermal", "power"),
    "op": ("read", "write", "open"),
    "side": ("server", "client"),
    "reset": ("interval",),
    "stage": ("pre_fec",),
}


def keys_of(device: str, gpu: str, port: str) -> tuple[str, ...]:
    """Every metric of the catalogue, with the values of labels that detectors look for."""
    known = {"device": device, "gpu": gpu, "port": port, "fs": "scratch", "target": "OST0000", "system": "lustre"}
    keys = []
    for name, metric in catalogue.metrics().items():
        chosen = [{}] if not (rest := [label for label in metric.labels if label not in known]) else _variants(rest)
        identity = {label: known[label] for label in metric.labels if label in known}
        keys += [series_key(name, {**identity, **variant}) for variant in chosen]
    return tuple(keys)


def _variants(labels: list[str]) -> list[dict[str, str]]:
    most = max(len(LABELS.get(label, ("3",))) for label in labels)
    return [{label: (values := LABELS.get(label, ("3",)))[n % len(values)] for label in labels} for n in range(most)]


TABLES = [
    SeriesTable(f"all/{device}", device, keys_of(device, gpu, port))
    for device, gpu, port in (
        *((f"node{host}", f"GPU-{host}-0", "mlx5_0") for host in range(HOSTS)),
        ("leaf1", "GPU-x", "Ethernet0"),
    )
]


def hostile(seed: int) -> list[SampleBatch]:
    """Ordinary values with any of the others, and none, in between."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(ROUNDS):
        for place, table in enumerate(TABLES):
            ordinary = rng.random(len(table)) * 10.0 ** rng.integers(-3, 12, len(table)) * (1 + number)
            share = 0.0 if number % 10 < 5 else 0.3
            values = np.where(rng.random(len(table)) < share, rng.choice(VALUES, len(table)), ordinary)
            whole = batch(table, number, list(values), at_s=10 * number + place)
            present = np.flatnonzero(rng.random(len(table)) < 0.9)
            found.append(
                replace(whole, times_ns=whole.times_ns[present], series=whole.series[present], values=values[present])
            )
    return found


@dataclass(frozen=True, kw_only=True)
class Broken(Detector):
    name: str = "broken"
    kind: FindingKind = FindingKind.DEVIATION

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        raise ZeroDivisionError("as a bug would")


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_survives_any_values_of_any_metric(seed: int) -> None:
    engine = new_engine()
    engine.add_facts(FACTS)
    with np.errstate(over="ignore"):
        outputs = run(engine, hostile(seed))
    findings = [output for output in outputs if isinstance(output, Finding)]
    numbers = [(finding.score, finding.confidence, *(one.value for one in finding.evidence)) for finding in findings]
    assert numbers
    assert np.isfinite(np.concatenate(numbers)).all()


def _outputs(engine: Engine) -> list[Output]:
    engine.add_facts(FACTS)
    for each in batches():
        engine.observe(each)
    return engine.advance()


def test_a_detector_that_fails_does_not_silence_the_others() -> None:
    whole, hurt = new_engine(), new_engine()
    hurt.detectors = DetectorSet((Broken(), *hurt.detectors.detectors))
    assert _outputs(hurt) == _outputs(whole)
    assert {name for name, _ in hurt.detectors.failures} == {"broken"}


@pytest.mark.parametrize("value", VALUES)
def test_the_engine_survives_one_value_for_ever(value: float) -> None:
    engine = new_engine()
    engine.add_facts(FACTS)
    run(engine, [batch(t, n, [value] * len(t), at_s=10 * n + p) for n in range(ROUNDS) for p, t in enumerate(TABLES)])
    counts = engine.counts
    assert counts.samples_in == ROUNDS * sum(map(len, TABLES))
    assert counts.samples_in == counts.processed + sum(counts.dropped.values()) + counts.held
    assert bool(counts.dropped) == (not np.isfinite(value) or abs(value) > 1e30)
