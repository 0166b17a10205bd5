"""From scored vectors to verdicts with evidence: the three measures that deviate most, each with its normal."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.multivariate.features import Devices, offset
from analytics.detectors.multivariate.measures import Kind
from analytics.detectors.spec import EvidenceColumns, Verdicts

_SHOWN = 3
CONFIDENCE = 0.2  # it supports other evidence and never opens an incident: see the hypotheses of correlation


@dataclass(frozen=True)
class Judged:
    """k devices. score, times_ns: [k]; values, own, peers: float64[k, M], measures and on the compared scale what the
    device itself and its peers normally show; parts: float64[k, 2 M], contributions of both.
    """

    rows: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    score: NDArray[np.float64]
    values: NDArray[np.float64]
    own: NDArray[np.float64]
    peers: NDArray[np.float64]
    parts: NDArray[np.float64]

    def only(self, chosen: NDArray[np.bool_]) -> "Judged":
        return Judged(*(getattr(self, field.name)[chosen] for field in fields(self)))


def verdicts_of(kind: Kind, devices: Devices, judged: Judged) -> Verdicts:
    """One verdict a device."""
    m = len(kind.measures)
    own, peers = judged.parts[:, :m], judged.parts[:, m:]
    order = np.argsort(-(own + peers), axis=1, kind="stable")
    normals = _as_measured(kind, np.where((peers > own) & ~np.isnan(judged.peers), judged.peers, judged.own))
    at = np.arange(len(order))
    shown = [
        _shown(kind, order[:, rank], judged.values[at, order[:, rank]], normals[at, order[:, rank]])
        for rank in range(min(_SHOWN, m))
    ]
    breached = judged.score >= 1.0
    return Verdicts(devices.objects[judged.rows], judged.times_ns, breached, judged.score, tuple(shown), CONFIDENCE)


def _shown(
    kind: Kind, chosen: NDArray[np.int64], values: NDArray[np.float64], normals: NDArray[np.float64]
) -> EvidenceColumns:
    def label(row: int) -> str:
        measure = kind.measures[int(chosen[row])]
        return f"{measure.name} [{measure.unit}]"

    return EvidenceColumns(np.full(chosen.size, -1, np.int64), values, normals, label=label)


def _as_measured(kind: Kind, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    found = scaled.copy()
    for column, measure in enumerate(kind.measures):
        if measure.by_factor:
            found[:, column] = np.exp(scaled[:, column]) - offset(measure)
    return found
