"""A cause that was chosen, with the findings that it explains."""

from dataclasses import dataclass, field

from analytics.correlate.cause import Cause
from analytics.correlate.cluster.reach import Reach
from telemetry.findings import FindingKind


@dataclass(slots=True)
class Claim:
    """A chosen cause with its own findings and the symptoms within its reach.

    gain: how much it newly explained. onsets_ns: of its own findings, ascending; none without any.
    kinds: of all its findings; None where it has none of its own any more. over_ns: since when it has none, 0 else.
    cadence_s: of the slowest of its own, 0 without any.
    """

    cause: Cause
    onset_ns: int
    reach: Reach
    gain: float = 0.0
    primary: set[str] = field(default_factory=set)
    symptoms: set[str] = field(default_factory=set)
    onsets_ns: tuple[int, ...] = ()
    kinds: set[FindingKind] | None = None
    over_ns: int = 0
    cadence_s: float = 0.0

    @property
    def findings(self) -> set[str]:
        """Ids of all that it explains."""
        return self.primary | self.symptoms
