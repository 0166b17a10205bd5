"""Whether a record can be read, by the topic that it is for."""

from collections.abc import Mapping

from common.errors import BadInput
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import RecordValue, decode_record
from telemetry.events import Event
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.ledger import StageReport
from telemetry.starvation import HostLosses
from telemetry.topics import Topic
from telemetry.topology import TopologyFact
from telemetry.trends import DeviceTrends

_VALUES: dict[Topic, type[RecordValue]] = {
    topics.TOPOLOGY: TopologyFact,
    topics.CHANGES: Change,
    topics.FINDINGS: Finding,
    topics.INCIDENTS: Incident,
    topics.LEDGER: StageReport,
    topics.STARVATION: HostLosses,
    topics.TRENDS: DeviceTrends,
    topics.EVENTS: Event,
}


def check_record(topic: Topic, value: bytes | None, headers: Mapping[str, bytes]) -> None:
    """BadInput when nobody who reads ``topic`` could decode it."""
    if topic == topics.SAMPLES:
        BatchDecoder().decode(value or b"", dict(headers))
    elif topic not in _VALUES:
        raise BadInput(f"{topic.name}: no records of this topic are decoded", "topic")
    elif value is not None:
        decode_record(value, _VALUES[topic])  # type: ignore[type-var]  # one of the types, all of which it takes
    elif not topic.compacted:
        raise BadInput(f"{topic.name}: a record without a value, on a topic that is not compacted", "schema")
