"""What correlation remembers between steps, and its snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from analytics.correlate.absence import Absence
from analytics.correlate.cluster.nodes import Nodes
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.object_records import ObjectRecords
from analytics.correlate.tracks import Track
from common.errors import BadInput
from telemetry.codec.records import encode_record
from telemetry.findings import Finding, FindingState
from telemetry.objects import ObjectKind

VERSION = 4
READ = frozenset({3, VERSION})  # 3 has neither verdicts nor records of objects nor absences


@dataclass
class CorrelatorMemory:
    """findings: active ones by id. since: event time from which on nothing explains each. tracks: by age.

    absences: devices that are away, or were not long ago, by name. records: of what happened to each object.
    began_again: whether the clocks went back. All is seen for the first time then, which says nothing about faults.
    """

    findings: dict[str, Finding] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    tracks: list[Track] = field(default_factory=list)
    absences: dict[str, Absence] = field(default_factory=dict)
    records: ObjectRecords = field(default_factory=ObjectRecords)
    began_again: bool = False

    def update(self, changed: Sequence[Finding], now_ns: int) -> list[Finding]:
        """Returns those that were not active before.

        Newer versions replace older ones; of two equally new ones a cleared one wins, then the greater bytes.
        """
        if self.began_again:
            changed = [replace(each, since_first_seen=False) for each in changed]
        before = self.findings.keys() & {each.id for each in changed}
        for finding in sorted(changed, key=_version):
            known = self.findings.get(finding.id)
            if known is not None and known.observed_ns > finding.observed_ns:
                continue
            if finding.state is FindingState.CLEARED:
                self.findings.pop(finding.id, None)
                self.since.pop(finding.id, None)
            else:
                self.findings[finding.id] = finding
                self.since.setdefault(finding.id, now_ns)
        return [
            self.findings[found] for found in sorted({each.id for each in changed} - before) if found in self.findings
        ]

    def active(self, ended_jobs: frozenset[str], nodes: Nodes) -> list[Finding]:
        """Active findings, without those about a job that has ended, about a device that the inventory does not have
        any more, and about a port whose cable led there."""
        return [
            finding
            for finding in self.findings.values()
            if (finding.object.kind is not ObjectKind.JOB or finding.object.name not in ended_jobs)
            and finding.object.device not in nodes.removed
            and finding.object not in nodes.disused
        ]

    def waited(self, config: CorrelateConfig, now_ns: int) -> frozenset[str]:
        """Ids of the findings that have waited for a cause for long enough, in the cadence of their own evidence."""
        weak, least_ns = config.weak_hold_intervals, config.intervals_ns(config.weak_hold_intervals)
        return frozenset(
            found
            for found, since in self.since.items()
            if now_ns - since >= least_ns
            and now_ns - since >= config.intervals_ns(weak, self.findings[found].cadence_s)
        )

    def mark_explained(self, findings: Iterable[str], now_ns: int) -> None:
        """Explained findings wait from now on, should their incident end before them."""
        for found in findings:
            self.since[found] = now_ns


def _version(finding: Finding) -> tuple[str, int, bool, bytes]:
    return finding.id, finding.observed_ns, finding.state is FindingState.CLEARED, encode_record(finding)


_adapter = TypeAdapter(CorrelatorMemory)


def dump(memory: CorrelatorMemory) -> dict[str, Any]:
    """JSON values in a fixed order, so that equal memories give equal bytes."""
    plain = orjson.loads(orjson.dumps(_adapter.dump_python(memory, mode="json")))
    plain["findings"] = dict(sorted(plain["findings"].items()))
    plain["since"] = dict(sorted(plain["since"].items()))
    plain["absences"] = dict(sorted(plain["absences"].items()))
    plain["records"]["known"] = dict(sorted(plain["records"]["known"].items()))
    for track in plain["tracks"]:
        for name in ("primary", "symptoms", "measured"):
            track[name] = sorted(track[name])
        for name in ("job_impact", "cost_until_ns"):
            track[name] = dict(sorted(track[name].items()))
        for name in ("primary", "devices", "gone"):
            track["cause"][name] = sorted(track["cause"][name])
    return {"version": VERSION, **plain}


def load(state: Mapping[str, Any]) -> CorrelatorMemory:
    """Reads what ``dump`` returned; BadInput (reason ``snapshot``) for another version or a wrong field."""
    if state.get("version") not in READ:
        raise BadInput(f"correlation snapshot of version {state.get('version')!r}: expected {VERSION}", "snapshot")
    try:
        return _adapter.validate_python({key: value for key, value in state.items() if key != "version"})
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(
            f"correlation snapshot: {'.'.join(map(str, first['loc']))}: {first['msg']}", "snapshot"
        ) from error
