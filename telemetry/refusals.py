"""What topology and changes say that cannot be: refused or cut, with a reason that people can read.

Pure functions of what is known, so that every stage comes to the same. Nothing here is dropped from the topology, which
shows what the sources say; correlation uses what is left of it.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from telemetry import objects
from telemetry.changes import Change
from telemetry.objects import EventTime, ObjectRef
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, Topology, TopologyFact

DAY_NS = 24 * 3600 * 10**9
CHANGE_LASTS_NS_MAX = 30 * DAY_NS
CHANGE_OBJECTS_MAX = 500  # whole racks are one object each
_SHOWN = 5


class RefusalReason(StrEnum):
    """A closed set: the label of a metric."""

    SELF_LINK = "self_link"  # a cable from a device to itself: refused
    PORT_TWICE = "port_twice"  # a port with two cables: the one that was seen last counts
    GPU_TWICE = "gpu_twice"  # a GPU in two hosts: where it was seen last
    RACK_IN_ITSELF = "rack_in_itself"  # a device that is its own rack: it has none
    NAME_TWICE = "name_twice"  # two sources describe two devices of one name: what was said last counts
    UNKNOWN_HOSTS = "unknown_hosts"  # a job on hosts that the topology does not have: nothing is known of those
    LASTS_TOO_LONG = "lasts_too_long"  # a change of more than 30 days: it counts for 30
    TOO_MANY_OBJECTS = "too_many_objects"  # a change of more than 500 objects: the first 500 count


@dataclass(frozen=True, slots=True)
class Refusal:
    """One of them. objects: what it is about. source: who says so, where it is known. at_ns: event time of that."""

    reason: RefusalReason
    objects: tuple[ObjectRef, ...]
    text: str
    source: str
    at_ns: EventTime


def refused_facts(topology: Topology) -> dict[str, list[Refusal]]:
    """What is wrong with facts, by the fact's key; one about a job names the job's fact."""
    links, gpus = topology.entities(Link), topology.entities(Gpu)
    devices, jobs = topology.entities(Device), topology.entities(Job)
    refused: defaultdict[str, list[Refusal]] = defaultdict(list)
    for key, refusal in (
        *_of_links(topology, links),
        *_of_gpus(topology, gpus),
        *_of_devices(topology, devices),
        *_of_jobs(topology, jobs, devices),
    ):
        refused[key].append(refusal)
    return dict(sorted(refused.items()))


def consistent(present: Mapping[str, Entity], refused: Mapping[str, Iterable[Refusal]]) -> dict[str, Entity]:
    """Entities by key, without those that contradict others. refused: of the topology that they are from."""
    left = dict(present)
    for key, found in refused.items():
        reasons = {refusal.reason for refusal in found}
        entity = left.get(key)
        if reasons & {RefusalReason.SELF_LINK, RefusalReason.PORT_TWICE, RefusalReason.GPU_TWICE}:
            left.pop(key, None)
        elif RefusalReason.RACK_IN_ITSELF in reasons and isinstance(entity, Device):
            left[key] = replace(entity, rack="")
    return left


def _of_links(topology: Topology, links: Sequence[Link]) -> Iterator[tuple[str, Refusal]]:
    """A cable has two ends, and a port one cable."""
    ports = [(link.a_device, link.a_port) for link in links] + [(link.b_device, link.b_port) for link in links]
    ends = zip(ports, (*links, *links), strict=True)
    for link in links:
        if link.a_device == link.b_device:
            text = f"{link.ref.name} leads from {link.a_device} to itself"
            yield link.key, _refusal(RefusalReason.SELF_LINK, text, topology.facts[link.key])
    if _twice(ports):
        named = [("/".join(port), link) for port, link in ends if link.a_device != link.b_device]
        yield from _all_but_the_newest(topology, RefusalReason.PORT_TWICE, named)


def _of_gpus(topology: Topology, gpus: Sequence[Gpu]) -> Iterator[tuple[str, Refusal]]:
    """A GPU is in one host."""
    if _twice([gpu.uuid for gpu in gpus]):
        yield from _all_but_the_newest(topology, RefusalReason.GPU_TWICE, [(gpu.uuid, gpu) for gpu in gpus])


def _twice(names: Sequence[Hashable]) -> bool:
    return len(set(names)) < len(names)


def _all_but_the_newest(
    topology: Topology, reason: RefusalReason, named: Iterable[tuple[str, Link | Gpu]]
) -> Iterator[tuple[str, Refusal]]:
    """named: every entity with the place that it takes."""
    crowded: defaultdict[str, list[TopologyFact]] = defaultdict(list)
    for place, entity in named:
        crowded[place].append(topology.facts[entity.key])
    for place, found in sorted(crowded.items()):
        *older, newest = sorted(found, key=lambda fact: (fact.observed_ns, fact.entity.key))
        for fact in older:
            here, there = (f"{each.entity.key} by {each.source}" for each in (fact, newest))
            why = "was seen last" if fact.observed_ns < newest.observed_ns else "counts as the last by name"
            yield fact.entity.key, _refusal(reason, f"{place} is in {here} and in {there}, which {why}", fact)


def _of_devices(topology: Topology, devices: Sequence[Device]) -> Iterator[tuple[str, Refusal]]:
    """A device is in a rack, and there is one of its name."""
    for known in devices:
        if known.rack == known.name:
            text = f"{known.name} is said to be in the rack {known.rack}, which is itself"
            yield known.key, _refusal(RefusalReason.RACK_IN_ITSELF, text, topology.facts[known.key])
    for key, other in topology.contested.items():
        one = topology.facts[key]
        text = f"{one.source} says {_described(one.entity)}, {other.source} says {_described(other.entity)}"
        yield key, _refusal(RefusalReason.NAME_TWICE, text, other)


def _of_jobs(topology: Topology, jobs: Sequence[Job], devices: Sequence[Device]) -> Iterator[tuple[str, Refusal]]:
    """A job runs on hosts. Without any host none can be known, and nothing contradicts."""
    hosts = {known.name for known in devices if known.role is Role.HOST}
    for job in jobs if hosts else ():
        if not hosts.issuperset(job.nodes):
            unknown = sorted(set(job.nodes) - hosts)
            more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
            text = f"job {job.job_id} runs on {', '.join(unknown[:_SHOWN])}{more}, unknown to the topology"
            yield job.key, _refusal(RefusalReason.UNKNOWN_HOSTS, text, topology.facts[job.key])


def _refusal(reason: RefusalReason, text: str, fact: TopologyFact) -> Refusal:
    return Refusal(reason, (_object(fact.entity),), text, fact.source, fact.observed_ns)


def _object(entity: Entity) -> ObjectRef:
    match entity:
        case Link():
            return entity.ref
        case Gpu():
            return objects.gpu(entity.device, entity.uuid)
        case Job():
            return objects.job(entity.job_id)
        case Device():
            return objects.device(entity.name)
    raise AssertionError(f"nothing is refused of {entity.kind}")


def _described(entity: Entity) -> str:
    assert isinstance(entity, Device)
    return f"{entity.name} is a {entity.role} in rack {entity.rack or '?'}"


def bounded(change: Change) -> Change:
    """The part of a change that counts: a maintenance of everything for a year would hide every fault of that year."""
    ends_ns = min(change.ends_ns, change.starts_ns + CHANGE_LASTS_NS_MAX) if change.ends_ns else 0
    return replace(change, objects=change.objects[:CHANGE_OBJECTS_MAX], ends_ns=ends_ns)


def refused_changes(changes: Iterable[Change]) -> list[Refusal]:
    """Changes of which only a part counts, and why."""
    found: list[Refusal] = []
    for change in changes:
        about, source = change.objects[:_SHOWN], change.author
        if change.ends_ns > change.starts_ns + CHANGE_LASTS_NS_MAX:
            days = (change.ends_ns - change.starts_ns) / DAY_NS
            text = f"{change.kind} {change.id} lasts {days:,.0f} days: it counts for {CHANGE_LASTS_NS_MAX // DAY_NS}"
            found.append(Refusal(RefusalReason.LASTS_TOO_LONG, about, text, source, change.starts_ns))
        if len(change.objects) > CHANGE_OBJECTS_MAX:
            text = f"{change.kind} {change.id} names {len(change.objects):,} objects: {CHANGE_OBJECTS_MAX} count"
            found.append(Refusal(RefusalReason.TOO_MANY_OBJECTS, about, text, source, change.starts_ns))
    return found
