"""Forecasts: when a series that grows or wears out will reach its limit."""

from dataclasses import dataclass

from telemetry.findings import FindingKind
from telemetry.objects import ObjectRef


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
    value: float
    limit: float
    per_day: float
    days: float
    days_low: float
    days_high: float | None
    history_days: float


@dataclass(frozen=True, slots=True)
class DeviceTrends:
    """All forecasts for one device and its parts, soonest first, as of ``at_ns``; replaces its earlier record."""

    device: str
    at_ns: int
    forecasts: tuple[Forecast, ...]

    @property
    def id(self) -> str:
        return self.device
