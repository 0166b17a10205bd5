"""The methods of ``evaluation.scores.methods`` on the telemetry of campaigns, beside the product's incidents.

Every method scores every series that changes; ``pages`` groups its alerts. One threshold for all series, chosen on a
tuning seed; figures on the seeds of the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from common.errors import ConfigError
from common.units import NS_PER_S
from evaluation.baselines import learned
from evaluation.baselines.statistical import distances
from evaluation.campaigns.pages import (
    Alerts,
    Figures,
    Labels,
    Pages,
    false_events,
    false_findings,
    figures,
    incidents,
    labels,
    pages,
)
from evaluation.campaigns.plan import INTERVAL_S, Plan, faulty, healthy
from evaluation.campaigns.recording import Recorder, Recording
from evaluation.campaigns.run import REPORT, TUNE
from evaluation.campaigns.run_plan import CampaignRun, run_plan
from evaluation.campaigns.truth import impacts
from evaluation.scores import methods
from evaluation.scores.methods import OURS, Method
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats

Row = dict[str, Any]
TITLES = {
    "all campaigns": "The product's incidents, its score of single series alone, and the baselines",
    "pairs": "The campaign of pairs of the first seed, with the slow baselines too",
}
# Before the first fault, and not counted: the methods need up to 128 points of history.
HEALTHY_FIRST_S = 1200.0
PROBATION = int(HEALTHY_FIRST_S / INTERVAL_S)
KEPT = 0.02  # share of a method's points that is kept as alerts: with more, all devices would always alert
LEVELS = 80
ROBUST_Z, MATRIX_PROFILE = "robust z-score", "left matrix profile"
SEASONAL = ("seasonal naive, day", "seasonal naive, week")  # left out: no campaign lasts a day
SLOW = ("isolation forest, windows", "half-space trees (River)", "random cut forest")
QUICK = tuple(name for name in methods.METHODS if name not in (*SEASONAL, *SLOW))


@dataclass(frozen=True, slots=True)
class CampaignAlerts:
    """One campaign: the product's incidents as pages, and the alerts of each method."""

    labels: Labels
    incidents: Pages
    false_findings: int
    alerts: dict[str, Alerts]


def run(processes: int = 1) -> list[Row]:
    """Rows of the tables in ``TITLES``; NaN: nothing is known."""
    tuning, report = _tasks(TUNE[:1]), _tasks(REPORT)
    tasks = tuning + report
    with get_context("spawn").Pool(processes) as pool:
        # The long ones first, so that no process is left alone with one.
        long_first = sorted(range(len(tasks)), key=lambda at: -len(tasks[at][1]))
        jobs = {at: pool.apply_async(_run_methods, tasks[at]) for at in long_first}
        found = [jobs[at].get() for at in range(len(tasks))]
    return rows(found[: len(tuning)], found[len(tuning) :])


def _tasks(seeds: Sequence[int]) -> list[tuple[Plan, tuple[str, ...]]]:
    """Every campaign, and the methods that run on it."""
    pairs = faulty(seeds[0])[-1]
    plans = [plan for seed in seeds for plan in (*faulty(seed), healthy(seed))]
    return [(plan, (*QUICK, *SLOW) if plan == pairs else QUICK) for plan in plans]


def later(plan: Plan, by_s: float) -> Plan:
    """The same plan with ``by_s`` more seconds before its faults."""
    faults = (fault.model_copy(update={"at_s": fault.at_s + by_s}) for fault in plan.faults)
    return replace(plan, faults=tuple(faults), lasts_s=plan.lasts_s + by_s)


def recorded(plan: Plan, healthy_s: float = HEALTHY_FIRST_S) -> tuple[CampaignRun, Recording]:
    """Runs it after ``healthy_s`` more seconds without faults, and a minute more while a fault has no job to hit.

    ConfigError when no job runs for long.
    """
    recorder = Recorder()
    try:
        found = run_plan(later(plan, healthy_s), recorder.add)
    except ConfigError:
        if healthy_s >= 2 * HEALTHY_FIRST_S:
            raise
        return recorded(plan, healthy_s + 60.0)
    return found, recorder.recording()


def _run_methods(plan: Plan, names: Sequence[str]) -> CampaignAlerts:
    found, recording = recorded(plan)
    causes = impacts(found.truths, found.topology)
    counts_ns = found.start_ns + int(HEALTHY_FIRST_S * NS_PER_S)
    return CampaignAlerts(
        labels(found, causes, recording, counts_ns),
        incidents(found, causes),
        false_findings(found, causes),
        {name: alerts(name, recording, counts_ns) for name in names},
    )


def alerts(name: str, recording: Recording, counts_ns: int) -> Alerts:
    """The points from ``counts_ns`` on with a method's highest scores; of the product's score all that alert."""
    scores = robust_z(recording) if name == ROBUST_Z else _each(METHODS[name], recording)
    scores[recording.times_ns < counts_ns] = 0.0
    level = 1.0 if name == OURS else np.quantile(scores, 1.0 - KEPT)
    kept = np.flatnonzero((scores > 0.0) & (scores >= level))
    return Alerts(scores[kept], recording.times_ns[kept], np.searchsorted(recording.starts, kept, side="right") - 1)


def _each(method: Method, recording: Recording) -> Floats:
    scores, starts = np.zeros(recording.values.size), recording.starts.tolist()
    for start, end in pairwise(starts):
        times_ns, values = recording.times_ns[start:end], recording.values[start:end]
        scores[start:end] = method(Series("campaign", 0, times_ns, values, (), PROBATION))
    return scores


def robust_z(recording: Recording, window: int = 288) -> Floats:
    """``statistical.robust_z`` for all series of one length at once: ten times as fast for many short series."""
    scores, starts, lengths = np.zeros(recording.values.size), recording.starts[:-1], np.diff(recording.starts)
    for length in np.unique(lengths).tolist():
        points = starts[lengths == length][:, None] + np.arange(length)
        values = recording.values[points]
        for i in range(30, length):
            scores[points[:, i]] = distances(values[:, max(0, i - window) : i], values[:, i])
    return scores


def left_discord(series: Series, length: int = 24) -> Floats:
    """``learned.left_discord`` with score 0 in constant windows: there each would be as far as possible from any."""
    scores = learned.left_discord(series, length)
    if scores.size >= length:
        scores[length - 1 :][np.ptp(sliding_window_view(series.values, length), axis=1) == 0.0] = 0.0
    return scores


METHODS: dict[str, Method] = {**methods.METHODS, MATRIX_PROFILE: left_discord}


def rows(tuning: Sequence[CampaignAlerts], report: Sequence[CampaignAlerts]) -> list[Row]:
    """One row a method and table: the threshold from ``tuning``, the figures from ``report``. Ours also at 1.0."""
    tuned = {name: best(name, tuning) for name in (*QUICK, *SLOW)}
    found = []
    for table, names in zip(TITLES, (QUICK, (*QUICK, *SLOW)), strict=True):
        among = [one for one in report if set(names) <= one.alerts.keys()]
        ours = figures([one.labels for one in among], [one.incidents for one in among])
        false = _per_million(sum(one.false_findings for one in among), among)
        found.append({"table": table, "method": f"{OURS}, incidents", "threshold": np.nan, **_named(ours, false, ours)})
        for name, level in ((OURS, 1.0), *((name, tuned[name]) for name in names)):
            method = f"{OURS}, score alone" if name == OURS else name
            head = {"table": table, "method": method, "threshold": level}
            found.append({**head, **_figures_at(name, level, among, ours.false)})
    return found


def best(name: str, tuning: Sequence[CampaignAlerts]) -> float:
    """The threshold of the highest F1."""
    swept = {level: at_level(name, level, tuning).f1 for level in _levels(name, tuning)}
    return max(swept, key=lambda level: np.nan_to_num(swept[level]))


def at_level(name: str, level: float, among: Sequence[CampaignAlerts]) -> Figures:
    """A method at one threshold, in the campaigns that it has run on."""
    ran = [one for one in among if name in one.alerts]
    return figures([one.labels for one in ran], [pages(one.labels, one.alerts[name].above(level)) for one in ran])


def _levels(name: str, among: Sequence[CampaignAlerts]) -> list[float]:
    """Levels that decreasing shares of points reach, none below what was kept of a campaign, and infinity."""
    kept = [one.alerts[name].scores for one in among if name in one.alerts]
    lowest = max((scores.min() for scores in kept if scores.size), default=np.inf)
    scores = np.concatenate(kept)
    scores = scores[scores >= lowest]
    shares = 1.0 - np.geomspace(1.0, 1.0 / max(scores.size, 1), LEVELS)
    levels: list[float] = np.unique(np.quantile(scores, shares)).tolist() if scores.size else []
    return [*levels, np.inf]


def _figures_at(name: str, level: float, among: Sequence[CampaignAlerts], false_pages: int) -> Row:
    """false_pages: at which recalls are compared too, with a threshold chosen with hindsight."""
    swept = [at_level(name, other, among) for other in _levels(name, among)]
    equal = max((each for each in swept if each.false <= false_pages), key=lambda each: (each.recall, each.root_named))
    false = sum(false_events(one.labels, one.alerts[name].above(level)) for one in among)
    return _named(at_level(name, level, among), _per_million(false, among), equal)


def _per_million(count: int, among: Sequence[CampaignAlerts]) -> float:
    """Per million series and day."""
    return count * 1e6 / sum(one.labels.all_series * one.labels.days for one in among)


def _named(found: Figures, false_events: float, at_equal_false: Figures) -> Row:
    return {
        "recall": round(found.recall, 3),
        "root_named": round(found.root_named, 3),
        "pages_per_fault": round(found.pages, 2),
        "precision": round(found.precision, 3),
        "f1": round(found.f1, 3),
        "false_pages": found.false,
        "false_pages_per_day": round(found.per_day, 1),
        "healthy_false_pages_per_day": round(found.healthy_per_day, 1),
        "false_events_per_million_series_days": round(false_events, 1),
        "delay_intervals": round(found.delay, 2),
        "recall_at_equal_false": round(at_equal_false.recall, 3),
        "root_named_at_equal_false": round(at_equal_false.root_named, 3),
    }
