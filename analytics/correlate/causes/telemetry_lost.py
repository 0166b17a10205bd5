"""Telemetry that stopped or repeats itself, while nothing says that the device is gone."""

from collections.abc import Iterable

from analytics.correlate.causes.cause import SILENCE, Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Devices of which nothing is heard; when they are many at once, one cause for all."""
    found = view.of(*sorted(SILENCE))
    names = {finding.object.device for finding in found} - {""}
    if len(names) >= 3 and len(names) > view.config.silent_share * len(view.graph.devices):
        ranked = [device(name) for name in sorted(names)]
        yield cause_of(
            IncidentKind.TELEMETRY_LOST,
            view.root(IncidentKind.TELEMETRY_LOST, ranked),
            frozenset(finding.id for finding in found),
            f"{len(names)} of {len(view.graph.devices)} devices at once: suspect what collects them",
        )
        return
    roots: dict[ObjectRef, list[str]] = {}
    for finding in found:
        root = device(finding.object.device) if finding.object.device else finding.object
        roots.setdefault(root, []).append(finding.id)
    for root, ids in sorted(roots.items()):
        yield cause_of(
            IncidentKind.TELEMETRY_LOST,
            root,
            frozenset(ids),
            f"{root.name} sends nothing new and its neighbours see nothing wrong",
        )
