"""Power and cooling of a rack or device: a fault slows many GPUs at once, or leaves no spare part.

Air that is too warm throttles GPUs after it got warm: one that was throttled before has another reason.
"""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import ENVIRONMENT, Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectKind, ObjectRef


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a rack or device, with the GPUs of it that throttle; a warm rack explains its warm devices."""
    found = view.of(*sorted(ENVIRONMENT))
    warm = {finding.object.name for finding in found if finding.object.kind is ObjectKind.RACK}
    roots: dict[ObjectRef, list[str]] = {}
    reasons: dict[ObjectRef, set[str]] = {}
    for finding in found:
        rack = _rack(view, finding.object)
        root = ObjectRef(ObjectKind.RACK, rack) if rack in warm else finding.object
        roots.setdefault(root, []).append(finding.id)
        reasons.setdefault(root, set()).add(finding_kinds()[finding.kind].cause)
    slowed: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.GPU_THROTTLED):
        slowed[finding.object.device].append(finding)
    for root in sorted(roots):
        hosts = view.graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.device]
        since_ns = view.onset(roots[root]) - view.config.onset_slack_ns
        throttled = [each.id for host in hosts for each in slowed.get(host, ()) if each.onset_ns >= since_ns]
        yield cause_of(
            IncidentKind.ENVIRONMENT,
            root,
            frozenset((*roots[root], *throttled)),
            f"{root.name} {' and '.join(sorted(reasons[root]))}",
        )


def _rack(view: CorrelationView, ref: ObjectRef) -> str:
    known = view.graph.devices.get(ref.device)
    return ref.name if ref.kind is ObjectKind.RACK else known.rack if known else ""
