"""Findings: one detector's claim about one object."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.objects import EventTime, Finite, Name, ObjectRef


class FindingKind(StrEnum):
    """What can be claimed, a closed set. What each kind means stands in ``telemetry/kinds/findings.yaml``."""

    PFC_PAUSE_RECEIVED = "pfc_pause_received"
    PFC_PAUSE_SENT = "pfc_pause_sent"
    ECN_MARKING = "ecn_marking"
    QUEUE_CONGESTED = "queue_congested"
    LOSSLESS_DROPS = "lossless_drops"
    PAUSE_STORM = "pause_storm"
    PFC_WITHOUT_ECN = "pfc_without_ecn"
    ECMP_IMBALANCE = "ecmp_imbalance"
    BGP_SESSION = "bgp_session"
    LINK_DOWN = "link_down"
    LINK_BOUNCED = "link_bounced"
    LINK_FLAPPING = "link_flapping"
    LINK_ERRORS = "link_errors"
    LINK_SLOW = "link_slow"
    OVERHEATED = "overheated"
    PART_FAILED = "part_failed"
    TARGET_SILENT = "target_silent"
    TARGET_FROZEN = "target_frozen"
    DEVICE_REBOOTED = "device_rebooted"
    SOFTWARE_CHANGED = "software_changed"
    GPU_THROTTLED = "gpu_throttled"
    GPU_HOT = "gpu_hot"
    GPU_XID = "gpu_xid"
    PROGRAM_ERROR = "program_error"
    GPU_LOST = "gpu_lost"
    GPU_ECC = "gpu_ecc"
    GPU_ROW_REMAP = "gpu_row_remap"
    GPU_NVLINK_ERRORS = "gpu_nvlink_errors"
    GPU_PCIE = "gpu_pcie"
    GPU_HUNG = "gpu_hung"
    STRAGGLER = "straggler"
    TCP_FALLBACK = "tcp_fallback"
    JOB_STALLED = "job_stalled"
    JOB_SLOWED = "job_slowed"
    JOB_IDLE = "job_idle"
    COLLECTIVE_BELOW_BASELINE = "collective_below_baseline"
    STORAGE_SLOW = "storage_slow"
    METADATA_STORM = "metadata_storm"
    STORAGE_WAIT = "storage_wait"
    CHECKPOINT_LATE = "checkpoint_late"
    CHECKPOINT_OVERDUE = "checkpoint_overdue"
    CHECKPOINT_COLLIDING = "checkpoint_colliding"
    CAPACITY = "capacity"
    WEAR = "wear"
    DEVIATION = "deviation"


class FindingState(StrEnum):
    ACTIVE = "active"
    CLEARED = "cleared"  # fresh telemetry shows that it is over; missing telemetry never does


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value against its normal. unit as in the catalogue; normal is None where nothing was learned yet."""

    series: str
    value: Finite
    normal: Finite | None
    unit: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, as of ``observed_ns``. ``id`` stays the same from onset to cleared.

    onset_ns:    event time of the first sample that shows it.
    observed_ns: event time of the newest sample that this version rests on.
    score:       how far from normal, 1.0 = the detector's own limit.
    confidence:  0..1.
    evidence:    strongest first, at most five.
    cadence_s:   usual seconds between two new values of that evidence: how soon something can be known about it;
                 0 where it is not known.
    since_first_seen: it was so when telemetry of the object began: nothing shows when it broke.
    unloaded_since_ns: event time since which its port carries too little to show whether it goes on; 0 while it carries
                       enough. One that is cleared with it was never seen to be over.
    """

    id: Name
    kind: FindingKind
    object: ObjectRef
    detector: Name
    state: FindingState
    onset_ns: EventTime
    observed_ns: EventTime
    score: Finite
    confidence: Finite
    evidence: tuple[Evidence, ...]
    cadence_s: Finite = 0.0
    since_first_seen: bool = False
    unloaded_since_ns: EventTime = 0
