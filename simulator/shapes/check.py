"""What a shape cannot be."""

from typing import Protocol

from simulator.shapes.shape import SWITCH_PORTS_MAX, Shape


class Numbers(Protocol):
    """What is checked of a ``SimulatorConfig``."""

    @property
    def hosts(self) -> int: ...
    @property
    def uplink_gbps(self) -> float: ...
    @property
    def oversubscription(self) -> float: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def pod_hosts(self) -> int: ...
    @property
    def leaf_rails(self) -> int: ...
    @property
    def leaves_per_pod(self) -> int: ...
    @property
    def spine_count(self) -> int: ...
    @property
    def server_count(self) -> int: ...


def check_shape(config: Numbers) -> None:
    """ValueError, beginning with the key, for numbers that contradict the shape or need switches that nobody sells."""
    if config.shape is Shape.RAIL_ONLY:
        for key in ("hosts_per_pod", "rails_per_leaf", "spines", "uplink_gbps"):
            if getattr(config, key):
                raise ValueError(f"{key}: expected 0: a rail-only cluster has one switch a rail and nothing above")
        if config.oversubscription != 1.0:
            raise ValueError("oversubscription: expected 1: a rail-only cluster has no uplinks")
    elif config.oversubscription != 1.0 and config.uplink_gbps and config.shape is not Shape.THREE_TIER:
        raise ValueError("oversubscription: expected 1 where uplink_gbps is given: it follows from it")
    for key, what, ports in _largest(config):
        if ports > SWITCH_PORTS_MAX:
            raise ValueError(
                f"{key}: expected fewer: {what} would need {ports} ports, and none has more than {SWITCH_PORTS_MAX}"
            )


def _largest(config: Numbers) -> list[tuple[str, str, int]]:
    """Ports of the largest switch of each kind, and the key that makes them many."""
    pods = -(-config.hosts // config.pod_hosts)
    if config.shape is Shape.RAIL_ONLY:
        return [("hosts", "the switch of a rail", config.hosts + config.server_count)]
    above = [("hosts", "a spine", pods * config.leaves_per_pod + 2)]
    if config.shape is Shape.THREE_TIER:
        above = [("hosts", "a core", pods + 1)]
    return [
        ("hosts_per_pod", "a leaf", min(config.hosts, config.pod_hosts) * config.leaf_rails + config.spine_count),
        ("storage_servers", "a leaf of the storage", config.server_count + config.spine_count),
        *above,
    ]
