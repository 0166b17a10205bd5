"""Which symptoms a cause explains: those that it predicts, by effect, direction, place and time.

A symptom (a stalled job, a deviation, a pause without an origin) belongs to the nearest cause that predicts it: one
about the same object, else one that the symptom's job depends on, else one on a neighbouring device, else any fault of
the fabric. What each kind of cause predicts, and how far, is data (``telemetry/kinds``).
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import cache
from typing import NamedTuple

from analytics.correlate.cause import JOB_WAITS, SYMPTOMS, Cause
from analytics.correlate.config import CorrelateConfig
from analytics.models.jobs.sending import HANG_SECONDS, SILENT_SECONDS
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Effect, Within, effects, finding_kinds, incident_kinds
from telemetry.objects import ObjectKind

# The least that a detector names as a difference of a clock between GPUs (``peers_slow``). Less is no side.
LEFT_NORMAL_SHARE = 0.02


class Near(IntEnum):
    """How near a symptom is to a cause, nearest first."""

    OWN = 0  # about the root, its ends or its parts
    CERTAIN_JOB = 1
    POSSIBLE_JOB = 2
    DEVICE = 3  # on a device of the neighbourhood
    FABRIC = 4  # anywhere on a switch


class Objection(StrEnum):
    """Why a cause does not explain a symptom."""

    EFFECT = "effect"  # its kind does not predict this
    PLACE = "place"  # it does not reach so far
    MECHANISM = "mechanism"  # not by what was found of it
    TIME = "time"


class Shown(NamedTuple):
    """What a symptom shows. nothing_sent: by a job that waits and is known to send nothing at all. own_clock: by a GPU
    that works longer than its peers as its clock fell, which no GPU that they wait for does to it."""

    effect: Effect
    nothing_sent: bool
    own_clock: bool


_REACHED: Mapping[Within, frozenset[Near]] = {
    Within.OWN: frozenset({Near.OWN}),
    Within.CERTAIN: frozenset({Near.OWN, Near.CERTAIN_JOB}),
    Within.JOBS: frozenset({Near.OWN, Near.CERTAIN_JOB, Near.POSSIBLE_JOB}),
    Within.DEVICE: frozenset(Near) - {Near.FABRIC},
    Within.FABRIC: frozenset(Near),
    Within.PATH: frozenset({Near.DEVICE}),
}
_THROUGH_JOB = frozenset({Near.CERTAIN_JOB, Near.POSSIBLE_JOB})
# What a GPU shows whose heat or power lowers the clocks of its neighbours too: not that it is only warm, or hangs.
_LOWERS_CLOCKS = frozenset({FindingKind.GPU_THROTTLED, FindingKind.GPU_XID, FindingKind.GPU_LOST})


def effect_of(finding: Finding) -> Effect:
    """What a symptom shows, by its kind; of some by the first of its values that left its normal to a known side."""
    row = finding_kinds()[finding.kind]
    for one in finding.evidence if row.by_evidence else ():
        if one.normal is None or abs(one.value - one.normal) < LEFT_NORMAL_SHARE * max(abs(one.value), abs(one.normal)):
            continue
        metric = one.series.partition("{")[0]
        if found := _sides().get((metric, one.value > one.normal)):
            return found
    assert row.shows is not None, "every symptom shows something"
    return row.shows


@cache
def _sides() -> Mapping[tuple[str, bool], Effect]:
    """Effects by metric, and by whether it is above its normal."""
    above = {(metric, True): effect for effect, row in effects().items() for metric in row.up}
    return above | {(metric, False): effect for effect, row in effects().items() for metric in row.down}


def why_not(
    config: CorrelateConfig,
    cause: Cause,
    near: Near,
    onset_ns: int,
    finding: Finding,
    onsets_ns: Sequence[int] = (),
    waits_since_ns: int | None = None,
    evidence: Collection[FindingKind] | None = None,
    cadence_s: float = 0.0,
    *,
    held: bool = False,
) -> Objection | None:
    """Why a symptom that is ``near`` a cause cannot come from it; None where it can.

    onset_ns: of the cause. onsets_ns: of its own findings, ascending; none where only that of the cause is known.
    waits_since_ns: since when the finding's job has waited, by any finding about it; None where only this one shows it.
    evidence: kinds of the cause's own findings; None where that is all that its kind may rest on.
    cadence_s: of the slowest of them, 0 where it is not known.
    held: it came from this cause before, when all of the cause's findings were active.
    """
    if finding.kind not in SYMPTOMS or cause.unused:
        return Objection.EFFECT
    if not begins_in_time(config, onset_ns, finding, cadence_s):
        return Objection.TIME
    if objection := contradicts(cause, near, shown_by(finding), evidence):
        return objection
    if finding.kind in JOB_WAITS and not held:
        since_ns = finding.onset_ns if waits_since_ns is None else waits_since_ns
        if not waits_in_time(config, cause, onsets_ns or (onset_ns,), since_ns, cadence_s, finding.cadence_s):
            return Objection.TIME
    return None


def shown_by(finding: Finding) -> Shown:
    """What a symptom shows."""
    effect = effect_of(finding)
    own_clock = finding.kind is FindingKind.STRAGGLER and effect is Effect.CLOCK_LOST
    return Shown(effect, sends_nothing(finding), own_clock)


def contradicts(cause: Cause, near: Near, shown: Shown, evidence: Collection[FindingKind] | None) -> Objection | None:
    """Why a symptom that shows this so ``near`` a cause cannot come from it, whenever it began. evidence: as above."""
    if cause.unused:
        return Objection.EFFECT
    prediction = incident_kinds()[cause.kind].predicts.get(shown.effect)
    if prediction is None:
        return Objection.EFFECT
    if near not in _REACHED[prediction.within] or (shown.own_clock and near in _THROUGH_JOB):
        return Objection.PLACE
    of_neighbour = shown.own_clock and near is Near.DEVICE and cause.kind is IncidentKind.GPU_FAULT
    if of_neighbour and evidence is not None and _LOWERS_CLOCKS.isdisjoint(evidence):
        return Objection.MECHANISM
    known = frozenset() if evidence is None and cause.harmless else evidence  # of what is harmless none was there
    if prediction.through and known is not None and prediction.through.isdisjoint(known):
        return Objection.MECHANISM
    through = prediction.silent_through
    if through is not None and shown.nothing_sent and through.isdisjoint(evidence or ()):
        return Objection.MECHANISM
    return None


def sends_nothing(finding: Finding) -> bool:
    """Whether a job that waits is known to send nothing at all, for longer than it ever did by itself."""
    return finding.kind in JOB_WAITS and any(one.series.startswith(f"{SILENT_SECONDS}{{") for one in finding.evidence)


def hangs_s(finding: Finding) -> float:
    """For how many seconds all GPUs of that job have polled meanwhile, and none was busy with anything else; 0 where
    they do not."""
    if not sends_nothing(finding):
        return 0.0
    return max((one.value for one in finding.evidence if one.series.startswith(f"{HANG_SECONDS}{{")), default=0.0)


def follows(config: CorrelateConfig, onsets_ns: Sequence[int], since_ns: int, *cadences_s: float) -> bool:
    """Whether a symptom began when a cause began or changed, by the onsets of its findings, ascending. cadences_s: of
    both.

    Pressure that is there without a broken part goes on for hours while nobody waits: a job that slows down long after
    any change of it waits for something else."""
    first = bisect_left(onsets_ns, since_ns - config.window_ns(*cadences_s))
    return first < len(onsets_ns) and onsets_ns[first] <= since_ns + config.slack_ns(*cadences_s)


def begins_in_time(config: CorrelateConfig, onset_ns: int, finding: Finding, cadence_s: float) -> bool:
    """Whether a symptom is no older than a cause that began at ``onset_ns``, and not too late for what it is.
    cadence_s: of the cause's own findings."""
    if finding.onset_ns < onset_ns - config.slack_ns(cadence_s, finding.cadence_s):
        return False
    if finding.kind is not FindingKind.STRAGGLER:
        return True
    return finding.onset_ns <= onset_ns + config.window_ns(cadence_s, finding.cadence_s)


def waits_in_time(
    config: CorrelateConfig, cause: Cause, onsets_ns: Sequence[int], since_ns: int, *cadences_s: float
) -> bool:
    """Whether a job that has waited since then can wait for a cause, by the onsets of the cause's findings, ascending.

    Storage is asked now and then: a job meets a slow target with its next request, however long it has been slow."""
    if cause.pages_without_waiting:
        return True
    of_storage = cause.root.kind in (ObjectKind.STORAGE_TARGET, ObjectKind.FILESYSTEM)
    of_storage |= cause.kind is IncidentKind.STORAGE_PATH
    asked_rarely = of_storage and onsets_ns[0] <= since_ns + config.slack_ns(*cadences_s)
    return asked_rarely or follows(config, onsets_ns, since_ns, *cadences_s)
