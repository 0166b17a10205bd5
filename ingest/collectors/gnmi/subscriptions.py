"""The default subscriptions of each source, and the requests for them."""

from collections.abc import Sequence
from functools import lru_cache

from common.units import to_ns
from ingest.collectors.gnmi.config import Config, Encoding, Mode, PathConfig, Source, SubscriptionConfig
from ingest.collectors.gnmi.paths.elements import parse_path
from telemetry.catalogue import origins_of
from telemetry.gnmi import gnmi_pb2

_SLOW_S = 60.0  # optics, temperatures: the platforms refresh them once a minute

_MODES = {
    Mode.SAMPLE: gnmi_pb2.SAMPLE,
    Mode.ON_CHANGE: gnmi_pb2.ON_CHANGE,
    Mode.TARGET_DEFINED: gnmi_pb2.TARGET_DEFINED,
}
_ENCODINGS = {
    Encoding.PROTO: gnmi_pb2.PROTO,
    Encoding.JSON_IETF: gnmi_pb2.JSON_IETF,
    Encoding.JSON: gnmi_pb2.JSON,
}


def _paths(*texts: str, slow: Sequence[str] = (), on_change: Sequence[str] = ()) -> tuple[PathConfig, ...]:
    return (
        *(PathConfig(path=text) for text in texts),
        *(PathConfig(path=text, interval_s=_SLOW_S) for text in slow),
        *(PathConfig(path=text, mode=Mode.ON_CHANGE) for text in on_change),
    )


def _sonic(database: str, paths: tuple[PathConfig, ...], *, names: bool = False) -> SubscriptionConfig:
    return SubscriptionConfig(paths=paths, target=database, encoding=Encoding.JSON_IETF, names=names)


_OPENCONFIG_BGP = (
    "/network-instances/network-instance[name=*]/protocols/protocol[identifier=BGP][name=*]/bgp/neighbors"
    "/neighbor[neighbor-address=*]/state"
)
_OPENCONFIG = (
    "/interfaces/interface[name=*]/state",
    "/interfaces/interface[name=*]/ethernet/state",
    "/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state",
    f"{_OPENCONFIG_BGP}/session-state",
    f"{_OPENCONFIG_BGP}/established-transitions",
)
_OPENCONFIG_SLOW = (
    "/components/component[name=*]/transceiver",
    "/components/component[name=*]/state/temperature",
    "/components/component[name=*]/power-supply/state",
    "/components/component[name=*]/fan/state",
)
_OPENCONFIG_LLDP = ("/lldp/interfaces/interface[name=*]/neighbors/neighbor[id=*]/state",)
_SONIC_FURTHER = (
    "TRANSCEIVER_STATUS",
    "TRANSCEIVER_STATUS_SW",
    "TRANSCEIVER_STATUS_FLAG",
    "TRANSCEIVER_STATUS_FLAG_CHANGE_COUNT",
    "TRANSCEIVER_PM",
    "VOLTAGE_INFO",
    "CURRENT_INFO",
    "LIQUID_COOLING_INFO",
    "CHASSIS_MODULE_TABLE",
    "PCIE_DEVICE",
    "QUEUE_COUNTER_CAPABILITIES",
    "PORT_COUNTER_CAPABILITIES",
)
_ARISTA = (
    "/interfaces/interface[name=*]/ethernet/pfc/priorities/priority[index=*]/state",
    "/interfaces/interface[name=*]/ethernet/pfc/watchdog/tx-queues",
)
_CISCO_QUEUES = "/System/ipqos-items/queuing-items/policy-items/out-items"

DEFAULTS: dict[Source, tuple[SubscriptionConfig, ...]] = {
    Source.SONIC: (
        _sonic("APPL_DB", _paths("PORT_TABLE", on_change=("LLDP_ENTRY_TABLE",)), names=True),
        _sonic(
            "COUNTERS_DB",
            _paths(
                "COUNTERS/Ethernet*",
                "COUNTERS/Ethernet*/Queues",
                "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups",
                "RATES/Ethernet*",
            ),
        ),
        _sonic(
            "STATE_DB",
            _paths(
                "NEIGH_STATE_TABLE",
                slow=("TRANSCEIVER_DOM_SENSOR", "TRANSCEIVER_INFO", "TEMPERATURE_INFO", "PSU_INFO", "FAN_INFO"),
            ),
        ),
        # Tables that not every release and platform has: older ones refuse a call that names an absent table.
        _sonic("STATE_DB", _paths(slow=_SONIC_FURTHER)),
    ),
    Source.OPENCONFIG: (
        SubscriptionConfig(paths=_paths(*_OPENCONFIG, slow=_OPENCONFIG_SLOW, on_change=_OPENCONFIG_LLDP)),
    ),
    Source.ARISTA: (
        SubscriptionConfig(paths=_paths(*_OPENCONFIG, *_ARISTA, slow=_OPENCONFIG_SLOW, on_change=_OPENCONFIG_LLDP)),
    ),
    Source.JUNOS: (
        SubscriptionConfig(
            paths=_paths(
                *_OPENCONFIG[:2],
                "/junos/system/linecard/qmon-sw",
                slow=(*_OPENCONFIG_SLOW, "/junos/system/linecard/optics"),
                on_change=_OPENCONFIG_LLDP,
            )
        ),
    ),
    Source.CISCO: (
        SubscriptionConfig(paths=_paths(*_OPENCONFIG, slow=_OPENCONFIG_SLOW, on_change=_OPENCONFIG_LLDP)),
        # NX-OS takes paths of one model in a call, and sends its own as JSON.
        SubscriptionConfig(paths=_paths(_CISCO_QUEUES), encoding=Encoding.JSON),
    ),
}


def subscriptions_of(config: Config) -> tuple[SubscriptionConfig, ...]:
    """The job's own, or its source's default set; those that send port names come first.

    A path without an interval of its own has the job's, but none shorter than the source takes to read again all that
    the path covers, where the catalogue knows that: what comes more often is the same value again.
    """
    found = config.subscriptions or DEFAULTS[config.source]
    kept = [_not_too_often(subscription, config) for subscription in found]
    return tuple(sorted(kept, key=lambda subscription: not subscription.names))


def _not_too_often(subscription: SubscriptionConfig, config: Config) -> SubscriptionConfig:
    paths = tuple(
        path.model_copy(update={"interval_s": refresh})
        if path.mode is Mode.SAMPLE
        and path.interval_s is None
        and (refresh := refresh_s(config.source, path.path)) > config.interval_s
        else path
        for path in subscription.paths
    )
    return subscription.model_copy(update={"paths": paths})


@lru_cache(maxsize=1024)
def refresh_s(source: Source, path: str) -> float:
    """How often at most a source has something new below a path; 0 where the catalogue does not know it of all of it.

    ConfigError for a malformed path.
    """
    steps = [elem.name for elem in parse_path(path).elem]
    below = [
        metric.refresh_s
        for name in {source, Source.OPENCONFIG}
        for metric, origin in origins_of(name)
        if _covers(steps, [elem.name for elem in parse_path(origin.name).elem])
    ]
    return min(below, default=0.0)


def _covers(steps: Sequence[str], name: Sequence[str]) -> bool:
    """Whether a name of the catalogue is at or below a path; steps of SONiC hold wildcards, and names labels."""
    same = (one == other or "*" in one or "{" in other for one, other in zip(steps, name, strict=False))
    return len(steps) <= len(name) and all(same)


def request_of(subscription: SubscriptionConfig, interval_s: float) -> gnmi_pb2.SubscribeRequest:
    """The STREAM request. ConfigError for a malformed path."""
    request = gnmi_pb2.SubscribeRequest()
    wanted = request.subscribe
    wanted.mode = gnmi_pb2.SubscriptionList.STREAM
    wanted.encoding = _ENCODINGS[subscription.encoding]
    wanted.prefix.SetInParent()
    wanted.prefix.target = subscription.target
    wanted.prefix.origin = subscription.origin
    for path in subscription.paths:
        entry = wanted.subscription.add(path=parse_path(path.path), mode=_MODES[path.mode])
        if path.mode is Mode.SAMPLE:
            entry.sample_interval = to_ns(path.interval_s or interval_s)
        if path.heartbeat_s is not None:
            entry.heartbeat_interval = to_ns(path.heartbeat_s)
    return request


def silence_s(subscription: SubscriptionConfig, interval_s: float, intervals: float) -> float | None:
    """How long a live device may send nothing; None for any time (on_change without heartbeat)."""
    periods = [
        path.heartbeat_s if path.mode is not Mode.SAMPLE else path.interval_s or interval_s
        for path in subscription.paths
        if path.mode is Mode.SAMPLE or path.heartbeat_s
    ]
    shortest = min((seconds for seconds in periods if seconds), default=None)
    return None if shortest is None else shortest * intervals
