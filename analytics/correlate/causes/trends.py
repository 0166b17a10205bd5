"""Forecasts: what will be full or worn out in some days. They explain nothing that happens now."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef

_FEC_MARGIN = "fec_margin"
_KINDS = {FindingKind.CAPACITY: IncidentKind.CAPACITY, FindingKind.WEAR: IncidentKind.WEAR}


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a kind and object; both ends of a link are one object."""
    for kind, incident in _KINDS.items():
        objects: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
        for finding in view.of(kind):
            objects[view.graph.link_of.get(finding.object, finding.object)].append(finding)
        for root in sorted(objects):
            found = frozenset(finding.id for finding in objects[root])
            yield cause_of(incident, root, found, _reason(root, objects[root]))


def _reason(root: ObjectRef, found: list[Finding]) -> str:
    if all(finding.detector == _FEC_MARGIN for finding in found):
        return f"error correction of {root.name} has little reserve left; nothing is lost so far"
    return f"{root.name} will reach its limit if it goes on like this"
