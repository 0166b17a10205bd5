"""Ground truth: what was broken, when, and the root cause that an incident should name."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class Truth:
    """One fault. start_ns, end_ns: event time; end_ns is 0 for a fault that lasts, and after the boot of its hosts.

    expected: the kind that correlation should name; root: the object (``kind:name``). planned: announced by a Change
    beforehand, so nobody needs a page. reach: hosts that are affected directly (not through their job).
    accepted, roots: other kinds and objects that are as right as ``expected`` and ``root``. silent: the telemetry of
    the devices that the root is on is lost.
    """

    fault: str
    expected: IncidentKind
    root: ObjectRef
    start_ns: int
    end_ns: int
    planned: bool = False
    reach: tuple[str, ...] = ()
    accepted: tuple[IncidentKind, ...] = ()
    roots: tuple[ObjectRef, ...] = ()
    silent: bool = False

    def line(self) -> bytes:
        """One line of JSON; the last three fields only where they say something."""
        record: dict[str, object] = {
            "fault": self.fault,
            "expected": self.expected,
            "root": str(self.root),
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "planned": self.planned,
            "reach": self.reach,
        }
        if self.accepted:
            record["accepted"] = self.accepted
        if self.roots:
            record["roots"] = [str(root) for root in self.roots]
        if self.silent:
            record["silent"] = True
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def write_truth(path: Path, truths: list[Truth]) -> None:
    """JSON lines, one a fault, in order of start."""
    path.write_bytes(b"".join(truth.line() for truth in sorted(truths, key=lambda t: (t.start_ns, t.fault))))
