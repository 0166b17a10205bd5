"""The conservation ledger: samples in = samples out + dropped{reason} + deduplicated, stage by stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage process counted since it started (``epoch_ns``), as of ``at_ns``.

    samples_in = samples_out + sum(dropped) + deduplicated + held, where ``held`` are queued now.
    details: other figures (targets up, lag, …), each a number.
    """

    stage: str
    instance: str
    epoch_ns: int
    at_ns: int
    samples_in: int = 0
    samples_out: int = 0
    deduplicated: int = 0
    held: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def balance(self) -> int:
        """0 when every sample is accounted for."""
        return self.samples_in - self.samples_out - self.deduplicated - self.held - sum(self.dropped.values())
