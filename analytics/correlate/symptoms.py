"""Which symptoms a cause explains: those that it predicts, by effect, direction, place and time.

A symptom (a stalled job, a deviation, a pause without an origin) belongs to the nearest cause that predicts it: one
about the same object, else one that the symptom's job depends on, else one on a neighbouring device, else any fault of
the fabric. What each kind of cause predicts, and how far, is data (``telemetry/kinds``).
"""

from collections.abc import Collection, Mapping
from enum import IntEnum
from functools import cache

from analytics.correlate.cause import JOB_WAITS, SYMPTOMS, Cause
from analytics.correlate.config import CorrelateConfig
from telemetry.findings import Finding, FindingKind
from telemetry.kinds import Effect, Within, effects, finding_kinds, incident_kinds

# The least that a detector names as a difference of a clock between GPUs (``peers_slow``). Less is no side.
LEFT_NORMAL_SHARE = 0.02


class Near(IntEnum):
    """How near a symptom is to a cause, nearest first."""

    OWN = 0  # about the root, its ends or its parts
    CERTAIN_JOB = 1
    POSSIBLE_JOB = 2
    DEVICE = 3  # on a device of the neighbourhood
    FABRIC = 4  # anywhere on a switch


_REACHED: Mapping[Within, frozenset[Near]] = {
    Within.OWN: frozenset({Near.OWN}),
    Within.CERTAIN: frozenset({Near.OWN, Near.CERTAIN_JOB}),
    Within.JOBS: frozenset({Near.OWN, Near.CERTAIN_JOB, Near.POSSIBLE_JOB}),
    Within.DEVICE: frozenset(Near) - {Near.FABRIC},
    Within.FABRIC: frozenset(Near),
    Within.PATH: frozenset({Near.DEVICE}),
}


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


def explains(
    config: CorrelateConfig,
    cause: Cause,
    near: Near,
    onset_ns: int,
    finding: Finding,
    newest_ns: int | None = None,
    waits_since_ns: int | None = None,
    evidence: Collection[FindingKind] | None = None,
) -> bool:
    """Whether a symptom that is ``near`` a cause can come from it.

    onset_ns: of the cause. newest_ns: onset of the newest of its findings, None where there is only one.
    waits_since_ns: since when the finding's job has waited, by any finding about it; None where only this one shows it.
    evidence: kinds of the cause's own findings; None where that is all that its kind may rest on.
    """
    kind = incident_kinds()[cause.kind]
    if finding.kind not in SYMPTOMS or not _in_time(config, onset_ns, finding):
        return False
    prediction = kind.predicts.get(effect_of(finding))
    if prediction is None or near not in _REACHED[prediction.within]:
        return False
    if prediction.through and evidence is not None and prediction.through.isdisjoint(evidence):
        return False
    if not kind.pages_without_waiting and finding.kind in JOB_WAITS:
        since_ns = finding.onset_ns if waits_since_ns is None else waits_since_ns
        return follows(config, onset_ns, newest_ns or onset_ns, since_ns)
    return True


def follows(config: CorrelateConfig, onset_ns: int, newest_ns: int, since_ns: int) -> bool:
    """Whether a symptom began when a cause began or last changed. Pressure that is there without a broken part goes on
    for hours while nobody waits; a job that slows down long after its newest change waits for something else."""
    late = newest_ns + config.intervals_ns(config.straggler_window_intervals)
    return onset_ns - config.onset_slack_ns <= since_ns <= late


def _in_time(config: CorrelateConfig, onset_ns: int, finding: Finding) -> bool:
    if finding.onset_ns < onset_ns - config.onset_slack_ns:
        return False
    late = onset_ns + config.intervals_ns(config.straggler_window_intervals)
    return finding.kind is not FindingKind.STRAGGLER or finding.onset_ns <= late
