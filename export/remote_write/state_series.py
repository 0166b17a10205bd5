"""What is true of the cluster now, as series: repeated so that queries find it, ended when it is over. Pure.

``fabricscope_finding_active{kind, object, device, detector}`` is 1 while a finding is active.
``fabricscope_incident{incident_id, kind, root, where, severity, state}`` is 1, and with the same labels
``fabricscope_incident_gpu_seconds_total`` is the most that it was said to have cost, as a counter never goes back. A
change of severity or state ends the old series and begins a new one; ``state="resolved"`` shows once.
``fabricscope_job_node{job_id, name, user, device}`` is 1 for each node of a running job,
``fabricscope_node_intent{device, intent}`` while a node is drained, in maintenance, rebooted or powered down, and
``fabricscope_change{change_id, kind, object, author}`` while a change lasts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from common.errors import BadInput
from common.units import NS_PER_MS
from export.remote_write import labels
from export.remote_write.encoder import STALE_BITS, SampleBlock
from export.remote_write.labels import encode_labels
from export.remote_write.metrics import TOO_MANY
from telemetry.changes import Change
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState
from telemetry.topology import Device, Job, NodeState, TopologyFact

FINDING = "fabricscope_finding_active"
INCIDENT = "fabricscope_incident"
GPU_SECONDS = "fabricscope_incident_gpu_seconds_total"
JOB_NODE = "fabricscope_job_node"
NODE_INTENT = "fabricscope_node_intent"
CHANGE = "fabricscope_change"
MOMENT_MS = 60_000  # how long a change without duration shows: a board of an hour asks at steps of 15 s to a minute


class StateSeries:
    """The series of the newest findings, incidents, jobs and changes, and those that the receiver shows.

    states_max: of them followed at a time; one more is refused with BadInput (reason ``too_many``).
    unsaved:    records by key that changed since it was last cleared, None for one that is over.
    changed:    whether a series began or ended since ``block`` was called.
    places:     labels of each device whose place is known: ``pod`` and ``rack``.
    """

    def __init__(self, external: Mapping[str, str], states_max: int) -> None:
        self._external = external
        self._states_max = states_max
        self._current: dict[str, dict[bytes, float]] = {}  # values of encoded labels, by key
        self._resolved: set[str] = set()
        self._changes_ms: dict[str, tuple[int, int]] = {}  # beginning and end
        self._observed_ns: dict[str, int] = {}  # of facts
        self._begins_ms: dict[bytes, int] = {}  # of counters
        self._gpu_seconds: dict[str, float] = {}  # of incidents
        self._shown: set[bytes] = set()
        self._last_ms = 0
        self.unsaved: dict[str, bytes | None] = {}
        self.changed = False
        self.places: dict[str, dict[str, str]] = {}

    def restore(self, saved: Iterable[bytes]) -> None:
        """Goes on from records that were saved: the receiver shows them."""
        for value in saved:
            self._restore(value)
        self._shown = {series for values in self._current.values() for series in values}
        self.unsaved.clear()

    def update_finding(self, finding: Finding) -> None:
        """Its series is 1 until the finding is cleared."""
        key = f"finding/{finding.id}"
        if finding.state is FindingState.CLEARED:
            self._remove(key)
            return
        names = {
            "kind": finding.kind.value,
            "object": str(finding.object),
            "device": finding.object.device,
            "detector": finding.detector,
        }
        self._set(key, {encode_labels(FINDING, names, self._external): 1.0}, encode_record(finding))

    def update_incident(self, incident: Incident) -> None:
        """Its series live until the incident is resolved; an end whose beginning was never shown makes none."""
        key = f"incident/{incident.id}"
        if incident.state is IncidentState.RESOLVED:
            if key not in self._current:
                return  # it ended before anything here could show it
            self._resolved.add(key)
        else:
            self._resolved.discard(key)
        cost = max(incident.gpu_seconds, self._gpu_seconds.get(key, 0.0))
        names = {
            "incident_id": incident.id,
            "kind": incident.kind.value,
            "root": str(incident.root),
            "where": incident.where or incident.root.name,
            "severity": incident.severity.value,
            "state": incident.state.value,
        }
        metrics = {INCIDENT: 1.0, GPU_SECONDS: cost}
        series = {metric: encode_labels(metric, names, self._external) for metric in metrics}
        values = {series[metric]: value for metric, value in metrics.items()}
        self._begins_ms[series[GPU_SECONDS]] = incident.onset_ns // NS_PER_MS
        self._set(key, values, encode_record(replace(incident, gpu_seconds=cost)))
        self._gpu_seconds[key] = cost

    def update_topology(self, fact: TopologyFact) -> str:
        """The device whose place changed, else ''. Of two facts of one entity the later observed one is valid."""
        entity, key = fact.entity, fact.entity.key
        if not isinstance(entity, Device | Job | NodeState) or fact.observed_ns < self._observed_ns.get(key, 0):
            return ""
        names: list[tuple[str, dict[str, str]]] = []
        if isinstance(entity, Job):
            job = {"job_id": entity.job_id, "name": entity.name, "user": entity.user}
            names = [(JOB_NODE, {**job, "device": node}) for node in entity.nodes]
        elif isinstance(entity, NodeState):
            names = [(NODE_INTENT, {"device": entity.device, "intent": entity.intent})] if entity.intent else []
        if fact.gone or not (names or isinstance(entity, Device)):
            self._observed_ns.pop(key, None)
            self._remove(key)
        else:
            self._set(key, {encode_labels(*each, self._external): 1.0 for each in names}, encode_record(fact))
            self._observed_ns[key] = fact.observed_ns
        return entity.name if isinstance(entity, Device) and self._move(entity, gone=fact.gone) else ""

    def update_change(self, change: Change) -> None:
        """Its series, one for each object, is 1 from its beginning to its end."""
        key = f"change/{change.id}"
        begins_ms = change.starts_ns // NS_PER_MS
        ends_ms = max(change.ends_ns // NS_PER_MS, begins_ms + MOMENT_MS)
        names = {"change_id": change.id, "kind": change.kind.value, "author": change.author}
        each = [{**names, "object": str(of)} for of in change.objects]
        self._set(key, {encode_labels(CHANGE, one, self._external): 1.0 for one in each}, encode_record(change))
        self._changes_ms[key] = begins_ms, ends_ms

    def blocks(self, now_ms: int) -> list[SampleBlock]:
        """All that is true now, and the end of what is not any more; nothing or one block. Times never go back."""
        self._last_ms = time_ms = max(now_ms, self._last_ms + 1)
        for key in [key for key, (_, ends_ms) in self._changes_ms.items() if ends_ms <= time_ms]:
            self._remove(key)
        waiting = {key for key, (begins_ms, _) in self._changes_ms.items() if begins_ms > time_ms}
        shown = [values for key, values in self._current.items() if key not in waiting]
        now = {series: value for values in shown for series, value in values.items()}
        over = sorted(self._shown - now.keys())
        self._shown, self.changed = set(now), False
        for key in self._resolved:
            self._remove(key)
        self._resolved.clear()
        series = [*now, *over]
        if not series:
            return []
        bits = np.array([*now.values(), *(0.0 for _ in over)]).view(np.uint64)
        bits[len(now) :] = STALE_BITS
        times_ms = np.full(len(series), time_ms, dtype=np.int64)
        self._begins_ms = {each: begin_ms for each, begin_ms in self._begins_ms.items() if each in now}
        begins_ms = np.array([self._begins_ms.get(each, 0) for each in series], dtype=np.int64)
        return [SampleBlock(labels.join(series), np.arange(len(series)), times_ms, bits, True, begins_ms)]

    def _restore(self, value: bytes) -> None:
        """By the kind of record that it can be read as; no two kinds have the same fields."""
        try:
            return self.update_incident(decode_record(value, Incident))
        except BadInput:
            pass
        try:
            return self.update_finding(decode_record(value, Finding))
        except BadInput:
            pass
        try:
            self.update_topology(decode_record(value, TopologyFact))
        except BadInput:
            self.update_change(decode_record(value, Change))

    def _move(self, device: Device, *, gone: bool) -> bool:
        """Whether its labels are others now."""
        before = self.places.pop(device.name, {})
        stated = {"pod": device.pod, "rack": device.rack}
        after = {} if gone else {label: value for label, value in stated.items() if value}
        if after:
            self.places[device.name] = after
        return after != before

    def _set(self, key: str, values: dict[bytes, float], record: bytes) -> None:
        if key not in self._current and len(self._current) >= self._states_max:
            raise BadInput(f"{len(self._current)} states: at most {self._states_max}", TOO_MANY)
        self.changed |= values.keys() != self._current.get(key, {}).keys()
        self._current[key] = values
        self.unsaved[key] = record

    def _remove(self, key: str) -> None:
        self._changes_ms.pop(key, None)
        self._gpu_seconds.pop(key, None)
        if self._current.pop(key, None) is not None:
            self.changed = True
            self.unsaved[key] = None
