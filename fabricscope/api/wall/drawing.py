"""The fabric as the NOC page draws it: boxes, bundles, and only unhealthy links by themselves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricscope.api.instants import Instant, rfc3339
from fabricscope.api.wall.faults import Fault, faults
from fabricscope.api.wall.gpu_names import gpu_names
from fabricscope.api.wall.plan import Fabric, Group, Plan, Scope
from fabricscope.api.wall.shown import Shown
from fabricscope.api.wall.traffic import Load, Traffic
from telemetry.incidents import Severity
from telemetry.objects import ObjectKind
from telemetry.topology import Link, Role, StorageTarget

FAULTS_SHOWN = 10
LINES_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Box:
    """Devices of one tier. pod, rack: the scope that shows them one by one; '' where there is none.

    unhealthy: objects of these devices; severity: the worst of their incidents, null where none explains them. is_root:
    whether the cause of one is here.
    """

    id: str
    tier: Role
    name: str
    devices: int
    pod: str
    rack: str
    unhealthy: int
    severity: Severity | None
    is_root: bool


@dataclass(frozen=True, slots=True)
class Bundle:
    """All links between two boxes, ``a`` above ``b``. used of rated: bits a second, of the ``measured`` ones."""

    a: str
    b: str
    links: int
    unhealthy: int
    measured: int
    used_bits_per_second: float
    rated_bits_per_second: float


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """One unhealthy object, with the boxes that it is in: two for a link or a port with one, one for what has none.

    label: the name for people. incident: the one that explains it, '' for none. severity: of that one.
    """

    kind: ObjectKind
    name: str
    label: str
    text: str
    onset: Instant
    is_root: bool
    incident: str
    severity: Severity | None
    boxes: list[str]


@dataclass(frozen=True, slots=True)
class Line:
    """Two boxes between which a link is unhealthy, with the worst that is wrong with one: see ``Unhealthy``."""

    a: str
    b: str
    severity: Severity | None
    is_root: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """unhealthy: at most 10, worst first, of ``unhealthy_objects``. lines: worst first, at most 40."""

    pod: str
    rack: str
    boxes: list[Box]
    bundles: list[Bundle]
    lines: list[Line]
    unhealthy: list[Unhealthy]
    unhealthy_objects: int


def drawing(model: Shown, scope: Scope) -> Drawing:
    """The fabric, or a pod or rack of it, as of now."""
    fabric = model.fabric()
    targets = model.topology.entities(StorageTarget)
    servers = {f"{one.filesystem}/{one.target}": one.server for one in targets}
    found = faults(list(model.incidents.values()), list(model.findings.values()), servers)
    plan = fabric.plan(scope, [fault.device for fault in found])
    placed = [(fault, _boxes(fault, fabric, plan)) for fault in found]
    placed = [(fault, boxes) for fault, boxes in placed if boxes]
    traffic = model.traffic()
    bad = {link.key for fault, _ in placed for link in fabric.links_of(fault.object)}
    labels = gpu_names(model) if placed else {}
    return Drawing(
        pod=scope.pod,
        rack=scope.rack,
        boxes=[_box(group, placed) for group in plan.groups],
        bundles=[_bundle(ends, links, bad, traffic) for ends, links in plan.bundles.items()],
        lines=_lines(placed),
        unhealthy=[_unhealthy(fault, boxes, labels) for fault, boxes in placed[:FAULTS_SHOWN]],
        unhealthy_objects=len(placed),
    )


def _boxes(fault: Fault, fabric: Fabric, plan: Plan) -> list[str]:
    """None where the object, or an end of the link that it is, is outside of the scope."""
    links = fabric.links_of(fault.object)
    ends = [links[0].a_device, links[0].b_device] if links else [fault.device]
    if not {fault.device or end for end in ends} <= plan.group_of.keys():
        return []
    order = {group.id: at for at, group in enumerate(plan.groups)}
    found = {plan.group_of[device] for device in ends if device in plan.group_of}
    return sorted(found, key=order.__getitem__)


def _box(group: Group, placed: Sequence[tuple[Fault, list[str]]]) -> Box:
    devices = set(group.devices)
    own = [fault for fault, _ in placed if fault.device in devices]
    severity = max((one.severity for one in own if one.severity), key=lambda each: each.rank, default=None)
    is_root = any(one.is_root for one in own)
    return Box(group.id, group.tier, group.name, len(devices), group.pod, group.rack, len(own), severity, is_root)


def _bundle(ends: tuple[str, str], links: Sequence[Link], bad: set[str], traffic: Traffic) -> Bundle:
    load = sum((traffic.of(link) for link in links), Load())
    unhealthy = sum(link.key in bad for link in links)
    return Bundle(*ends, len(links), unhealthy, load.links, load.used, load.rated)


def _lines(placed: Iterable[tuple[Fault, list[str]]]) -> list[Line]:
    """One for each pair of boxes: the first fault of a pair is its worst."""
    found: dict[tuple[str, str], Line] = {}
    for fault, boxes in placed:
        if len(boxes) == 2:
            line = Line(boxes[0], boxes[1], fault.severity, fault.is_root)
            found.setdefault((line.a, line.b), line)
    return list(found.values())[:LINES_SHOWN]


def _unhealthy(fault: Fault, boxes: list[str], labels: Mapping[str, str]) -> Unhealthy:
    name = fault.object.name
    return Unhealthy(
        kind=fault.object.kind,
        name=name,
        label=labels.get(name, name) if fault.object.kind is ObjectKind.GPU else name,
        text=fault.text,
        onset=rfc3339(fault.onset_ns),
        is_root=fault.is_root,
        incident=fault.incident,
        severity=fault.severity,
        boxes=boxes,
    )
