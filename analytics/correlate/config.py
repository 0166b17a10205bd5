"""Settings of correlation; durations that depend on how often telemetry is sampled are in sampling intervals.

They count in the cadence of the evidence: what is read every 30 s shows no sooner that it is over, or that something
else explains it, and what is read every second does so within a tick. ``interval_s`` is what counts where the cadence
is not known.
"""

import math
from collections.abc import Iterable
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field

from analytics.config import LIGHT_TICKS
from telemetry.kinds import HoldPolicy

NS_PER_S = 1_000_000_000
# Evidence that comes more rarely than a scrape of Prometheus by default makes nothing wait longer than that does.
CADENCE_S_MAX = 60.0
# A step takes a fifth of the active findings above 500: up to 1,000 that is the least portion, and beyond it more, as a
# large storm would else take hundreds of steps.
PORTION_BASE, PORTION_DIVISOR = 500, 5


class CorrelateConfig(BaseModel):
    """Defaults are for a sampling interval of 10 s and a tick of half an interval."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interval_s: float = Field(10.0, gt=0, description="Sampling interval of the telemetry.")
    hold_intervals: float = Field(0.5, ge=0, description="Most causes fire after this long.")
    doubtful_hold_intervals: float = Field(
        1.0, ge=0, description="A cause that may be part of a larger one (a link seen from one end) fires after this."
    )
    silence_hold_intervals: float = Field(
        3.0,
        ge=0,
        description="Ports that lost their carrier, with nothing known behind them, wait this long for the "
        "silence of what is there.",
    )
    busy_hold_s: float = Field(
        60.0,
        ge=0,
        description="A host that pauses more than a quarter of its NICs pages once a job has waited this long: memory "
        "and IOMMU of healthy hosts are busy for tens of seconds (assumption).",
    )
    weak_hold_intervals: float = Field(
        6.0, ge=0, description="Symptoms without a cause (a stalled job, a deviation) wait this long for one."
    )
    keep_firing_intervals: float = Field(
        6.0, ge=0, description="An incident resolves when its primary findings have been cleared for this long."
    )
    usual_after_s: float = Field(
        86_400.0,
        gt=0,
        description="What was reported for so long is learned, so that it ends without a repair; see "
        "``reported_follow_s`` of the engine.",
    )
    onset_slack_intervals: float = Field(
        3.0, ge=0, description="A symptom may begin this long before its cause and still belong to it."
    )
    straggler_window_intervals: float = Field(
        6.0, ge=0, description="A straggler that appears later than this after a cause is not explained by it."
    )
    recurrence_s: float = Field(
        3600.0,
        ge=0,
        description="An intermittent fault that is back within this time is the same incident: longer than alerts "
        "wait before they page the same one again.",
    )
    change_window_s: float = Field(600.0, ge=0, description="A change this long before an onset is named as suspect.")
    links_down_share: float = Field(
        0.5, gt=0, le=1, description="A device is down when more than this share of its links is."
    )
    reboot_s: float = Field(
        60.0,
        ge=0,
        description="A device that is back within this time, with its counters at 0, has only rebooted.",
    )
    away_s: float = Field(
        1800.0,
        gt=0,
        description="A host that nobody used when it went away is down when it is not back after this, unless others "
        "have shown how long it takes. As long as Slurm waits for a reboot in AWS ParallelCluster (ResumeTimeout).",
    )
    wave_pause_s: float = Field(
        1800.0,
        gt=0,
        description="A device of the same role that goes away this long after another one was back may belong to the "
        "same wave of reboots, and its incident stays open for as long (assumption).",
    )
    rack_share: float = Field(
        0.6, gt=0, le=1, description="A rack is without power when at least this share of its devices is dead."
    )
    silent_share: float = Field(
        0.5, gt=0, le=1, description="When more than this share of all devices is silent, that is one incident."
    )
    deviations_min: int = Field(3, ge=1, description="Deviations alone are an incident when there are this many.")
    paused_share_min: float = Field(
        0.2,
        gt=0,
        le=1,
        description="Pauses of this share of time count as waiting for a job that began under them: it has no normal.",
    )
    critical_gpus: float = Field(
        6.0,
        gt=0,
        description="Critical when waiting jobs lose this many whole GPUs: 32 slowed by a fifth, or 6 stalled.",
    )
    critical_gpu_seconds: float = Field(600.0, ge=0, description="Critical when this much GPU time has been lost.")
    correlated_findings_max: int = Field(
        5000, ge=10, description="Active findings that a step looks at; as many incidents cost a second of CPU time."
    )
    device_findings_max: int = Field(
        1000, ge=10, description="Of them, those of one kind on one device. No device has so many ports, disks or GPUs."
    )
    changed_findings_max: int = Field(
        2000, ge=10, description="Findings that changed which a step takes at most; the others wait for the next one."
    )
    changed_findings_min: int = Field(
        100,
        ge=10,
        description="As many a step always takes; of more than 1,000 active ones a fifth of those above 500.",
    )
    findings_max: int = Field(2000, ge=10, description="Finding ids kept for one incident; the earliest stay.")
    timeline_max: int = Field(50, ge=10, description="Entries in the timeline of one incident.")

    @property
    def tick_s(self) -> float:
        return self.interval_s / 2

    @cached_property
    def interval_ns(self) -> int:
        return int(self.interval_s * NS_PER_S)

    @cached_property
    def onset_slack_ns(self) -> int:
        """How far two onsets of one fault may differ."""
        return self.intervals_ns(self.onset_slack_intervals)

    @cached_property
    def straggler_window_ns(self) -> int:
        """How long after a cause what it changed may begin."""
        return self.intervals_ns(self.straggler_window_intervals)

    def slack_ns(self, *cadences_s: float) -> int:
        """How far a symptom may begin before its cause. cadences_s: of both, of which the slower one counts."""
        return self.intervals_ns(self.onset_slack_intervals, self.slowest_s(cadences_s))

    def window_ns(self, *cadences_s: float) -> int:
        """How long after a cause what it changed may begin, in the same way."""
        return self.intervals_ns(self.straggler_window_intervals, self.slowest_s(cadences_s))

    def portion(self, active: int) -> int:
        """How many of the findings that changed a step takes. active: those that it has.

        A step costs what it takes, as each may open an incident, and a choice among all that it has. A share of these
        keeps both of like size, and the steps of a large storm grow with the logarithm of its findings.
        """
        share = (active - PORTION_BASE) // PORTION_DIVISOR
        return min(self.changed_findings_max, max(self.changed_findings_min, share))

    @property
    def change_window_ns(self) -> int:
        return int(self.change_window_s * NS_PER_S)

    @property
    def away_ns(self) -> int:
        return int(self.away_s * NS_PER_S)

    @property
    def wave_pause_ns(self) -> int:
        return int(self.wave_pause_s * NS_PER_S)

    def hold_ns(self, policy: HoldPolicy, cadence_s: float) -> int:
        """How long a cause waits for another one, in nanoseconds. cadence_s: of its evidence."""
        match policy:
            case HoldPolicy.NONE:
                return 0
            case HoldPolicy.TICK:  # a tick, however often its evidence comes: most detectors judge once in one
                return self.intervals_ns(self.hold_intervals)
            case HoldPolicy.INTERVAL:
                return self.intervals_ns(self.doubtful_hold_intervals, cadence_s)
            case HoldPolicy.SILENCE:  # of what nothing is known, nor how often it is read
                return self.across_ns(self.silence_hold_intervals, [cadence_s])
            case HoldPolicy.BUSY:
                return int(self.busy_hold_s * NS_PER_S)

    def intervals_ns(self, intervals: float, cadence_s: float = 0.0) -> int:
        """That many times the cadence of the evidence, in nanoseconds. cadence_s: 0 where it is not known."""
        return int(intervals * self._counted_s(cadence_s) * NS_PER_S)

    def across_ns(self, intervals: float, cadences_s: Iterable[float]) -> int:
        """The same for what is awaited of others than this evidence. How often these are read is not known, so it is
        once an interval at most."""
        return self.intervals_ns(intervals, self.slowest_s([*cadences_s, self.interval_s]))

    def slowest_s(self, cadences_s: Iterable[float]) -> float:
        """The cadence of evidence of several sources: what comes most rarely counts, and what is not known comes once
        an interval. 0 without any."""
        return max([each or self.interval_s for each in cadences_s], default=0.0)

    def _counted_s(self, cadence_s: float) -> float:
        """At least a tick, as most detectors judge once in one. Below the interval in whole light ticks, as nothing is
        correlated in between: what is collected once an interval, and now and then a little sooner, counts as that."""
        if not cadence_s:
            return self.interval_s
        if cadence_s >= self.interval_s:
            return min(cadence_s, max(self.interval_s, CADENCE_S_MAX))
        light_s = self.tick_s / LIGHT_TICKS
        return max(self.tick_s, light_s * math.ceil(cadence_s / light_s))
