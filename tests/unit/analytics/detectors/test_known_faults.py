"""Faults of the simulated cluster with a detector of their own: one incident each, of its kind and root, in time."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from analytics.config import EngineConfig
from analytics.engine import Output
from analytics.worker import build_engine
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import campaign
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from telemetry.findings import Finding
from telemetry.incidents import Incident

INTERVAL_S, WARM_S, EVERY_S, LASTS_S, SECOND = 10, 320, 240, 110, 10**9
JOBS = JobMix(checkpoint_period_s=120, lifetime_s=1e6)
# How long each may take to be told of: what it needs to show at all, and two intervals.
FAULTS = {"late-checkpoint": 90, "hung-gpu": 70, "gpu-memory-wears": 40, "rack-cooling": 90}


@dataclass
class Story:
    """What was broken, the first version of each incident, and what was found before anything was broken."""

    truths: list[Truth] = field(default_factory=list)
    told: dict[str, Incident] = field(default_factory=dict)
    early: list[Finding] = field(default_factory=list)


def outputs(config: SimulatorConfig, faults: list[ScheduledFault], story: Story) -> Iterator[Output]:
    engine = build_engine(EngineConfig(interval_s=INTERVAL_S))
    for tick in campaign(config, faults, WARM_S + len(faults) * EVERY_S):
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        for batch in tick.batches:
            engine.observe(batch)
        story.truths = list(tick.cluster.truth)
        yield from engine.advance()


@pytest.fixture(scope="module")
def story() -> Story:
    config = SimulatorConfig(hosts=8, interval_s=INTERVAL_S, jobs=JOBS, seed=7)
    faults = [
        ScheduledFault(fault=name, at_s=WARM_S + number * EVERY_S, lasts_s=LASTS_S)
        for number, name in enumerate(FAULTS)
    ]
    found = Story()
    for output in outputs(config, faults, found):
        if isinstance(output, Incident):
            found.told.setdefault(output.id, output)
        elif not found.truths:
            found.early.append(output)
    return found


def test_nothing_is_found_before_anything_breaks_and_nothing_else_is_told(story: Story) -> None:
    assert story.early == []
    assert len(story.told) == len(FAULTS), [incident.title for incident in story.told.values()]


@pytest.mark.parametrize("fault", FAULTS)
def test_one_incident_of_the_right_kind_and_root_in_time(story: Story, fault: str) -> None:
    truth = next(truth for truth in story.truths if truth.fault == fault)
    (told,) = [one for one in story.told.values() if 0 <= one.fired_ns - truth.start_ns < EVERY_S * SECOND]
    assert (told.kind, told.root) == (truth.expected, truth.root)
    assert told.fired_ns - truth.start_ns <= FAULTS[fault] * SECOND
