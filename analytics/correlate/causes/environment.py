"""Power and cooling of a rack or device: a fault slows many GPUs at once, or leaves no spare part.

Air that is too warm throttles GPUs after it got warm: one that was throttled before has another reason.

One host whose GPUs are warm, and nothing else, does its work as before: a line on a board. It is a page once heat slows
a GPU of it, a job waits, or the warmest one has come near the temperature at which it slows down.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analytics.correlate.cause import ENVIRONMENT, GPU_FAULTS, Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.causes.gpus import by_heat, is_braked
from analytics.correlate.causes.siblings import hosts_by_rack, shared
from analytics.correlate.texts.neighbours import hosts_together
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectKind, ObjectRef, device

HOSTS_MIN = 2  # hosts that get warm at once share their air, or what drives it, and their power
# Hosts behind one fan wall get warm as their own load lets them, within a minute.
WINDOW_INTERVALS = 6.0
# Kelvin below the temperature at which a GPU slows down. An H100 reports as much between its maximum operating
# temperature and its slowdown (T.Limit 0 and -2: docs/simulator/h100.md); 85 C, 2 below 87 C, is an example of Meta's
# health checks for such a limit (facebookresearch/gcm, check-nvidia-smi gpu_temperature).
MARGIN_MIN = 2.0
_BY_POWER = "rack_hot"

ByRoot = Mapping[ObjectRef, Sequence[Finding]]


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a rack or device, with the GPUs of it that throttle; a warm rack explains its warm devices. Warm hosts
    whose racks are not known are one, too, where they got warm at once."""
    roots = _roots(view)
    for root in sorted(roots):
        found = roots[root]
        hosts = view.graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.device]
        since_ns = min(finding.onset_ns for finding in found) - view.config.onset_slack_ns
        throttled = [each for host in hosts for each in _throttled(view, host) if each.onset_ns >= since_ns]
        harmless = root.kind is ObjectKind.DEVICE and not throttled and all(map(_only_warm, found))
        yield cause_of(
            IncidentKind.ENVIRONMENT,
            root,
            frozenset(finding.id for finding in (*found, *throttled)),
            _reason(root, found, throttled, harmless=harmless),
            subject=f"rack {root.name}" if root.kind is ObjectKind.RACK else "",
            harmless=harmless,
        )
    hosts_alone = {root: found for root, found in roots.items() if root.kind is ObjectKind.DEVICE}
    yield from _together(view, {root: found for root, found in hosts_alone.items() if not _rack(view, root)})


def _roots(view: CorrelationView) -> dict[ObjectRef, list[Finding]]:
    """Racks and devices that are warm or lost a part, and hosts whose GPUs heat or a power brake slows: their rack
    where several of it began at once."""
    found = view.of(*sorted(ENVIRONMENT))
    warm = {finding.object.name for finding in found if finding.object.kind is ObjectKind.RACK}
    roots: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in found:
        rack = _rack(view, finding.object)
        roots[ObjectRef(ObjectKind.RACK, rack) if rack in warm else finding.object].append(finding)
    slowed = {
        host: faults
        for host in sorted({each.object.device for each in view.of(FindingKind.GPU_HOT, FindingKind.GPU_THROTTLED)})
        if _rack(view, device(host)) not in warm and by_heat(view, host, faults := _faults(view, host))
    }
    onsets_ns = {host: min(each.onset_ns for each in slowed[host]) for host in slowed}
    rack_of = {
        host: ObjectRef(ObjectKind.RACK, found.name)
        for found in shared(view, onsets_ns, [hosts_by_rack(view)], HOSTS_MIN)
        for host in found.failed
    }
    for host in slowed:
        also = roots.pop(device(host), [])
        roots[rack_of.get(host, device(host))] += [*also, *slowed[host]]
    return dict(roots)


def _together(view: CorrelationView, hosts: ByRoot) -> Iterable[Cause]:
    """Hosts that got warm within one window, and of which no rack is known."""
    host_of = {found[0].id: root for root, found in hosts.items()}
    for group in at_once((found[0] for found in hosts.values()), view.config.intervals_ns(WINDOW_INTERVALS)):
        refs = [host_of[finding.id] for finding in group]
        if len(refs) < HOSTS_MIN:
            continue
        root = view.root(IncidentKind.ENVIRONMENT, refs)
        primary = {one.id: one for ref in refs for one in (*hosts[ref], *_throttled(view, ref.name))}
        names = frozenset(ref.name for ref in refs)
        yield cause_of(
            IncidentKind.ENVIRONMENT,
            root,
            frozenset(primary),
            f"{_of_several(len(refs), primary.values())}; an inventory with racks would name it",
            devices=names,
            gone=names - {root.name},  # their jobs wait as that of the root does
            subject=hosts_together(root.name, [ref.name for ref in refs], "hosts", view.graph.devices),
        )


def _of_several(hosts: int, found: Iterable[Finding]) -> str:
    if all(is_braked(finding) for finding in found):
        what, shared_by = f"a power brake slows GPUs of {hosts} hosts since the same minute", "rack or power"
    else:
        what, shared_by = f"{hosts} hosts got too warm within a minute", "rack, row or cooling"
    return f"{what}. Nothing is known that they share: {shared_by}"


def _only_warm(finding: Finding) -> bool:
    """Whether nothing but the GPUs' own temperature shows it, and that is far from slowing them. A sensor of the air,
    or a part that failed, says what is wrong; a temperature is compared with what the power explains."""
    margins = [each.value for each in finding.evidence if each.unit == "kelvin"]
    return finding.detector == _BY_POWER and bool(margins) and min(margins) > MARGIN_MIN


def _reason(root: ObjectRef, found: Iterable[Finding], throttled: Iterable[Finding], *, harmless: bool) -> str:
    """What is wrong with its air or its parts, then what holds the clocks of its GPUs."""
    kinds = {finding.kind for finding in found}
    parts = " and ".join(sorted({finding_kinds()[kind].cause for kind in kinds & ENVIRONMENT}))
    by = " and ".join(sorted({"a power brake" if is_braked(finding) else "heat" for finding in throttled}))
    gpus = f"GPUs of {'it' if parts else root.name}"
    slowed = f"{by} slow{'' if ' and ' in by else 's'} {gpus}" if by else ""
    if not slowed and FindingKind.GPU_HOT in kinds:
        slowed = f"heat is about to slow {gpus}"
    if harmless:
        slowed = "heat slows no GPU of it"
    return "; ".join(filter(None, (parts and f"{root.name} {parts}", slowed)))


def _throttled(view: CorrelationView, host: str) -> list[Finding]:
    return [finding for finding in view.on_device(host) if finding.kind is FindingKind.GPU_THROTTLED]


def _faults(view: CorrelationView, host: str) -> list[Finding]:
    return [finding for finding in view.on_device(host) if finding.kind in GPU_FAULTS]


def _rack(view: CorrelationView, ref: ObjectRef) -> str:
    known = view.graph.devices.get(ref.device)
    return ref.name if ref.kind is ObjectKind.RACK else known.rack if known else ""
