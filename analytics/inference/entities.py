"""Devices that no fact names, from what they send: who answers as DCGM is a host, who counts switch ports a switch.

A fact always wins: nothing is inferred about a device that has one, but for the GPUs of a host without facts about its
GPUs: an inventory of hosts and racks seldom lists the UUID of each, and without GPUs no job works or costs anything.
What is inferred has the source ``inferred`` and stays inside the process, so that nobody mistakes it for an inventory.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from analytics.inference.racks import racks_of
from analytics.state.series_index import SeriesIndex
from telemetry.objects import ObjectKind, parse_object
from telemetry.series import parse_series_key
from telemetry.topology import (
    UNKNOWN_INDEX,
    Device,
    Entity,
    Gpu,
    Job,
    Mount,
    Role,
    StorageTarget,
    Topology,
    TopologyFact,
)

SOURCE = "inferred"
_SWITCH, _SESSIONS, _STORAGE = "fabric_port_", "fabric_bgp_session_up", "storage_"
_HOST = ("node_", "nic_")
_INFO = "gpu_info"
_SWITCH_PORTS_MIN = 16  # an HGX host has eight to ten InfiniBand ports, the smallest switches have more
# Only between roles of switches, which no metric distinguishes where sessions are not reported.
_SPINE_NAMES = ("spine", "core", "agg", "fabric")


@dataclass(frozen=True, slots=True)
class _Stated:
    """What ``gpu_info`` states of a GPU. serial: '' where it does not."""

    index: int = UNKNOWN_INDEX
    serial: str = ""


class Inference:
    """The topology with what is inferred; computed again when a series or a fact is new. Nothing in it is state."""

    def __init__(self) -> None:
        self._version, self._facts = -1, Topology()
        self._known = self._facts
        self.counts: Mapping[str, int] = {}  # of what is inferred, by kind of entity

    def topology(self, index: SeriesIndex, facts: Topology) -> Topology:
        """The facts, and entities of the devices that send series and have none."""
        if self._version == index.version and self._facts is facts:
            return self._known
        same_facts = self._facts is facts
        self._version, self._facts = index.version, facts
        entities = [TopologyFact(entity, 0, SOURCE) for entity in infer(index, facts)]
        known = facts.with_facts(entities) if entities else facts
        self.counts = dict(sorted(Counter(fact.entity.kind for fact in entities).items()))
        if not same_facts or known.facts != self._known.facts:  # else whoever knows the old one has no new work
            self._known = known
        return self._known


def infer(index: SeriesIndex, facts: Topology) -> Iterator[Entity]:
    """Entities of the devices without a fact, in a fixed order."""
    known = {device.name for device in facts.entities(Device)}
    unknown = set(index.devices) - known
    bare = _hosts_without_gpus(facts) & set(index.devices)
    if not unknown and not bare:
        return
    metrics = _metrics_of(index) if unknown else {}
    parts = _parts_of(index, unknown | bare)
    roles = {name: role for name in sorted(unknown) if (role := _role(name, metrics.get(name, {}), parts[name]))}
    racks = racks_of([name for name, role in roles.items() if role is Role.HOST])
    sliced = {node for job in facts.entities(Job) if job.gpu_indices for node in job.nodes}
    stated = _stated_of(index)
    for name, role in roles.items():
        yield Device(name, role, rack=racks.get(name, ""))
        yield from _entities(name, role, parts[name], stated, whole=name not in sliced)
    for name in sorted(bare):
        yield from _gpus(name, parts[name], stated, whole=name not in sliced)
    for host, filesystem in _mounts(index, {name for name, role in roles.items() if role is Role.HOST}):
        yield Mount(host, filesystem)


def _metrics_of(index: SeriesIndex) -> dict[str, dict[str, int]]:
    """By device: how many series of each metric it sends."""
    columns, size = index.columns, max(1, len(index.metrics))
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    pairs, counts = np.unique(columns["target"].astype(np.int64) * size + columns["metric"], return_counts=True)
    for target, metric, count in zip(*(each.tolist() for each in divmod(pairs, size)), counts.tolist(), strict=True):
        of = found[index.devices[target]]
        name = index.metrics.names[metric]
        of[name] = of.get(name, 0) + count
    return found


def _parts_of(index: SeriesIndex, devices: Iterable[str]) -> dict[str, dict[ObjectKind, list[str]]]:
    """By device: names of its GPUs, ports and storage targets that its series are about, sorted.

    A target may speak for other devices too, as for the switches of a fabric: their parts are not its own.
    """
    found: dict[str, dict[ObjectKind, list[str]]] = {name: defaultdict(list) for name in devices}
    columns, size = index.columns, max(1, len(index.objects))
    pairs = np.unique(columns["target"].astype(np.int64) * size + columns["object"])
    about: defaultdict[str, set[int]] = defaultdict(set)
    wanted = np.array([name in found for name in index.devices], bool)
    pairs = pairs[wanted[pairs // size]]
    for target, number in zip(*(each.tolist() for each in divmod(pairs, size)), strict=True):
        about[index.devices[target]].add(number)
    for name, numbers in about.items():
        refs = sorted(parse_object(index.objects.names[number]) for number in numbers)
        for ref in refs:
            if ref.device in ("", name):
                found[name][ref.kind].append(ref.name)
    return found


def _role(name: str, metrics: dict[str, int], parts: dict[ObjectKind, list[str]]) -> Role | None:
    """None for a device that sends nothing which belongs to one role."""
    sessions, ports = metrics.get(_SESSIONS, 0), len(parts[ObjectKind.PORT])
    if parts[ObjectKind.STORAGE_TARGET]:
        return Role.STORAGE
    if parts[ObjectKind.GPU]:
        return Role.HOST
    if not any(each.startswith(_SWITCH) for each in metrics):  # a switch may run node_exporter too
        if any(each.startswith(_HOST) for each in metrics):
            return Role.HOST
        if ports < _SWITCH_PORTS_MIN:
            return None
    named = any(word in name.lower() for word in _SPINE_NAMES)
    return Role.SPINE if named or (ports and sessions >= ports) else Role.LEAF


def _entities(
    name: str, role: Role, parts: dict[ObjectKind, list[str]], stated: Mapping[str, _Stated], *, whole: bool
) -> Iterator[Entity]:
    """stated, whole: as for ``_gpus``."""
    if role is Role.HOST:
        yield from _gpus(name, parts, stated, whole=whole)
    if role is Role.STORAGE:
        for target in parts[ObjectKind.STORAGE_TARGET]:
            filesystem, _, part = target.partition("/")
            yield StorageTarget(filesystem, part, name)


def _gpus(
    name: str, parts: dict[ObjectKind, list[str]], stated: Mapping[str, _Stated], *, whole: bool
) -> Iterator[Gpu]:
    """stated: of GPUs, by name. whole: no job uses a part of the device, so that nothing rests on a number that is not
    known."""
    gpus = parts[ObjectKind.GPU]
    of = [stated.get(gpu, _Stated()) for gpu in gpus]
    if whole or all(one.index != UNKNOWN_INDEX for one in of):
        for gpu, one in zip(gpus, of, strict=True):
            yield Gpu(name, gpu.partition("/")[2], one.index, serial=one.serial)


def _hosts_without_gpus(facts: Topology) -> set[str]:
    hosts = {device.name for device in facts.entities(Device) if device.role is Role.HOST}
    return hosts - {gpu.device for gpu in facts.entities(Gpu)}


def _stated_of(index: SeriesIndex) -> dict[str, _Stated]:
    """By name of the GPU."""
    named = [number for number, name in enumerate(index.metrics.names) if name == _INFO]
    found = {}
    for sid in np.flatnonzero(np.isin(index.columns["metric"], named)).tolist():
        labels = parse_series_key(index.keys[sid])[1]
        number = labels.get("index", "")
        stated = _Stated(int(number) if number.isdecimal() else UNKNOWN_INDEX, labels.get("serial", ""))
        found[f"{labels['device']}/{labels['gpu']}"] = stated
    return found


def _mounts(index: SeriesIndex, hosts: set[str]) -> list[tuple[str, str]]:
    """File systems whose clients send series, by host."""
    storage = [number for number, name in enumerate(index.metrics.names) if name.startswith(_STORAGE)]
    found = set()
    for sid in np.flatnonzero(np.isin(index.columns["metric"], storage)).tolist():
        device = index.devices[index.columns["target"][sid]]
        labels = parse_series_key(index.keys[sid])[1] if device in hosts else {}
        if labels.get("side") == "client" and labels.get("fs"):
            found.add((device, labels["fs"]))
    return sorted(found)
