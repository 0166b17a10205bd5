"""The kinds of incidents that are about the product itself, which no telemetry shows."""

from telemetry.incidents import IncidentKind

OWN_ROOTS = {IncidentKind.ALERTS_OVERLOADED: "fabricscope/alerts", IncidentKind.SAMPLES_DROPPED: "fabricscope"}
OWN_KINDS = frozenset(OWN_ROOTS)
