"""An event of one series, as it begins."""

import hashlib
from dataclasses import replace

from analytics.events.sources import Source
from analytics.state.series_index import SeriesIndex
from telemetry.events import Event, EventKind, EventState
from telemetry.objects import ObjectKind
from telemetry.series import parse_series_key
from telemetry.topology import UNKNOWN_INDEX, Gpu, Topology

_OF_A_PROCESS = (("process", "process"), ("gpus", "GPU"), ("job_id", "job"))


def opened(index: SeriesIndex, source: Source, sid: int, began_ns: tuple[int, int], raw: float = 0.0) -> Event:
    """began_ns: after and by. raw: the value that shows it, which is the code where that changed."""
    about = index.object_ref(int(index.columns["object"][sid]))
    labels = parse_series_key(index.keys[sid])[1]
    detail = labels.get("xid") or labels.get("peer", "")
    if source.kind is EventKind.XID:
        detail = f"XID {detail or round(raw)}"
    elif source.kind is EventKind.SXID:
        detail = _sxid(labels, raw)
    elif source.kind is EventKind.NCCL_PROCESS:
        detail = _process(labels)
    elif source.kind is EventKind.BMC_LOG:
        detail = _log_entry(labels)
    target, after_ns, by_ns = index.targets.names[index.columns["target"][sid]], *began_ns
    return Event(
        _id(source.kind, by_ns, f"{target} {index.keys[sid]}"),
        *(source.kind, EventState.OPEN, about, source.metric),
        target=target,
        observed_ns=by_ns,
        began_after_ns=after_ns,
        began_by_ns=by_ns,
        unit=source.unit,
        priority=labels.get("priority", ""),
        queue=labels.get("queue", ""),
        direction=labels.get("direction", ""),
        detail=detail,
        where=about.name,
    )


def _sxid(labels: dict[str, str], raw: float) -> str:
    """As ``SXid 12028 on nvswitch3 link 32, non-fatal``; raw: the code where no label says it."""
    at = [labels.get("nvswitch", ""), f"link {labels['link']}" if "link" in labels else ""]
    place = " ".join(word for word in at if word)
    text = f"SXid {labels.get('sxid') or round(raw)}{' on ' if place else ''}{place}"
    return f"{text}, {labels['severity'].replace('_', '-')}" if "severity" in labels else text


def _process(labels: dict[str, str]) -> str:
    """As ``dead: process 1524345, GPU 1, job 4711``."""
    known = [f"{word} {labels[name]}" for name, word in _OF_A_PROCESS if name in labels]
    return ": ".join(filter(None, (labels.get("event", ""), ", ".join(known))))


def _log_entry(labels: dict[str, str]) -> str:
    """As ``critical: Temperature 1, Upper Critical - going high: Too hot (0x592A28), Chassis/1U/Thermal``."""
    sensor = ", ".join(labels[name] for name in ("sensor", "event") if name in labels)
    message = labels.get("message", "")
    if "message_id" in labels:
        message = f"{message} ({labels['message_id']})" if message else labels["message_id"]
    text = ": ".join(filter(None, (labels.get("severity", ""), sensor, message)))
    return f"{text}, {labels['part']}" if "part" in labels else text


def summed(index: SeriesIndex, source: Source, sid: int, times_ns: tuple[int, int]) -> Event:
    """What was brief between two times."""
    event, (since_ns, until_ns) = opened(index, source, sid, times_ns), times_ns
    kind = EventKind.PFC_BRIEF_PAUSES if source.kind is EventKind.PFC_PAUSE else source.kind
    return replace(
        event,
        id=_id(kind, until_ns, f"{event.target}/brief {index.keys[sid]}"),
        kind=kind,
        state=EventState.ENDED,
        ended_after_ns=since_ns,
        ended_by_ns=until_ns,
    )


def named(event: Event, topology: Topology) -> Event:
    """With the name that people give a GPU, as far as the topology knows it."""
    if event.object.kind is not ObjectKind.GPU:
        return event
    host, _, uuid = event.object.name.partition("/")
    gpu = Gpu(host, uuid, UNKNOWN_INDEX)
    fact = topology.facts.get(gpu.key)
    return replace(event, where=fact.entity.label if fact and isinstance(fact.entity, Gpu) else gpu.label)


def _id(kind: EventKind, by_ns: int, of: str) -> str:
    return f"{kind}/{by_ns}/{hashlib.blake2b(of.encode(), digest_size=8).hexdigest()}"
