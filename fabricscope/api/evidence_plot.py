"""Evidence as a line: gauges as they are, counters as rates, times of operations as seconds for each of them."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from common.units import NS_PER_S
from fabricscope.api.views.incidents import EvidencePlot
from fabricscope.api.wall.direction import LOAD
from telemetry.catalogue import Kind, metrics
from telemetry.findings import Evidence
from telemetry.series import parse_series_key

_SUM, _COUNT = "_sum{", "_count{"  # of a summary, as Prometheus names its parts


class _Line(NamedTuple):
    """times: int64[n], ns since the Unix epoch, ascending. values: float64[n]."""

    times: NDArray[np.int64]
    values: NDArray[np.float64]


class SeriesSource(Protocol):
    """Recent telemetry, or that of a recording."""

    def series(self, device: str, keys: set[str]) -> Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]]: ...


def counted_by(key: str) -> str:
    """The series that counts what another one sums; itself where it sums nothing."""
    return key.replace(_SUM, _COUNT, 1)


def evidence_plot(history: SeriesSource, evidence: Evidence) -> EvidencePlot | None:
    """None where recent telemetry does not have the series, or where the evidence has none of its own."""
    try:
        name, labels = parse_series_key(evidence.series)
    except BadInput:  # evidence that is computed from many series has no line of its own
        return None
    key, count_key = evidence.series, counted_by(evidence.series)
    found = {key: _Line(*line) for key, line in history.series(labels.get("device", ""), {key, count_key}).items()}
    if key not in found:
        return None
    metric, unit = metrics().get(name), evidence.unit
    normal = None if unit == LOAD else evidence.normal  # a load is compared with others of that time, not with before
    line = found[key]
    if key != count_key and count_key in found:
        line = _of_operations(line, found[count_key], unit)
    elif metric is not None and metric.kind is Kind.COUNTER and line.times.size > 1:
        line = _rate(line)
        if unit.startswith("ratio") and metric.unit != "seconds":  # a share that follows from the rate, and is not it
            unit, normal = f"{metric.unit}/s", None
    shown = [float(value) if np.isfinite(value) else None for value in line.values]
    return EvidencePlot.model_validate(
        {"series": key, "unit": unit, "normal": normal, "times": line.times.tolist(), "values": shown}
    )


def _rate(line: _Line) -> _Line:
    """Per second, between each two samples; NaN where the counter began again."""
    steps = np.diff(line.values)
    return _Line(line.times[1:], np.where(steps >= 0, steps / (np.diff(line.times) / NS_PER_S), np.nan))


def _of_operations(sums: _Line, counts: _Line, unit: str) -> _Line:
    """How many operations a second, or the mean time of one; NaN where none has ended."""
    _, of_sums, of_counts = np.intersect1d(sums.times, counts.times, assume_unique=True, return_indices=True)
    seconds = _rate(_Line(sums.times[of_sums], sums.values[of_sums]))
    operations = _rate(_Line(counts.times[of_counts], counts.values[of_counts]))
    if not unit.endswith(" an operation"):
        return operations
    each = np.divide(
        seconds.values, operations.values, out=np.full(seconds.values.shape, np.nan), where=operations.values > 0
    )
    return _Line(seconds.times, each)
