"""What a collector subscribes to at a switch when its groups of series have intervals of their own."""

from collections.abc import Mapping
from typing import Any

from simulator.collection.groups import SeriesGroup
from simulator.layout import Flavour

_INTERFACE = "/interfaces/interface[name=*]"
_PFC = f"{_INTERFACE}/ethernet/pfc/priorities/priority[index=*]/state"
_SONIC: dict[str, dict[SeriesGroup, tuple[str, ...]]] = {
    "APPL_DB": {SeriesGroup.STATES: ("PORT_TABLE",)},
    "COUNTERS_DB": {
        SeriesGroup.PORTS: ("COUNTERS/Ethernet*", "RATES/Ethernet*"),
        # Of queues, which have their watermarks in the same table
        SeriesGroup.QUEUES: ("COUNTERS/Ethernet*/Queues",),
        SeriesGroup.WATERMARKS: ("PERIODIC_WATERMARKS/Ethernet*/PriorityGroups",),
    },
    "STATE_DB": {SeriesGroup.STATES: ("NEIGH_STATE_TABLE",), SeriesGroup.OPTICS: ("TRANSCEIVER_DOM_SENSOR",)},
}
_OPENCONFIG: dict[SeriesGroup, tuple[str, ...]] = {
    SeriesGroup.STATES: (
        f"{_INTERFACE}/state/oper-status",
        f"{_INTERFACE}/ethernet/state/port-speed",
        "/network-instances/network-instance[name=*]/protocols/protocol[identifier=BGP][name=*]/bgp/neighbors"
        "/neighbor[neighbor-address=*]/state/session-state",
    ),
    SeriesGroup.PORTS: (
        f"{_INTERFACE}/state/counters",
        f"{_INTERFACE}/ethernet/state/counters",
        f"{_INTERFACE}/ethernet/state/pre-fec-ber",
        f"{_INTERFACE}/ethernet/state/post-fec-ber",
        *(f"{_PFC}/{leaf}" for leaf in ("in-frames", "out-frames", "rx-transitions", "pfc-on-total-rx-time")),
    ),
    SeriesGroup.QUEUES: ("/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state",),
    SeriesGroup.WATERMARKS: (f"{_PFC}/all-buffers-octets-max-last-poll",),
    SeriesGroup.OPTICS: ("/components/component[name=*]/transceiver",),
}
_LLDP = {
    Flavour.SONIC: "LLDP_ENTRY_TABLE",
    Flavour.OPENCONFIG: "/lldp/interfaces/interface[name=*]/neighbors/neighbor[id=*]/state",
}


def subscriptions(flavour: Flavour, every_s: Mapping[SeriesGroup, float], *, lldp: bool) -> list[dict[str, Any]]:
    """``subscriptions`` of a job of ``gnmi_configs``.

    every_s: real seconds between two samples of each group. lldp: whether switches are asked for their neighbours.
    """
    neighbours = [{"path": _LLDP[flavour], "mode": "on_change"}] if lldp else []
    if flavour is Flavour.OPENCONFIG:
        return [{"paths": [*_paths(_OPENCONFIG, every_s), *neighbours]}]
    found: list[dict[str, Any]] = []
    for database, groups in _SONIC.items():
        named = database == "APPL_DB"  # it has the names of ports, without which nothing else can be read
        paths = [*_paths(groups, every_s), *(neighbours if named else [])]
        found.append({"target": database, "encoding": "json_ietf", "names": named, "paths": paths})
    return found


def _paths(
    groups: Mapping[SeriesGroup, tuple[str, ...]], every_s: Mapping[SeriesGroup, float]
) -> list[dict[str, str | float]]:
    return [{"path": path, "interval_s": every_s[group]} for group, paths in groups.items() for path in paths]
