"""Telemetry that stopped or is unchanged, while nothing shows that the device is down."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from analytics.correlate.cause import SILENCE, Cause, cause_of
from analytics.correlate.view import CorrelationView
from common.errors import BadInput
from telemetry.findings import Finding
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device
from telemetry.series import parse_series_key

_TOGETHER_MIN = 3  # devices: two may go silent by chance
_CHECK_INGEST = (
    "Ask /-/ready of the API whether ingest leaves out collections for want of CPU, memory or file descriptors: give "
    "it more. If not, see whether it runs, and check the way from it to these devices."
)


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Devices that send nothing new; most of all devices at once, or most of one role, have one common cause."""
    devices: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(SILENCE)):
        devices[device(finding.object.device) if finding.object.device else finding.object].append(finding)
    left = set(devices)
    for what, names in _groups(view) if left else ():
        silent = sorted(ref for ref in left if ref.name in names)
        if len(silent) >= _TOGETHER_MIN and len(silent) > view.config.silent_share * len(names):
            left -= set(silent)
            yield _collector(view, silent, [one for ref in silent for one in devices[ref]], f"{len(names)} {what}")
    for root in sorted(left):
        yield cause_of(
            IncidentKind.TELEMETRY_LOST,
            root,
            frozenset(finding.id for finding in devices[root]),
            f"{root.name} sends nothing new and its neighbours see nothing wrong",
        )


def _groups(view: CorrelationView) -> Iterable[tuple[str, frozenset[str]]]:
    """What may be collected by one collector: all devices, or those of one role."""
    yield "devices", frozenset(view.graph.devices)
    roles: defaultdict[str, set[str]] = defaultdict(set)
    for name, known in view.graph.devices.items():
        roles[str(known.role)].add(name)
    for role in sorted(roles):
        yield f"devices of role {role}", frozenset(roles[role])


def _collector(view: CorrelationView, silent: Sequence[ObjectRef], found: Sequence[Finding], of: str) -> Cause:
    collectors = sorted({name for finding in found if (name := _collector_of(finding))})
    by = f", all collected by {collectors[0]}" if len(collectors) == 1 else ""
    which = f"{len(silent)} of {of} at once{by}"
    return cause_of(
        IncidentKind.TELEMETRY_LOST,
        view.root(IncidentKind.TELEMETRY_LOST, silent),
        frozenset(finding.id for finding in found),
        f"{which}: suspect what collects them",
        headline=f"no telemetry from {which}",
        action=_CHECK_INGEST,
    )


def _collector_of(finding: Finding) -> str:
    """The first part of the name of the target that the finding is about, '' where it names none."""
    try:
        labels = parse_series_key(finding.evidence[0].series)[1] if finding.evidence else {}
    except BadInput:
        return ""
    return labels.get("target", "").partition("/")[0]
