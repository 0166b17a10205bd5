"""Findings and incidents as series: their state now, repeated so that queries find it, ended when it is over. Pure.

``fabricscope_finding_active{kind, object, device, detector}`` is 1 while a finding is active.
``fabricscope_incident{incident_id, kind, root, severity, state}`` is 1, and ``fabricscope_incident_gpu_seconds_total``
with the same labels is what it has cost. A change of severity or state ends the old series and begins a new one;
``state="resolved"`` shows once.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from common.errors import BadInput
from export.remote_write import labels
from export.remote_write.encoder import STALE_BITS, SampleBlock
from export.remote_write.labels import encode_labels
from export.remote_write.metrics import TOO_MANY
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState

FINDING = "fabricscope_finding_active"
INCIDENT = "fabricscope_incident"
GPU_SECONDS = "fabricscope_incident_gpu_seconds_total"


class StateSeries:
    """The series of the newest findings and incidents, and those that the receiver shows.

    states_max: findings and incidents followed at a time; one more is refused with BadInput (reason ``too_many``).
    unsaved:    records by key that changed since it was last cleared, None for one that is over.
    changed:    whether a series began or ended since ``block`` was called.
    """

    def __init__(self, external: Mapping[str, str], states_max: int) -> None:
        self._external = external
        self._states_max = states_max
        self._current: dict[str, dict[bytes, float]] = {}  # values of encoded labels, by key
        self._resolved: set[str] = set()
        self._shown: set[bytes] = set()
        self._last_ms = 0
        self.unsaved: dict[str, bytes | None] = {}
        self.changed = False

    def restore(self, saved: Iterable[bytes]) -> None:
        """Goes on from records that were saved: the receiver shows them."""
        for value in saved:
            try:
                self.update_incident(decode_record(value, Incident))
            except BadInput:
                self.update_finding(decode_record(value, Finding))
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
        names = {
            "incident_id": incident.id,
            "kind": incident.kind.value,
            "root": str(incident.root),
            "severity": incident.severity.value,
            "state": incident.state.value,
        }
        metrics = {INCIDENT: 1.0, GPU_SECONDS: incident.gpu_seconds}
        values = {encode_labels(metric, names, self._external): value for metric, value in metrics.items()}
        self._set(key, values, encode_record(incident))

    def blocks(self, now_ms: int) -> list[SampleBlock]:
        """All that is true now, and the end of what is not any more; nothing or one block. Times never go back."""
        self._last_ms = time_ms = max(now_ms, self._last_ms + 1)
        now = {series: value for values in self._current.values() for series, value in values.items()}
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
        return [SampleBlock(labels.join(series), np.arange(len(series)), times_ms, bits, synthetic=True)]

    def _set(self, key: str, values: dict[bytes, float], record: bytes) -> None:
        if key not in self._current and len(self._current) >= self._states_max:
            raise BadInput(f"{len(self._current)} findings and incidents: at most {self._states_max}", TOO_MANY)
        self.changed |= values.keys() != self._current.get(key, {}).keys()
        self._current[key] = values
        self.unsaved[key] = record

    def _remove(self, key: str) -> None:
        if self._current.pop(key, None) is not None:
            self.changed = True
            self.unsaved[key] = None
