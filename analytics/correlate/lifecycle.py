"""When an incident fires and when it resolves. Pure, on event time; missing telemetry never resolves anything."""

from dataclasses import dataclass, replace

from telemetry.incidents import IncidentState


@dataclass(frozen=True, slots=True)
class Life:
    """opened_ns: first seen. fired_ns, resolved_ns: 0 until then.

    cleared_ns: since when no primary finding is active, 0 while one is. A finding is active until fresh telemetry
    clears it, so an object that went silent keeps its incident open.
    """

    state: IncidentState
    opened_ns: int
    fired_ns: int = 0
    resolved_ns: int = 0
    cleared_ns: int = 0


def advance(life: Life, *, active: bool, now_ns: int, hold_ns: int, keep_ns: int) -> Life:
    """The next state: fires after ``hold_ns`` of evidence, resolves after ``keep_ns`` without.

    >>> life = Life(IncidentState.PENDING, opened_ns=100)
    >>> advance(life, active=True, now_ns=110, hold_ns=10, keep_ns=60).state
    <IncidentState.FIRING: 'firing'>
    """
    if life.state is IncidentState.RESOLVED:
        return life
    if active:
        life = replace(life, cleared_ns=0) if life.cleared_ns else life
        if life.state is IncidentState.PENDING and now_ns - life.opened_ns >= hold_ns:
            return Life(IncidentState.FIRING, life.opened_ns, now_ns)
        return life
    if life.cleared_ns == 0:
        life = replace(life, cleared_ns=now_ns)
    if life.state is IncidentState.PENDING or now_ns - life.cleared_ns >= keep_ns:
        return replace(life, state=IncidentState.RESOLVED, resolved_ns=now_ns)
    return life
