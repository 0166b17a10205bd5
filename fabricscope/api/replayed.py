"""What a replay found and what its recording has around it: evidence as lines, and the fabric as of any time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from common.units import NS_PER_S
from fabricscope.api.evidence_plot import counted_by
from fabricscope.api.read_model import FINDINGS_MAX, badness
from fabricscope.api.wall.newest import NewestSamples
from fabricscope.api.wall.plan import Fabric
from fabricscope.api.wall.traffic import Traffic
from recordings.reader import read_batches, read_topology_and_changes
from telemetry.codec.records import decode_record
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState
from telemetry.series import parse_series_key
from telemetry.topology import Topology, TopologyFact

INCIDENTS_MAX = 1000
PLOTTED_MAX = 50  # the worst incidents: as many as the page is sent
VALUES_MAX = 5_000  # of a series: more than an hour of one a second, and at most 24 MB a replay
BEFORE_NS, AFTER_NS = 900 * NS_PER_S, 300 * NS_PER_S  # around an incident: what was normal, and how it ended
Line = tuple[NDArray[np.int64], NDArray[np.float64]]
Series = tuple[str, str]
T = TypeVar("T", Incident, Finding)


@dataclass(frozen=True)
class AsOf:
    """What was open at a time of a replay, as the fabric is drawn and incidents are explained from. No traffic."""

    incidents: dict[str, Incident]
    findings: dict[str, Finding]
    topology: Topology
    gpu_info: NewestSamples
    of: Fabric

    def fabric(self) -> Fabric:
        return self.of

    def traffic(self) -> Traffic:
        return Traffic(self.gpu_info, 0)


@dataclass(frozen=True)
class Replayed:
    """incidents, findings: the last version of each. lines: of the evidence of the worst 50 incidents."""

    incidents: tuple[Incident, ...] = ()
    findings: tuple[Finding, ...] = ()
    topology: Topology = field(default_factory=Topology)
    lines: Mapping[Series, Line] = field(default_factory=dict)

    def series(self, device: str, keys: set[str]) -> dict[str, Line]:
        """Times (ns) and values of each series of a device, in time order; one that is not known is missing."""
        return {key: self.lines[device, key] for key in keys if (device, key) in self.lines}

    def as_of(self, at_ns: int) -> AsOf:
        """What had begun by then, with what was known of it at the end."""
        incidents = {one.id: _incident(one, at_ns) for one in self.incidents if one.opened_ns <= at_ns}
        findings = {one.id: _finding(one, at_ns) for one in self.findings if one.onset_ns <= at_ns}
        return AsOf(incidents, findings, self.topology, NewestSamples(()), self._fabric)

    @cached_property
    def _fabric(self) -> Fabric:
        return Fabric(self.topology)


def replayed(recording: Path, out: Path) -> Replayed:
    """Reads what ``fabricscope replay`` wrote into ``out``, and what the recording has of its evidence. Blocking."""
    incidents = _last_versions(out / "incidents.jsonl", Incident, INCIDENTS_MAX)
    facts = [one for one in read_topology_and_changes(recording) if isinstance(one, TopologyFact)]
    return Replayed(
        incidents,
        _last_versions(out / "findings.jsonl", Finding, FINDINGS_MAX),
        Topology().with_facts(facts),
        _lines(recording, _wanted(sorted(incidents, key=badness)[:PLOTTED_MAX])),
    )


def _last_versions(path: Path, of: type[T], at_most: int) -> tuple[T, ...]:
    newest: dict[str, T] = {}
    with path.open("rb") as lines:
        for line in lines:
            one = decode_record(line, of)
            if one.id in newest or len(newest) < at_most:
                newest[one.id] = one
    return tuple(newest.values())


def _wanted(incidents: Iterable[Incident]) -> dict[Series, tuple[int, int]]:
    """The series of their evidence, and from when to when each is looked at."""
    found: dict[Series, tuple[int, int]] = {}
    for incident in incidents:
        from_ns = incident.onset_ns - BEFORE_NS
        until_ns = (incident.resolved_ns or incident.updated_ns) + AFTER_NS
        for device, key in _series_of(incident):
            known = found.get((device, key), (from_ns, until_ns))
            found[device, key] = min(known[0], from_ns), max(known[1], until_ns)
    return found


def _series_of(incident: Incident) -> Iterator[Series]:
    for evidence in incident.evidence:
        try:
            device = parse_series_key(evidence.series)[1].get("device", "")
        except BadInput:  # computed from many series
            continue
        yield device, evidence.series
        yield device, counted_by(evidence.series)


def _lines(recording: Path, wanted: Mapping[Series, tuple[int, int]]) -> dict[Series, Line]:
    if not wanted:
        return {}
    rows_of: dict[bytes, dict[int, Series]] = {}
    parts: defaultdict[Series, list[Line]] = defaultdict(list)
    kept: defaultdict[Series, int] = defaultdict(int)
    for recorded in read_batches(recording):
        batch = recorded.batch
        table = batch.table
        if table.digest not in rows_of:
            pairs = enumerate((table.device, key) for key in table.keys)
            rows_of[table.digest] = {row: series for row, series in pairs if series in wanted}
        for row, series in rows_of[table.digest].items():
            from_ns, until_ns = wanted[series]
            mine = (batch.series == row) & (batch.times_ns >= from_ns) & (batch.times_ns <= until_ns)
            if kept[series] < VALUES_MAX and mine.any():
                parts[series].append((batch.times_ns[mine].copy(), batch.values[mine].copy()))
                kept[series] += int(mine.sum())
    return {series: _in_time_order(pieces) for series, pieces in parts.items()}


def _in_time_order(pieces: list[Line]) -> Line:
    times, first = np.unique(np.concatenate([times for times, _ in pieces]), return_index=True)
    return times, np.concatenate([values for _, values in pieces])[first]


def _incident(one: Incident, at_ns: int) -> Incident:
    if one.resolved_ns and one.resolved_ns <= at_ns:
        return replace(one, state=IncidentState.RESOLVED)
    fired = one.fired_ns and one.fired_ns <= at_ns
    return replace(one, state=IncidentState.FIRING if fired else IncidentState.PENDING)


def _finding(one: Finding, at_ns: int) -> Finding:
    over = one.state is FindingState.CLEARED and one.observed_ns <= at_ns
    return replace(one, state=FindingState.CLEARED if over else FindingState.ACTIVE)
