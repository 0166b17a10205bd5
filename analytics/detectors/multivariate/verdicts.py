"""From scored vectors to verdicts with evidence: the three measures that deviate most, each with its normal."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.multivariate.features import Devices, offset
from analytics.detectors.multivariate.measures import Kind
from analytics.detectors.spec import EvidenceColumns, Verdicts, computed_evidence

_SHOWN = 3
CONFIDENCE = 0.2  # it supports other evidence and never opens an incident: see ``analytics.correlate.causes.leftover``


@dataclass(frozen=True)
class Judged:
    """k devices. score, times_ns: [k]; values: float64[k, M], measures; own, peers: float64[k, M], normals of the
    device and of its peers on the compared scale; parts: float64[k, 2 M], contributions of both to the score.
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

    return computed_evidence(values, normals, "", label)


def _as_measured(kind: Kind, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    found = scaled.copy()
    for column, measure in enumerate(kind.measures):
        if measure.by_factor:
            found[:, column] = np.exp(scaled[:, column]) - offset(measure)
    return found
