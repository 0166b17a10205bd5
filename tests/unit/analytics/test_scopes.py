"""The work of one engine, split between workers that own devices and one that compares them."""

from collections.abc import Sequence

import pytest

from analytics.config import EngineConfig
from analytics.detectors.spec import Scope
from analytics.engine import Engine
from telemetry.findings import Finding
from telemetry.samples import SampleBatch
from tests.conformance.detectors.eventful_cluster import CHANGES, FACTS, Cluster

BATCHES = list(Cluster(eventful=True).batches())
DEVICES = sorted({batch.table.device for batch in BATCHES})
WORKERS = 2


def findings(scopes: Sequence[Scope], batches: Sequence[SampleBatch]) -> list[Finding]:
    engine = Engine(EngineConfig(interval_s=10), scopes=scopes)
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    outputs = []
    for batch in batches:
        engine.observe(batch)
        outputs.extend(engine.advance())
    assert not engine.detectors.failures
    return [output for output in outputs if isinstance(output, Finding)]


@pytest.fixture(scope="module")
def whole() -> list[Finding]:
    return findings(list(Scope), BATCHES)


def test_workers_that_own_devices_and_one_that_compares_find_together_what_one_finds(whole: list[Finding]) -> None:
    split = findings([Scope.CLUSTER], BATCHES)
    for worker in range(WORKERS):
        owned = [batch for batch in BATCHES if DEVICES.index(batch.table.device) % WORKERS == worker]
        split += findings([Scope.DEVICE], owned)
    assert sorted(map(repr, split)) == sorted(map(repr, whole))
