"""What each part of ours is worth: the same evaluation with each of them left out in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytics.models.scoring import kernel
from analytics.models.scoring.scorer import SeriesScorer
from evaluation.series.events import Figures, figures, judged, outcome
from evaluation.series.synthetic import Series

PARTS: Mapping[str, int] = {
    "level": kernel.MUTE_LEVEL,
    "season": kernel.MUTE_SEASON,
    "shape": kernel.MUTE_SHAPE,
    "drift": kernel.MUTE_DRIFT,
    "spread": kernel.MUTE_NOISE,
    "silence": kernel.MUTE_SILENCE,
    "phase": kernel.MUTE_PHASE,
}


@dataclass(frozen=True, slots=True)
class Without:
    """Figures at 1.0 without one part, and for each sort of anomaly how many windows fewer are found."""

    part: str
    figures: Figures
    missed: dict[str, int]


class _Muted(SeriesScorer):
    def __init__(self, muted: int) -> None:
        super().__init__()
        self._muted = muted


def run(of: Sequence[Series]) -> list[Without]:
    """One entry with everything, of the name "nothing", and one without each part."""
    whole, found = _figures(0, of)
    entries = [Without("nothing", whole, {})]
    for part, muted in PARTS.items():
        those, hits = _figures(muted, of)
        fewer = {anomaly: count - hits[anomaly] for anomaly, count in found.items() if count > hits[anomaly]}
        entries.append(Without(part, those, fewer))
    return entries


def _figures(muted: int, of: Sequence[Series]) -> tuple[Figures, dict[str, int]]:
    outcomes, hits = [], dict[str, int]()
    for series in of:
        part = judged(series)
        outcomes.append(outcome(part, _Muted(muted).score(series.times_ns, series.values).alert))
        for window, delay in zip(part.windows, outcomes[-1].delays, strict=True):
            hits[window.anomaly] = hits.get(window.anomaly, 0) + (delay is not None)
    return figures(outcomes), hits
