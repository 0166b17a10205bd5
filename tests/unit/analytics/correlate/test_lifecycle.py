"""The states of an incident, step by step: a hold of 10 ns, and 60 ns without evidence until it resolves."""

import pytest

from analytics.correlate.lifecycle import Life, advance
from telemetry.incidents import IncidentState

PENDING, FIRING, RESOLVED = IncidentState.PENDING, IncidentState.FIRING, IncidentState.RESOLVED


@pytest.mark.parametrize(
    ("life", "active", "now", "state", "cleared"),
    [
        (Life(PENDING, 100), True, 109, PENDING, 0),
        (Life(PENDING, 100), True, 110, FIRING, 0),
        (Life(PENDING, 100), False, 105, RESOLVED, 105),
        (Life(FIRING, 100, 110), True, 500, FIRING, 0),
        (Life(FIRING, 100, 110), False, 500, FIRING, 500),
        (Life(FIRING, 100, 110, 0, 500), False, 559, FIRING, 500),
        (Life(FIRING, 100, 110, 0, 500), False, 560, RESOLVED, 500),
        (Life(FIRING, 100, 110, 0, 500), True, 559, FIRING, 0),
        (Life(RESOLVED, 100, 110, 560, 500), True, 600, RESOLVED, 500),
    ],
)
def test_life(life: Life, active: bool, now: int, state: IncidentState, cleared: int) -> None:
    after = advance(life, active=active, now_ns=now, hold_ns=10, keep_ns=60)
    assert (after.state, after.cleared_ns) == (state, cleared)
    assert after.fired_ns == (now if state is FIRING and life.state is PENDING else life.fired_ns)
