"""A fault that lasts while jobs end and begin is one incident, open until it is repaired."""

from evaluation.campaigns.plan import INTERVAL_S, STEP_MS, Plan
from evaluation.campaigns.run_plan import run_plan
from simulator.config import SimulatorConfig
from simulator.faults.schedule import parse_fault

SECOND = 10**9


def test_a_straggler_is_one_incident_until_it_is_repaired() -> None:
    """The job of the GPU ends after a quarter of an hour; the next one has never been without the fault."""
    config = SimulatorConfig(hosts=8, seed=5, step_ms=STEP_MS, interval_s=INTERVAL_S)
    run = run_plan(Plan(config, (parse_fault("straggler-gpu@600s+1800s"),), 2550.0, 5))
    (truth,) = run.truths
    (incident,) = (one for one in run.newest.values() if one.root == truth.root)
    assert (incident.kind, incident.occurrences) == (truth.expected, 1)
    assert 0 < incident.resolved_ns - truth.end_ns <= 150 * SECOND
