"""The records of the cluster, which people keep: incomplete, old, and in places of another cluster than this one."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard, TypeVar

import numpy as np

from common.units import NS_PER_S
from simulator.collection.config import Inventory
from telemetry.topology import Device, Entity, Gpu, Link, Role, TopologyFact

T = TypeVar("T")


def recorded(facts: Iterable[TopologyFact], config: Inventory, rng: np.random.Generator) -> list[TopologyFact]:
    """The facts that the inventory gives, when these are true. With the defaults: these.

    Counts are exact, and at least one where a share is not 0; which ones is drawn.
    """
    facts = list(facts)
    if not config.known:
        return []
    if config == Inventory():
        return facts
    links = [at for at, fact in enumerate(facts) if isinstance(fact.entity, Link)]
    devices = [at for at, fact in enumerate(facts) if isinstance(fact.entity, Device)]
    gpus = [at for at, fact in enumerate(facts) if isinstance(fact.entity, Gpu)]
    hosts = {fact.entity.name: at for at, fact in enumerate(facts) if _is_host(fact.entity)}
    _exchange_cables(facts, links, set(hosts), config.links_elsewhere, rng)
    _exchange_racks(facts, list(hosts.values()), config.racks_exchanged, rng)
    for at in _some(devices, config.racks_missing, rng):
        facts[at] = _with(facts[at], rack="")
    replaced = set(_some(list(hosts), config.hosts_replaced, rng))
    for at in gpus:
        entity = facts[at].entity
        if isinstance(entity, Gpu) and entity.device in replaced:
            facts[at] = _with(facts[at], uuid=_uuid_before(entity.uuid))
    missing = {*_some(links, config.links_missing, rng), *_some(gpus, config.gpus_missing, rng)}
    older_ns = int(config.age_s * NS_PER_S)
    return [
        replace(fact, observed_ns=max(0, fact.observed_ns - older_ns))
        for at, fact in enumerate(facts)
        if at not in missing
    ]


def _is_host(entity: Entity) -> TypeGuard[Device]:
    return isinstance(entity, Device) and entity.role is Role.HOST


def _exchange_cables(
    facts: list[TopologyFact], links: list[int], hosts: set[str], share: float, rng: np.random.Generator
) -> None:
    """Each of the chosen host links is recorded at the NIC of the next one."""
    of_hosts = [at for at in links if _host_end(facts[at], hosts)]
    chosen = _some(of_hosts, share, rng, at_least=2)
    before = [facts[at].entity for at in chosen]
    for at, other in zip(chosen, [*before[1:], *before[:1]], strict=True):
        entity = facts[at].entity
        if isinstance(entity, Link) and isinstance(other, Link):
            facts[at] = replace(facts[at], entity=_plugged(entity, other, hosts))


def _plugged(link: Link, other: Link, hosts: set[str]) -> Link:
    """The switch end of ``link`` with the host end of ``other``."""
    switch = next(end for end in _ends(link) if end[0] not in hosts)
    host = next(end for end in _ends(other) if end[0] in hosts)
    ends = sorted([switch, host], key="/".join)
    return Link(*ends[0], *ends[1], bits_per_second=link.bits_per_second)


def _ends(link: Link) -> tuple[tuple[str, str], tuple[str, str]]:
    return (link.a_device, link.a_port), (link.b_device, link.b_port)


def _host_end(fact: TopologyFact, hosts: set[str]) -> bool:
    return isinstance(fact.entity, Link) and sum(device in hosts for device, _ in _ends(fact.entity)) == 1


def _exchange_racks(facts: list[TopologyFact], hosts: list[int], share: float, rng: np.random.Generator) -> None:
    """Each of the chosen hosts is recorded in the rack of another one."""
    if not share or len(hosts) < 2:
        return
    size = max(2, round(share * len(hosts)))
    turns: Counter[str] = Counter()
    drawn: list[tuple[int, int, str]] = []  # (turn in its rack, position, rack)
    for at in _some(hosts, 1.0, rng):
        rack = _rack(facts[at])
        turns[rack] += 1
        drawn.append((turns[rack], at, rack))
    # The racks take turns, so that two hosts are of two racks. Each host gets the rack of the one that is half of them
    # further in the order of racks: another one, unless most of them are in one rack
    chosen = sorted(sorted(drawn, key=lambda host: host[0])[:size], key=lambda host: host[2])
    for k, (_, at, _) in enumerate(chosen):
        facts[at] = _with(facts[at], rack=chosen[(k + (size + 1) // 2) % size][2])


def _some(of: Sequence[T], share: float, rng: np.random.Generator, at_least: int = 1) -> list[T]:
    """``share`` of them in random order; when that is not nothing, at least so many."""
    if not share or len(of) < at_least:
        return []
    size = min(len(of), max(at_least, round(share * len(of))))
    return [of[int(position)] for position in rng.permutation(len(of))[:size]]


def _rack(fact: TopologyFact) -> str:
    assert isinstance(fact.entity, Device)
    return fact.entity.rack


def _with(fact: TopologyFact, **fields: str) -> TopologyFact:
    return replace(fact, entity=replace(fact.entity, **fields))  # type: ignore[arg-type]  # the caller knows its entity


def _uuid_before(uuid: str) -> str:
    """UUID of the GPU that was there before: of the same form."""
    d = hashlib.blake2b(uuid.encode(), digest_size=16).hexdigest()
    return f"GPU-{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}"
