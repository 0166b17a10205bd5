"""Six faults of the simulated cluster, one after the other: one incident each, with the right root and what it costs.

One cluster and one engine for all of them, so that each fault also has the traces of those before it in its history.
"""

from dataclasses import dataclass, field

import pytest

from analytics.config import EngineConfig
from analytics.worker import build_engine
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import campaign
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from telemetry.incidents import Incident, IncidentState, Severity

INTERVAL_S, WARM_S, EVERY_S, LASTS_S = 10, 180, 205, 100
SECOND = 10**9
# Every fault meets a checkpoint of each job: they must neither hide it nor look like it.
JOBS = JobMix(checkpoint_period_s=120, lifetime_s=1e6)
FAULTS = ("slow-receiver", "incast", "straggler-gpu", "slow-storage-target", "spine-down", "link-down")
SLOWING = frozenset(FAULTS[:4])  # with a spine or a link less the others carry the traffic


@dataclass
class Story:
    """What was broken, and the incidents that were told of: the first version and the newest one of each."""

    truths: list[Truth] = field(default_factory=list)
    first: dict[str, Incident] = field(default_factory=dict)
    newest: dict[str, Incident] = field(default_factory=dict)

    def of(self, truth: Truth) -> list[str]:
        """Incidents that began with or after a fault and before the next one."""
        until_ns = truth.start_ns + (EVERY_S - 2 * INTERVAL_S) * SECOND
        return [key for key, told in self.first.items() if truth.start_ns <= told.fired_ns < until_ns]


@pytest.fixture(scope="module")
def story() -> Story:
    config = SimulatorConfig(hosts=8, interval_s=INTERVAL_S, jobs=JOBS, seed=5)
    faults = [
        ScheduledFault(fault=name, at_s=WARM_S + number * EVERY_S, lasts_s=LASTS_S)
        for number, name in enumerate(FAULTS)
    ]
    engine, told = build_engine(EngineConfig(interval_s=INTERVAL_S)), Story()
    for tick in campaign(config, faults, WARM_S + len(FAULTS) * EVERY_S):
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        for batch in tick.batches:
            engine.observe(batch)
        for output in engine.advance():
            if isinstance(output, Incident):
                told.first.setdefault(output.id, output)
                told.newest[output.id] = output
        told.truths = list(tick.cluster.truth)
    return told


def truth_of(story: Story, fault: str) -> Truth:
    return next(truth for truth in story.truths if truth.fault == fault)


def test_nothing_else_is_told(story: Story) -> None:
    assert len(story.first) == len(FAULTS), [told.title for told in story.newest.values()]


@pytest.mark.parametrize("fault", FAULTS)
def test_one_incident_with_the_root_of_the_truth_and_its_cost(story: Story, fault: str) -> None:
    truth = truth_of(story, fault)
    (key,) = story.of(truth)
    first, told = story.first[key], story.newest[key]
    assert (told.kind, told.root) == (truth.expected, truth.root)
    assert first.fired_ns - truth.start_ns <= 3 * INTERVAL_S * SECOND
    assert told.state is IncidentState.RESOLVED
    if fault in SLOWING:
        # at most all GPUs for the whole fault, and the two bins that it takes to see that it is over
        assert 0 < told.gpu_seconds <= 64 * (LASTS_S + 3 * INTERVAL_S)
        assert told.severity is Severity.CRITICAL
        assert told.blast.jobs
        assert "slowed by" in told.title or "stalled" in told.title
    else:
        assert (told.gpu_seconds, told.severity) == (0.0, Severity.WARNING)
        assert told.title.endswith("no job reached")
