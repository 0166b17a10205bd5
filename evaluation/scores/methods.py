"""``METHODS``: every method that is compared, by name. Each maps a series to one score a point; higher is stranger."""

from collections.abc import Callable

from analytics.models.scoring.scorer import SeriesScorer
from evaluation.baselines import change_points, decomposed, learned, neighbours, random_cut_forest, statistical, tails
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats

Method = Callable[[Series], Floats]
OURS = "fabricscope"


def fabricscope(series: Series) -> Floats:
    """The product's own score; it alerts at 1.0."""
    return SeriesScorer().score(series.times_ns, series.values).score


BASELINES: dict[str, Method] = {
    "robust z-score": statistical.robust_z,
    "EWMA": statistical.ewma,
    "EWMA of differences": statistical.ewma_of_steps,
    "seasonal naive, day": statistical.naive_day,
    "seasonal naive, week": statistical.naive_week,
    "DSPOT": tails.dspot,
    "level and jump, calibrated": tails.level_and_jump,
    "anomaly likelihood": tails.anomaly_likelihood,
    "isolation forest, windows": learned.isolation_forest,
    "half-space trees (River)": learned.half_space_trees,
    "spectral residual": statistical.spectral_residual,
    "left matrix profile": learned.left_discord,
    "KNN-CAD": neighbours.knn_cad,
    "random cut forest": random_cut_forest.random_cut_forest,
    "CUSUM": change_points.cusum,
    "Bayesian change points": change_points.bayesian_change,
    "FluxEV": decomposed.fluxev,
    "OneShotSTL": decomposed.one_shot_stl,
}
METHODS: dict[str, Method] = {OURS: fabricscope, **BASELINES}
