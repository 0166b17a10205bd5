"""Findings and incidents as series: what is true now, repeated so that queries find it, ended when it is over. Pure.

``fabricscope_finding_active{kind, object, device, detector}`` is 1 while a finding is active.
``fabricscope_incident{incident_id, kind, root, severity, state}`` is 1, and ``fabricscope_incident_gpu_seconds_total``
with the same labels is what it has cost. A change of severity or state ends the old series and begins a new one;
``state="resolved"`` shows once.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from common.errors import BadInput
from export.remote_write.encoder import STALE_BITS, Rows
from export.remote_write.series import encode_labels, prefixes_of
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState

FINDING = "fabricscope_finding_active"
INCIDENT = "fabricscope_incident"
GPU_SECONDS = "fabricscope_incident_gpu_seconds_total"


class FactSeries:
    """The series that the newest findings and incidents ask for, and those that the receiver shows.

    facts_max: facts followed at a time; one more is refused with BadInput (reason ``too_many``).
    unsaved:   facts by key that changed since it was last cleared, None for one that is over.
    """

    def __init__(self, external: Mapping[str, str], facts_max: int) -> None:
        self._external = external
        self._facts_max = facts_max
        self._wanted: dict[str, dict[bytes, float]] = {}
        self._resolved: set[str] = set()
        self._shown: set[bytes] = set()
        self._last_ms = 0
        self.unsaved: dict[str, bytes | None] = {}
        self.changed = False

    def restore(self, saved: Iterable[bytes]) -> None:
        """Goes on from facts that were saved: the receiver shows them."""
        for value in saved:
            try:
                self.observe_incident(decode_record(value, Incident))
            except BadInput:
                self.observe_finding(decode_record(value, Finding))
        self._shown = {series for series_of in self._wanted.values() for series in series_of}
        self.unsaved.clear()

    def observe_finding(self, finding: Finding) -> None:
        """Its series is 1 until the finding is cleared."""
        key = f"finding/{finding.id}"
        if finding.state is FindingState.CLEARED:
            self._drop(key)
            return
        labels = {
            "kind": finding.kind.value,
            "object": str(finding.object),
            "device": finding.object.device,
            "detector": finding.detector,
        }
        self._want(key, {encode_labels(FINDING, labels, self._external): 1.0}, encode_record(finding))

    def observe_incident(self, incident: Incident) -> None:
        """Its series live until the incident is resolved; an end whose beginning was never shown makes none."""
        key = f"incident/{incident.id}"
        if incident.state is IncidentState.RESOLVED:
            if key not in self._wanted:
                return  # it ended before anything here could show it
            self._resolved.add(key)
        else:
            self._resolved.discard(key)
        labels = {
            "incident_id": incident.id,
            "kind": incident.kind.value,
            "root": str(incident.root),
            "severity": incident.severity.value,
            "state": incident.state.value,
        }
        values = {INCIDENT: 1.0, GPU_SECONDS: incident.gpu_seconds}
        series = {encode_labels(metric, labels, self._external): value for metric, value in values.items()}
        self._want(key, series, encode_record(incident))

    def rows(self, now_ms: int) -> list[Rows]:
        """All that is true now, and the end of what is not any more. Times never go back."""
        self._last_ms = time_ms = max(now_ms, self._last_ms + 1)
        now = {series: value for series_of in self._wanted.values() for series, value in series_of.items()}
        over = sorted(self._shown - now.keys())
        self._shown, self.changed = set(now), False
        for key in self._resolved:
            self._drop(key)
        self._resolved.clear()
        series = [*now, *over]
        if not series:
            return []
        values = np.array([*now.values(), *(0.0 for _ in over)])
        bits = values.view(np.uint64)
        bits[len(now) :] = STALE_BITS
        times_ms = np.full(len(series), time_ms, dtype=np.int64)
        return [Rows(prefixes_of(series), np.arange(len(series)), times_ms, bits, synthetic=True)]

    def _want(self, key: str, series: dict[bytes, float], saved: bytes) -> None:
        if key not in self._wanted and len(self._wanted) >= self._facts_max:
            raise BadInput(f"{len(self._wanted)} findings and incidents: at most {self._facts_max}", "too_many")
        self.changed |= series.keys() != self._wanted.get(key, {}).keys()
        self._wanted[key] = series
        self.unsaved[key] = saved

    def _drop(self, key: str) -> None:
        if self._wanted.pop(key, None) is not None:
            self.changed = True
            self.unsaved[key] = None
