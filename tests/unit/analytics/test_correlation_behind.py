"""Scores wait for no correlation: however far it lies behind, findings and incidents are the same."""

import pytest

from analytics.config import AnalyticsConfig
from analytics.engine import Engine, Output
from analytics.worker import Worker
from bus.base import Record
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.findings import Finding
from telemetry.incidents import Incident
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches, new_engine
from tests.unit.analytics.small_cluster import CONFIG, run

BATCHES = batches()


def prepared_engine() -> Engine:
    engine: Engine = new_engine()
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    return engine


def test_all_findings_of_a_backlog_are_there_before_its_first_incident() -> None:
    """Work is counted, not time: no tick is correlated while the records of a round are scored."""
    worker = Worker(AnalyticsConfig(engine=CONFIG), topics.TOPOLOGY)
    worker.engine.add_facts(FACTS)
    for change in CHANGES:
        worker.engine.add_change(change)
    records = [Record(topics.SAMPLES.name, 0, at, 0, b"", *encode_batch(each)) for at, each in enumerate(BATCHES)]
    found = worker.process_samples(records, (), bus_tells_time=False).outputs
    ticks = worker.engine.ticks_uncorrelated
    incidents = [incident for _ in range(ticks) for incident in worker.engine.correlate()]
    expected = run(prepared_engine(), BATCHES)
    assert ticks > 10
    assert found == [each for each in expected if isinstance(each, Finding)]
    assert incidents == [each for each in expected if isinstance(each, Incident)]
    assert incidents


@pytest.mark.parametrize("ticks_behind", [1, 3, 50])
def test_how_far_it_lies_behind_changes_nothing(ticks_behind: int) -> None:
    engine, outputs = prepared_engine(), list[Output]()
    for each in BATCHES:
        engine.observe(each)
        outputs += engine.score()
        while engine.ticks_uncorrelated > ticks_behind:
            outputs += engine.correlate()
    outputs += engine.advance()  # takes what is left
    expected = run(prepared_engine(), BATCHES)
    for kind in (Finding, Incident):
        assert [each for each in outputs if isinstance(each, kind)] == [e for e in expected if isinstance(e, kind)]
    assert engine.ticks_uncorrelated == 0
