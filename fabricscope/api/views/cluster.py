"""Targets, topology, and what the stages say of themselves, as the API answers it."""

from typing import Literal

from pydantic import Field

from fabricscope.api.instants import Instant, MaybeInstant
from fabricscope.api.views.incidents import PORT
from fabricscope.api.views.view import View
from telemetry import topology
from telemetry.objects import ObjectRef
from telemetry.refusals import RefusalReason
from telemetry.topology import Intent

_STAGE, _INSTANCE = Field(examples=["analytics"]), Field(examples=["analytics-0"])


class Target(View):
    """The newest collection of one target. reason: why it is down. interval_s: since the collection before it.

    series: of the catalogue. unmapped: others that the target has and that nothing maps. left_out: others that the
    catalogue leaves out on purpose.
    """

    target: str = Field(examples=["dcgm/node1:9400"])
    device: str = Field(examples=["node1"])
    up: bool = Field(examples=[True])
    reason: str | None = Field(examples=[None])
    collected: Instant
    duration_s: float = Field(examples=[0.04])
    series: int = Field(examples=[620])
    interval_s: float = Field(examples=[10.0])
    unmapped: int = Field(examples=[12])
    left_out: int = Field(examples=[40])


class TargetLoad(View):
    """series: of the newest collection. series_refused: what ingest drops now, as they are too many new ones."""

    target: str = Field(examples=["dcgm/node1:9400"])
    device: str = Field(examples=["node1"])
    series: int = Field(examples=[620])
    series_refused: int = Field(examples=[0])


class Job(View):
    """A running job. gpu_indices: used on every node; [] means all. started: null where unknown."""

    job_id: str = Field(examples=["4711"])
    nodes: tuple[str, ...] = Field(examples=[["node1"]])
    name: str = Field(examples=["train"])
    user: str = Field(examples=["carol"])
    partition: str = Field(examples=["gpu"])
    gpu_indices: tuple[int, ...] = Field(examples=[[]])
    started: MaybeInstant
    kind: Literal["job"]


class NodeState(View):
    """What the scheduler says of a node. intent: '' where it takes jobs, or is down without anybody's doing.

    states: the scheduler's own words. reason: in the words of whoever set it, ``author``. since: null where unknown.
    """

    device: str = Field(examples=["node1"])
    states: str = Field(examples=["IDLE+DRAIN"])
    intent: Intent | Literal[""]
    reason: str = Field(examples=["new PSUs"])
    author: str = Field(examples=["carol"])
    since: MaybeInstant
    kind: Literal["node_state"]


Entity = (
    topology.Device
    | topology.Link
    | topology.Transceiver
    | topology.Gpu
    | topology.StorageTarget
    | topology.Mount
    | topology.TargetList
    | Job
    | NodeState
)
"""Those without times are as they are on the bus."""


def entity_of(known: topology.Entity) -> Entity:
    if isinstance(known, topology.Job):
        return Job.model_validate(known)
    return NodeState.model_validate(known) if isinstance(known, topology.NodeState) else known


class Refusal(View):
    """What topology or a change says that cannot be. source: who says so, where it is known. at: event time of that."""

    reason: RefusalReason
    objects: tuple[ObjectRef, ...] = Field(examples=[[PORT]])
    text: str = Field(examples=["leaf1/e1--leaf1/e2 leads from leaf1 to itself"])
    source: str = Field(examples=["lldp/leaf1"])
    at: Instant


class Unrecorded(View):
    """What nobody has recorded of the cluster. lost: what is not found, later or without a name for want of it. needs:
    what would record it."""

    what: str = Field(examples=["racks"])
    lost: str = Field(examples=["what loses power or gets warm together is an incident of its hosts"])
    needs: str = Field(examples=["an inventory with racks"])


class StageReport(View):
    """What one process of a stage counted since ``epoch``, as of ``at``.

    balance: samples_in - samples_out - deduplicated - held - sum(dropped): 0 when every sample is accounted for.
    dropped: by reason. details: other figures, by name. problem: what is wrong, in words, '' for nothing.
    """

    stage: str = _STAGE
    instance: str = _INSTANCE
    epoch: Instant
    at: Instant
    samples_in: int = Field(examples=[100])
    samples_out: int = Field(examples=[97])
    deduplicated: int = Field(examples=[0])
    held: int = Field(examples=[0])
    dropped: dict[str, int] = Field(examples=[{"late": 3}])
    balance: int = Field(examples=[0])
    details: dict[str, float] = Field(examples=[{"lag_records": 4.0}])
    problem: str = Field(examples=[""])


class SampleCounts(View):
    """balance: received - delivered - held - sum(dropped): 0 when every sample is accounted for.

    delivered: durable on the bus. held: on their way there. dropped: by reason. series, unmapped, left_out: how much is
    read of what the newest collections hold, as of a target.
    """

    received: int = Field(examples=[6200])
    delivered: int = Field(examples=[5578])
    held: int = Field(examples=[620])
    dropped: dict[str, int] = Field(examples=[{"no_value": 2}])
    balance: int = Field(examples=[0])
    series: int = Field(examples=[620])
    unmapped: int = Field(examples=[12])
    left_out: int = Field(examples=[40])


class TargetAccount(SampleCounts):
    """The samples of one target since ``since``, when its ingest process began, up to its newest collection, ``at``."""

    target: str = Field(examples=["dcgm/node1:9400"])
    device: str = Field(examples=["node1"])
    since: Instant
    at: Instant


class JobAccount(SampleCounts):
    """The sums of the ``targets`` of one job of the settings, by the first part of their names."""

    job: str = Field(examples=["dcgm"])
    targets: int = Field(examples=[64])


class DataQuality(View):
    """How many series of one analytics process are fresh, stale, frozen, reset, unsupported, or zero by a fault."""

    instance: str = _INSTANCE
    at: Instant
    series: dict[str, int] = Field(examples=[{"fresh": 620, "stale": 2}])
