"""The stage's own incident: something found no room, so people may not have been notified of all. Pure."""

from dataclasses import replace

from alerts.clock import Moment
from common.units import NS_PER_S
from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState, Severity
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind, ObjectRef

_ROOT = ObjectRef(ObjectKind.TARGET, "fabricscope/alerts")


class Overload:
    """Fires when something is lost, and resolves once nothing was lost for ``quiet_ns``: so it never fires twice in it.

    It is handed to the dispatcher like any other incident. open_before: what an earlier process left open; it resolves
    ``quiet_ns`` after ``now``, unless more is lost.
    """

    def __init__(self, cluster: str, open_before: Incident | None, quiet_ns: int, now: Moment) -> None:
        self._cluster = cluster
        self._quiet_ns = quiet_ns
        self._open = open_before
        self._lost_ns = now.stage_ns

    def update(self, lost: int, now: Moment) -> list[Incident]:
        """Its new version, if there is one. lost: incidents and notifications since the last call."""
        if lost:
            self._lost_ns = now.stage_ns
        if lost and self._open is None:
            self._open = _firing(self._cluster, lost, now.wall_ns)
            return [self._open]
        if self._open is not None and not lost and now.stage_ns - self._lost_ns >= self._quiet_ns:
            at_ns = max(now.wall_ns, self._open.updated_ns + 1)
            over = replace(self._open, state=IncidentState.RESOLVED, updated_ns=at_ns, resolved_ns=at_ns)
            self._open = None
            return [over]
        return []


def _firing(cluster: str, lost: int, at_ns: int) -> Incident:
    kind = IncidentKind.ALERTS_OVERLOADED
    texts = incident_kinds()[kind]
    return Incident(
        # a new one each time, as receivers know a repetition by the id
        id=f"{kind}-{at_ns // NS_PER_S}",
        kind=kind,
        root=_ROOT,
        state=IncidentState.FIRING,
        severity=Severity.CRITICAL,
        title=f"[CRIT] {cluster}: {texts.phrase.format(root=_ROOT.name)}",
        onset_ns=at_ns,
        opened_ns=at_ns,
        updated_ns=at_ns,
        fired_ns=at_ns,
        resolved_ns=0,
        confidence=1.0,
        order_known=True,
        first_symptom=f"no room for {lost} incidents or notifications at the beginning",
        evidence=(),
        alternatives=(),
        blast=BlastRadius(),
        gpu_seconds=0.0,
        findings=(),
        timeline=(),
        gaps=(),
        action=texts.action,
        runbook=texts.runbook,
    )
