"""Ground truth: what was broken, when, and the root cause that an incident should name."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class Truth:
    """One fault. start_ns, end_ns: event time; end_ns is 0 for a fault that lasts.

    expected: the kind that correlation should name; root: the object (``kind:name``). planned: announced by a Change
    beforehand, so nobody needs a page. reach: hosts that are affected directly (not through their job).
    """

    fault: str
    expected: IncidentKind
    root: ObjectRef
    start_ns: int
    end_ns: int
    planned: bool = False
    reach: tuple[str, ...] = ()

    def line(self) -> bytes:
        """One line of JSON."""
        record = {
            "fault": self.fault,
            "expected": self.expected,
            "root": str(self.root),
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "planned": self.planned,
            "reach": self.reach,
        }
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def write_truth(path: Path, truths: list[Truth]) -> None:
    """JSON lines, one a fault, in order of start."""
    path.write_bytes(b"".join(truth.line() for truth in sorted(truths, key=lambda t: (t.start_ns, t.fault))))
