"""Forecasts: when a series that grows or wears out will reach its limit."""

from dataclasses import dataclass

from telemetry.findings import FindingKind
from telemetry.objects import EventTime, Finite, ObjectRef


@dataclass(frozen=True, slots=True)
class Forecast:
    """One series that approaches a limit. Published only while the direction is significant.

    value: level now; limit: in the same unit; per_day: slope. days: to the limit as of the record's ``at_ns``, with the
    bounds of its interval of 99 %; days_high None: it may never be reached. history_days: the data behind the slope.
    """

    series: str
    kind: FindingKind
    object: ObjectRef
    unit: str
    value: Finite
    limit: Finite
    per_day: Finite
    days: Finite
    days_low: Finite
    days_high: Finite | None
    history_days: Finite


@dataclass(frozen=True, slots=True)
class DeviceTrends:
    """All forecasts for one device and its parts, soonest first, as of ``at_ns``; replaces its earlier record."""

    device: str
    at_ns: EventTime
    forecasts: tuple[Forecast, ...]

    @property
    def id(self) -> str:
        return self.device
