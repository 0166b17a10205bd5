"""Routing: a BGP session that went down by itself. With its link or its device down, that is the cause instead."""

from collections.abc import Iterable

from analytics.correlate.causes.cause import Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a switch."""
    for finding in view.of(FindingKind.BGP_SESSION):
        yield cause_of(
            IncidentKind.BGP_DOWN,
            finding.object,
            frozenset({finding.id}),
            f"{finding.object.name} lost a BGP session and no link of it is down",
        )
