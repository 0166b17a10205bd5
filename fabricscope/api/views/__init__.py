"""What the API answers, as types: made of records at the edge, described by OpenAPI, read by ``fabricscope.client``."""

from fabricscope.api.views.changes import Change
from fabricscope.api.views.cluster import (
    DataQuality,
    Entity,
    Job,
    JobAccount,
    NodeState,
    Refusal,
    SampleCounts,
    StageReport,
    Target,
    TargetAccount,
    TargetLoad,
    Unrecorded,
)
from fabricscope.api.views.events import Event
from fabricscope.api.views.findings import Finding
from fabricscope.api.views.incidents import (
    Blast,
    EvidencePlot,
    Incident,
    Member,
    MemberKind,
    Members,
    ObjectRecord,
    RecordEvent,
    TimelineEntry,
)
from fabricscope.api.views.replays import Replay, ReplayState

__all__ = [
    "Blast",
    "Change",
    "DataQuality",
    "Entity",
    "Event",
    "EvidencePlot",
    "Finding",
    "Incident",
    "Job",
    "JobAccount",
    "Member",
    "MemberKind",
    "Members",
    "NodeState",
    "ObjectRecord",
    "RecordEvent",
    "Refusal",
    "Replay",
    "ReplayState",
    "SampleCounts",
    "StageReport",
    "Target",
    "TargetAccount",
    "TargetLoad",
    "TimelineEntry",
    "Unrecorded",
]
