"""What a receiver hears of a metric: its type, help and unit. Both versions number types alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from export.remote_write.wire import field
from telemetry.catalogue import Kind, metrics

COUNTER, GAUGE, INFO = 1, 2, 6
# a state is one number of a few, which is a gauge; a peak may come down
_TYPES = {Kind.COUNTER: COUNTER, Kind.GAUGE: GAUGE, Kind.STATE: GAUGE, Kind.PEAK: GAUGE, Kind.INFO: INFO}


@dataclass(frozen=True, slots=True)
class Metadata:
    """type: 0 for one that is not known. unit: '' without one."""

    type: int = 0
    help: str = ""
    unit: str = ""


_OURS = {
    "up": Metadata(GAUGE, "Whether the target answered its last collection."),
    "scrape_duration_seconds": Metadata(GAUGE, "How long the last collection of the target took.", "seconds"),
    "fabricscope_finding_active": Metadata(GAUGE, "1 while a finding is active."),
    "fabricscope_incident": Metadata(GAUGE, "1 while an incident is open."),
    "fabricscope_incident_gpu_seconds_total": Metadata(COUNTER, "The highest cost stated of an incident.", "seconds"),
    "fabricscope_job_node": Metadata(GAUGE, "1 for each node of a job that runs."),
    "fabricscope_node_intent": Metadata(GAUGE, "1 while the scheduler keeps a node from jobs."),
    "fabricscope_change": Metadata(GAUGE, "1 while a change lasts."),
}
_UNKNOWN = Metadata()


@cache
def metadata_of(metric: str) -> Metadata:
    """Of a metric of the catalogue or of ours; of another one nothing is known."""
    known = metrics().get(metric)
    if known is None:
        return _OURS.get(metric, _UNKNOWN)
    return Metadata(_TYPES[known.kind], known.help, known.unit)


def encode_metadata(names: Iterable[str]) -> bytes:
    """The field ``metadata`` of a WriteRequest of 1.0: MetricMetadata{1: type, 2: name, 4: help, 5: unit}.

    The name is that of the metric family: the type is asked for by the name in a query, so ``_total`` stays.
    """
    known = ((name, metadata_of(name)) for name in names)
    return b"".join(
        field(
            3,
            bytes((0x08, each.type))
            + field(2, name.encode())
            + field(4, each.help.encode())
            + field(5, each.unit.encode()),
        )
        for name, each in known
        if each.type
    )
