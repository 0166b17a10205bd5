"""Ablation: the figures of the product's score with each of its parts left out in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytics.models.scoring import kernel
from analytics.models.scoring.scorer import SeriesScorer
from evaluation.scores.figures import Figures, figures, outcome, prepared
from evaluation.series.labelled import Series

PARTS: Mapping[str, int] = {
    "level": kernel.MUTE_LEVEL,
    "season": kernel.MUTE_SEASON,
    "shape": kernel.MUTE_SHAPE,
    "drift": kernel.MUTE_DRIFT,
    "silence": kernel.MUTE_SILENCE,
    "phase": kernel.MUTE_PHASE,
    "frequency": kernel.MUTE_FREQUENCY,
}


@dataclass(frozen=True, slots=True)
class Without:
    """Figures at 1.0 without one part. missed: how many fewer windows are found, by type of anomaly."""

    part: str
    figures: Figures
    missed: dict[str, int]


class _Muted(SeriesScorer):
    def __init__(self, muted: int) -> None:
        super().__init__()
        self._muted = muted


def run(series: Sequence[Series]) -> list[Without]:
    """One entry with all parts, named "nothing", and one without each part."""
    complete, found = _figures(0, series)
    entries = [Without("nothing", complete, {})]
    for part, muted in PARTS.items():
        partial, hits = _figures(muted, series)
        fewer = {anomaly: count - hits[anomaly] for anomaly, count in found.items() if count > hits[anomaly]}
        entries.append(Without(part, partial, fewer))
    return entries


def _figures(muted: int, series: Sequence[Series]) -> tuple[Figures, dict[str, int]]:
    outcomes, hits = [], dict[str, int]()
    for each in series:
        part = prepared(each)
        outcomes.append(outcome(part, _Muted(muted).score(each.times_ns, each.values).alert))
        for window, delay in zip(part.windows, outcomes[-1].delays, strict=True):
            hits[window.anomaly] = hits.get(window.anomaly, 0) + (delay is not None)
    return figures(outcomes), hits
