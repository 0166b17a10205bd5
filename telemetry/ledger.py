"""The conservation ledger: samples in = samples out + dropped{reason} + deduplicated, stage by stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from telemetry.objects import Count, Finite

LAG_RECORDS, CATCH_UP_SECONDS = "lag_records", "catch_up_seconds"
"""Details of a stage that reads the bus: records that wait for it, and until when; the second is absent where the lag
does not get less."""
SERIES_REFUSED = "series_refused/"
"""Begins the details of ingest about the targets whose series it refuses most; the name of the target follows."""


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage process, and those before it that it goes on from, counted since ``epoch_ns``, as of ``at_ns``.

    samples_in = samples_out + sum(dropped) + deduplicated + held, where ``held`` are queued now.
    details: other figures (targets up, lag, …), each a number. problem: what is wrong, in words, "" for nothing.
    """

    stage: str
    instance: str
    epoch_ns: Count
    at_ns: Count
    samples_in: Count = 0
    samples_out: Count = 0
    deduplicated: Count = 0
    held: Count = 0
    dropped: Mapping[str, Count] = field(default_factory=dict)
    details: Mapping[str, Finite] = field(default_factory=dict)
    problem: str = ""

    @property
    def balance(self) -> int:
        """0 when every sample is accounted for."""
        return self.samples_in - self.samples_out - self.deduplicated - self.held - sum(self.dropped.values())


@dataclass(frozen=True, slots=True)
class TargetAccount:
    """What one ingest process counted of one target since ``since_ns``, before the record that carries this was sent.

    received = delivered + held + sum(dropped). held: on their way to the bus, those of the record itself among them.
    """

    since_ns: Count
    received: Count = 0
    delivered: Count = 0
    held: int = 0
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def balance(self) -> int:
        """0 when every sample is accounted for."""
        return self.received - self.delivered - self.held - sum(self.dropped.values())
