"""Which symptoms a cause explains.

A symptom (a stalled job, a deviation, a pause without an origin) belongs to the nearest cause: one about the same
object, else one that the symptom's job depends on, else one on a neighbouring device, else any fault of the fabric.
It must not be older than the cause by more than sampling lets the onsets of two detectors differ.
"""

from enum import IntEnum

from analytics.correlate.cause import CONGESTED, JOB_WAITS, PAUSES, SYMPTOMS, Cause
from analytics.correlate.config import CorrelateConfig
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Explains, HoldsWrites, IncidentMeaning, incident_kinds
from telemetry.objects import ObjectKind

# A checkpoint is written while no kernel runs: a slow GPU does not delay it, nor does a link that routing avoids.
WRITTEN = frozenset({FindingKind.CHECKPOINT_LATE, FindingKind.CHECKPOINT_COLLIDING})
TRAFFIC = CONGESTED | {FindingKind.DEVIATION}
# What any fault of the fabric may cause anywhere; other causes only this part of it.
LOCAL_TRAFFIC = TRAFFIC - PAUSES - {FindingKind.LOSSLESS_DROPS}

# What parts a storage server from its clients when it is a link of the server, or a switch at the end of one.
CUTS_OFF = frozenset({IncidentKind.LINK_DOWN, IncidentKind.DEVICE_DOWN, IncidentKind.DEVICE_REBOOTED})


class Near(IntEnum):
    """How near a symptom is to a cause, nearest first."""

    OWN = 0  # about the root, its ends or its parts
    CERTAIN_JOB = 1
    POSSIBLE_JOB = 2
    DEVICE = 3  # on a device of the neighbourhood
    FABRIC = 4  # anywhere on a switch


def explains(
    config: CorrelateConfig,
    cause: Cause,
    near: Near,
    onset_ns: int,
    finding: Finding,
    newest_ns: int | None = None,
    waits_since_ns: int | None = None,
) -> bool:
    """Whether a symptom that is ``near`` a cause can come from it.

    onset_ns: of the cause. newest_ns: onset of the newest of its findings, None where there is only one.
    waits_since_ns: since when the finding's job has waited, by any finding about it; None where only this one shows it.
    """
    kind = incident_kinds()[cause.kind]
    if finding.kind not in SYMPTOMS or kind.explains is Explains.NOTHING or not _in_time(config, onset_ns, finding):
        return False
    if not kind.pages_without_waiting and finding.kind in JOB_WAITS:
        since_ns = finding.onset_ns if waits_since_ns is None else waits_since_ns
        if not _follows(config, cause, onset_ns, newest_ns or onset_ns, since_ns):
            return False
    if finding.kind is FindingKind.STORAGE_SLOW:
        of_server = near is Near.DEVICE and (kind.loses_packets or cause.kind in CUTS_OFF)
        return of_server or (kind.loses_packets and near <= Near.POSSIBLE_JOB)
    if near is Near.OWN:
        return True
    if finding.kind is FindingKind.JOB_IDLE and not _starves(cause, kind, near):
        return False
    if finding.kind is FindingKind.WEAR:  # little reserve is part of a fault of the same object, and of nothing else
        return False
    if kind.explains is Explains.OWN or (finding.kind in WRITTEN and not _holds_writes(kind, near)):
        return False
    if near is Near.FABRIC:
        return finding.kind in (TRAFFIC if kind.disturbs_fabric else LOCAL_TRAFFIC)
    # Links between switches slow all of their users alike: they make no straggler.
    storage = cause.root.kind is ObjectKind.STORAGE_TARGET
    return finding.kind is not FindingKind.STRAGGLER or near is Near.CERTAIN_JOB or storage


def _follows(config: CorrelateConfig, cause: Cause, onset_ns: int, newest_ns: int, since_ns: int) -> bool:
    """Whether a job began to wait when the pressure did. Pressure that is there without a broken part goes on for
    hours while nobody waits; a job that slows down long after its newest change waits for something else. Storage is
    asked now and then: a job meets a slow target with its next checkpoint, however long that has been slow."""
    late = newest_ns + config.intervals_ns(config.straggler_window_intervals)
    by_requests = cause.root.kind is ObjectKind.STORAGE_TARGET
    return onset_ns - config.onset_slack_ns <= since_ns and (by_requests or since_ns <= late)


def _starves(cause: Cause, kind: IncidentMeaning, near: Near) -> bool:
    """Whether a job has nothing to compute because of it: slow storage, or what the job cannot go on without. Pressure
    on the fabric makes GPUs wait for each other, inside kernels."""
    if cause.root.kind is ObjectKind.STORAGE_TARGET:
        return near <= Near.POSSIBLE_JOB
    return near is Near.CERTAIN_JOB and kind.pages_without_waiting and _holds_writes(kind, near)


def _holds_writes(kind: IncidentMeaning, near: Near) -> bool:
    certain = kind.holds_writes is HoldsWrites.CERTAIN and near is Near.CERTAIN_JOB
    return certain or kind.holds_writes is HoldsWrites.ALWAYS


def _in_time(config: CorrelateConfig, onset_ns: int, finding: Finding) -> bool:
    if finding.onset_ns < onset_ns - config.onset_slack_ns:
        return False
    late = onset_ns + config.intervals_ns(config.straggler_window_intervals)
    return finding.kind is not FindingKind.STRAGGLER or finding.onset_ns <= late
