"""The cluster at a glance: jobs and their pace, GPU time today, traffic by tier, and targets that do not answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fabricscope.api.instants import Instant, rfc3339
from fabricscope.api.read_model import ReadModel, TargetStatus
from fabricscope.api.replays import Replay
from fabricscope.api.views.replays import ReplayState
from fabricscope.api.wall.pace import Pace, gpus_of
from fabricscope.api.wall.plan import Fabric
from fabricscope.api.wall.traffic import Load, Traffic
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.topology import Job, Link

JOBS_SHOWN, SILENT_SHOWN = 12, 12
SLOW_BELOW = 0.92  # of the usual pace: as for a job that is a little low, docs/detection.md, Jobs
_WAITING = {
    FindingKind.JOB_STALLED: "stalled",
    FindingKind.JOB_SLOWED: "slowed",
    FindingKind.JOB_IDLE: "idle",
}


class JobState(StrEnum):
    """stalled, slowed, idle: a detector says so. slow: below its usual pace, and no detector says so yet. learning:
    its usual pace is not known yet. unknown: too few of its GPUs report."""

    STALLED = "stalled"
    SLOWED = "slowed"
    IDLE = "idle"
    SLOW = "slow"
    UNKNOWN = "unknown"
    LEARNING = "learning"
    NORMAL = "normal"


@dataclass(frozen=True, slots=True)
class JobPace:
    """One running job. work, usual: mean activity of its GPUs' tensor cores (or SMs) now, and usually; null: not known.

    A step takes ``usual / work`` times as long as usual.
    """

    job_id: str
    name: str
    user: str
    nodes: int
    gpus: int
    started: Instant | None
    state: JobState
    work: float | None
    usual: float | None


@dataclass(frozen=True, slots=True)
class GpuHours:
    """Of running jobs since ``since``: midnight UTC, or later where nothing is known of before. lost: by cause."""

    since: Instant
    watched: float
    lost: dict[str, float]


@dataclass(frozen=True, slots=True)
class TierTraffic:
    """Links between two tiers. used of rated: bits a second in both directions, of the links that are ``measured``."""

    tier: str
    links: int
    measured: int
    used_bits_per_second: float
    rated_bits_per_second: float


@dataclass(frozen=True, slots=True)
class SilentTarget:
    """since: its last answer, or the first failure where it has never answered since the API began to listen."""

    target: str
    device: str
    reason: str | None
    since: Instant


@dataclass(frozen=True, slots=True)
class EndedReplay:
    """A replay whose incidents can be looked at. ended: by the wall clock."""

    id: str
    recording: str
    ended: Instant


@dataclass(frozen=True, slots=True)
class Overview:
    """As of ``at``, the event time of the newest sample; null before the first one.

    jobs: at most 12, worst first; jobs_running: all. silent: at most 12, silent for longest first; silent_targets: all.
    replays: those that are done, newest first.
    """

    at: Instant | None
    jobs_running: int
    jobs: list[JobPace]
    gpu_hours: GpuHours
    traffic: list[TierTraffic]
    silent_targets: int
    silent: list[SilentTarget]
    replays: list[EndedReplay]


def overview(model: ReadModel, silent: Sequence[TargetStatus], replays: Sequence[Replay] = ()) -> Overview:
    """silent: the targets that do not answer."""
    jobs = sorted(_paces(model), key=_worst_first)
    time = model.gpu_time.today(model.newest_ns)
    lost = {cause: seconds / 3600 for cause, seconds in time.lost_s.items()}
    since = {status.target: model.silent_since_ns.get(status.target, status.collected_ns) for status in silent}
    longest = sorted(silent, key=lambda status: (since[status.target], status.target))[:SILENT_SHOWN]
    return Overview(
        at=rfc3339(model.newest_ns) if model.newest_ns else None,
        jobs_running=len(jobs),
        jobs=jobs[:JOBS_SHOWN],
        gpu_hours=GpuHours(rfc3339(time.since_ns), time.watched_s / 3600, lost),
        traffic=_traffic(model.fabric(), model.traffic()),
        silent_targets=len(silent),
        silent=[SilentTarget(one.target, one.device, one.reason, rfc3339(since[one.target])) for one in longest],
        replays=[
            EndedReplay(one.id, one.recording, rfc3339(one.ended_ns))
            for one in replays
            if one.state is ReplayState.DONE
        ],
    )


def _paces(model: ReadModel) -> Iterable[JobPace]:
    jobs = model.topology.entities(Job)
    gpus = gpus_of(jobs, model.paces.gpus.of(model.topology))
    waiting = _waiting(model.findings)
    for job in jobs:
        pace, found = model.paces.of(job.job_id), waiting.get(job.job_id)
        if found is not None and found.kind is FindingKind.JOB_SLOWED and found.evidence:
            # What analytics compares with is from before the fault, however long that lasts.
            pace = Pace(found.evidence[0].value if pace.now is None else pace.now, found.evidence[0].normal)
        yield JobPace(
            *(job.job_id, job.name, job.user, len(job.nodes), len(gpus[job.job_id])),
            started=rfc3339(job.started_ns) if job.started_ns else None,
            state=_state(pace, found),
            work=pace.now,
            usual=pace.usual,
        )


def _waiting(findings: Mapping[str, Finding]) -> Mapping[str, Finding]:
    """The worst active finding of each job that waits."""
    found: dict[str, Finding] = {}
    for kind in reversed(_WAITING):
        for one in list(findings.values()):
            if one.kind is kind and one.state is FindingState.ACTIVE:
                found[one.object.name] = one
    return found


def _state(pace: Pace, found: Finding | None) -> JobState:
    if found is not None:
        return JobState(_WAITING[found.kind])
    if pace.now is None:
        return JobState.UNKNOWN
    if pace.usual is None:
        return JobState.LEARNING
    return JobState.SLOW if pace.now < SLOW_BELOW * pace.usual else JobState.NORMAL


def _worst_first(job: JobPace) -> tuple[int, float, int, str]:
    share = job.work / job.usual if job.work is not None and job.usual else 1.0
    return list(JobState).index(job.state), share, -job.gpus, job.job_id


def _traffic(fabric: Fabric, traffic: Traffic) -> list[TierTraffic]:
    by_tier: dict[str, list[Link]] = {}
    for link in fabric.links:
        by_tier.setdefault(fabric.between(link), []).append(link)
    loads = {tier: sum((traffic.of(link) for link in links), Load()) for tier, links in by_tier.items()}
    return [
        TierTraffic(tier, len(by_tier[tier]), load.links, load.used, load.rated) for tier, load in sorted(loads.items())
    ]
