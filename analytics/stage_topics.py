"""The topics that one analytics worker reads and writes."""

from typing import NamedTuple

from telemetry import topics
from telemetry.topics import Topic


class StageTopics(NamedTuple):
    """The first three are read, the last is read and written, the others written."""

    samples: Topic = topics.SAMPLES
    topology: Topic = topics.TOPOLOGY
    changes: Topic = topics.CHANGES
    findings: Topic = topics.FINDINGS
    incidents: Topic = topics.INCIDENTS
    starvation: Topic = topics.STARVATION
    trends: Topic = topics.TRENDS
    events: Topic = topics.EVENTS
    ledger: Topic = topics.LEDGER
    deadletter: Topic = topics.DEADLETTER
    owners: Topic = topics.OWNERS

    @property
    def owned(self) -> tuple[Topic, ...]:
        """Those that one process at a time writes."""
        return (self.findings, self.incidents, self.starvation, self.trends, self.events, self.ledger)

    def in_namespace(self, namespace: str) -> "StageTopics":
        """Those of a replay, beside the live ones."""
        return StageTopics(*(topics.in_namespace(topic, namespace) for topic in self))
