"""The topics between the stages; the name carries the version of the record's schema."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """compacted: the newest record of a key stays for ever, and superseded ones for ``retention_s``; else all records
    expire after ``retention_s``."""

    name: str
    compacted: bool = False
    partitions: int = 1
    retention_s: int = 6 * 3600


SAMPLES = Topic("fabricscope.samples.v1", partitions=4)  # key = device
# As long as samples: a consumer that reads them again needs the topology of that time.
TOPOLOGY = Topic("fabricscope.topology.v1", compacted=True)
CHANGES = Topic("fabricscope.changes.v1", retention_s=7 * 24 * 3600)
FINDINGS = Topic("fabricscope.findings.v1", retention_s=7 * 24 * 3600)
INCIDENTS = Topic("fabricscope.incidents.v1", compacted=True, retention_s=60)
LEDGER = Topic("fabricscope.ledger.v1", compacted=True, retention_s=60)  # one StageReport per stage process
STARVATION = Topic("fabricscope.starvation.v1", compacted=True, retention_s=60)  # one HostLosses per host
TRENDS = Topic("fabricscope.trends.v1", compacted=True, retention_s=60)  # one DeviceTrends per device
EVENTS = Topic("fabricscope.events.v1", retention_s=7 * 24 * 3600)
OWNERS = Topic("fabricscope.owners.v1", compacted=True, retention_s=60)  # one Owner per role
DEADLETTER = Topic("fabricscope.deadletter.v1", retention_s=7 * 24 * 3600)

ALL = (SAMPLES, TOPOLOGY, CHANGES, FINDINGS, INCIDENTS, LEDGER, STARVATION, TRENDS, EVENTS, OWNERS, DEADLETTER)


def in_namespace(topic: Topic, namespace: str) -> Topic:
    """The same topic of a replay: ``fabricscope.incidents.v1`` becomes ``replay.<namespace>.incidents.v1``."""
    name = topic.name.replace("fabricscope.", f"replay.{namespace}.", 1)
    return Topic(name, topic.compacted, topic.partitions, topic.retention_s)
