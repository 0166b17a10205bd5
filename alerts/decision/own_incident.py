"""Incidents of the product itself, which no telemetry shows. Pure."""

from collections.abc import Callable
from dataclasses import replace

from alerts.clock import Moment
from alerts.config import AlertingConfig
from alerts.own_kinds import OWN_ROOTS
from common.units import NS_PER_S, to_ns
from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind, ObjectRef


class OwnIncident:
    """Fires when there is a problem, and resolves once there was none for ``quiet_ns``: so it never fires twice in it.

    It is handed to the dispatcher like any other incident. hold_ns: how long a problem lasts before it fires.
    open_before: what an earlier process left open; it resolves ``quiet_ns`` after ``now``, unless the problem is back.
    """

    def __init__(
        self,
        kind: IncidentKind,
        cluster: str,
        open_before: Incident | None,
        *,
        now: Moment,
        quiet_ns: int,
        hold_ns: int = 0,
    ) -> None:
        self._kind, self._cluster = kind, cluster
        self._quiet_ns, self._hold_ns = quiet_ns, hold_ns
        self._open = open_before
        self._newest_ns = now.stage_ns
        self._since_ns: int | None = None

    def update(self, problem: str | None, now: Moment) -> list[Incident]:
        """Its new version, if there is one. problem: in words, None when there is none now."""
        if problem is not None:
            return self._problem(problem, now)
        self._since_ns = None
        if self._open is None or now.stage_ns - self._newest_ns < self._quiet_ns:
            return []
        at_ns = max(now.wall_ns, self._open.updated_ns + 1)
        over = replace(self._open, state=IncidentState.RESOLVED, updated_ns=at_ns, resolved_ns=at_ns)
        self._open = None
        return [over]

    def _problem(self, problem: str, now: Moment) -> list[Incident]:
        self._newest_ns = now.stage_ns
        if self._since_ns is None:
            self._since_ns = now.stage_ns
        if self._open is not None or now.stage_ns - self._since_ns < self._hold_ns:
            return []
        self._open = _firing(self._kind, self._cluster, problem, now.wall_ns)
        return [self._open]


class OwnIncidents:
    """What found no room here, and what other stages drop.

    open_of: the open incident of a kind that an earlier process left.
    """

    def __init__(self, config: AlertingConfig, open_of: Callable[[IncidentKind], Incident | None], now: Moment) -> None:
        def own(kind: IncidentKind, hold_s: float = 0) -> OwnIncident:
            quiet_ns, hold_ns = to_ns(config.quiet_s), to_ns(hold_s)
            return OwnIncident(kind, config.cluster, open_of(kind), now=now, quiet_ns=quiet_ns, hold_ns=hold_ns)

        self._overloaded = own(IncidentKind.ALERTS_OVERLOADED)
        self._dropped_samples = own(IncidentKind.SAMPLES_DROPPED, config.drops_hold_s)

    def update(self, lost: int, drops: str | None, now: Moment) -> list[Incident]:
        """New versions. lost: incidents and notifications without room. drops: which stages drop most, in words."""
        no_room = f"no room for {lost} incidents or notifications at the beginning" if lost else None
        return self._overloaded.update(no_room, now) + self._dropped_samples.update(drops, now)


def _firing(kind: IncidentKind, cluster: str, problem: str, at_ns: int) -> Incident:
    texts, root = incident_kinds()[kind], ObjectRef(ObjectKind.TARGET, OWN_ROOTS[kind])
    return Incident(
        # a new one each time, as receivers know a repetition by the id
        id=f"{kind}-{at_ns // NS_PER_S}",
        kind=kind,
        root=root,
        state=IncidentState.FIRING,
        severity=texts.severity_floor,
        title=f"[CRIT] {cluster}: {texts.phrase.format(root=root.name)}",
        onset_ns=at_ns,
        opened_ns=at_ns,
        updated_ns=at_ns,
        fired_ns=at_ns,
        resolved_ns=0,
        confidence=1.0,
        order_known=True,
        first_symptom=problem,
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
