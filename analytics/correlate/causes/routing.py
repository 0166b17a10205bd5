"""Routing: a BGP session that went down by itself. With its link or its device down, that is the cause instead."""

from collections.abc import Iterable

from analytics.correlate.causes.cause import Cause, Patience, Tier
from analytics.correlate.evidence import View
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind


def propose(view: View) -> Iterable[Cause]:
    """One cause a switch."""
    for finding in view.of(FindingKind.BGP_SESSION):
        yield Cause(
            IncidentKind.BGP_DOWN,
            finding.object,
            frozenset({finding.id}),
            f"{finding.object.name} lost a BGP session and no link of it is down",
            tier=Tier.SOFT,
            patience=Patience.INTERVAL,
        )
