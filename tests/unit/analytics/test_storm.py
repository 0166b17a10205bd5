"""GPUs of every host fail at once: the first page is no later than that of one GPU, and scores are not late."""

import pytest

from analytics.config import AnalyticsConfig
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.engine import Engine
from analytics.worker import Worker
from bus.base import Record
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.findings import Finding
from telemetry.incidents import Incident, Severity
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, clockwork, run, table

HOSTS, GPUS = 20, 8
FAULT_ROUND, ROUNDS = 4, 12
PORTION = CorrelateConfig(interval_s=INTERVAL_S, changed_findings_max=10)


def telemetry() -> list[SampleBatch]:
    """XID 79 (fallen off the bus) of two GPUs of every host between two rounds."""
    found: list[SampleBatch] = []
    tables = [
        table(f"node{h}", [series_key("gpu_xid_last", {"device": f"node{h}", "gpu": f"G{h}-{n}"}) for n in range(GPUS)])
        for h in range(HOSTS)
    ]
    for seq in range(ROUNDS):
        values = [79.0 if seq >= FAULT_ROUND and n < 2 else 0.0 for n in range(GPUS)]
        found += [batch(each, seq, values, at_s=seq * INTERVAL_S + 0.1 * h) for h, each in enumerate(tables)]
    return found


@pytest.mark.parametrize("config", [PORTION, CorrelateConfig(interval_s=INTERVAL_S)], ids=["in-portions", "whole"])
def test_the_first_page_of_a_storm_comes_within_an_interval_and_five_seconds(config: CorrelateConfig) -> None:
    """Event time, from the moment between two rounds at which they fail."""
    outputs = run(Engine(CONFIG, Correlator(config)), telemetry())
    pages = [each for each in outputs if isinstance(each, Incident) and each.severity is not Severity.INFO]
    failed_ns = START_NS + (FAULT_ROUND - 1) * INTERVAL_S * SECOND
    assert min(page.fired_ns for page in pages) - failed_ns <= (INTERVAL_S + 5) * SECOND
    assert len({page.id for page in pages}) == 2 * HOSTS


def test_a_storm_delays_no_score_and_each_step_takes_its_portion() -> None:
    """Work is counted: the findings of every round are published before the correlation that follows, and no step of
    it takes more than a portion, so scores wait for one portion at a time."""
    worker = Worker(AnalyticsConfig(engine=CONFIG), topics.TOPOLOGY)
    worker.engine = Engine(CONFIG, Correlator(PORTION))
    batches = [*telemetry(), *clockwork(0.0, range(ROUNDS, ROUNDS + 8))]
    records = [Record(topics.SAMPLES.name, 0, at, 0, b"", *encode_batch(each)) for at, each in enumerate(batches)]
    correlator, found = worker.engine.correlator, list[Finding]()
    assert correlator is not None
    known, taken = [0], [0]
    for record in records:
        outputs = worker.process_samples([record], (), bus_tells_time=False).outputs
        found += [each for each in outputs if isinstance(each, Finding)]
        while worker.engine.ticks_uncorrelated:
            worker.engine.correlate()
            known.append(len(correlator.state().head["findings"]))
            taken.append(known[-1] - known[-2])
    assert max(taken) == PORTION.changed_findings_max
    assert sum(taken) == len({each.id for each in found}) >= 2 * HOSTS
