"""The methods of ``evaluate`` on the telemetry of campaigns, beside the incidents of the product on the same.

Every method scores every series that changes; what becomes of its alerts is in ``campaigns_pages``. One threshold for
all series, chosen on a seed to tune on; figures on the seeds of the report.
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
from evaluation.campaigns.baseline_pages import (
    Alerts,
    Figures,
    Pages,
    Scene,
    false_events,
    false_findings,
    figures,
    incidents,
    pages,
    scene,
)
from evaluation.campaigns.plan import INTERVAL_S, Plan, faulty, healthy
from evaluation.campaigns.play import Played, play
from evaluation.campaigns.run import REPORT, TUNE
from evaluation.campaigns.series import Recorder, Recording
from evaluation.campaigns.truth import reached
from evaluation.series import evaluate
from evaluation.series.evaluate import OURS, Method
from evaluation.series.signals import Floats
from evaluation.series.synthetic import Series

Row = dict[str, Any]
TITLES = {
    "all campaigns": "The product's incidents, its score of single series alone, and the other methods",
    "pairs": "The campaign of pairs of the first seed, which the slow methods have played too",
}
# More health before the first fault, and nothing in it counts: the methods have up to 128 points to see first.
HEALTH_FIRST_S = 1200.0
PROBATION = int(HEALTH_FIRST_S / INTERVAL_S)
LOUDEST = 0.02  # share of a method's points that is kept: with more of them alerting all devices always do
LEVELS = 80
ROBUST_Z, MATRIX_PROFILE = "robust z-score", "left matrix profile"
SEASONS = ("seasonal naive, day", "seasonal naive, week")  # no campaign lasts a day
SLOW = ("isolation forest, windows", "half-space trees (River)", "random cut forest")
QUICK = tuple(name for name in evaluate.METHODS if name not in (*SEASONS, *SLOW))


@dataclass(frozen=True, slots=True)
class Heard:
    """One campaign: what the product told, and what each method says of its series."""

    scene: Scene
    incidents: Pages
    false_findings: int
    said: dict[str, Alerts]


def run(processes: int = 1) -> list[Row]:
    """Rows of the tables in ``TITLES``, as plain values; NaN: nothing is known."""
    tuning, report = _tasks(TUNE[:1]), _tasks(REPORT)
    tasks = tuning + report
    with get_context("spawn").Pool(processes) as pool:
        # The long ones first, so that no process is left alone with one.
        long_first = sorted(range(len(tasks)), key=lambda at: -len(tasks[at][1]))
        jobs = {at: pool.apply_async(_hear, tasks[at]) for at in long_first}
        heard = [jobs[at].get() for at in range(len(tasks))]
    return rows(heard[: len(tuning)], heard[len(tuning) :])


def _tasks(seeds: Sequence[int]) -> list[tuple[Plan, tuple[str, ...]]]:
    """Every campaign, and the methods that play it."""
    pairs = faulty(seeds[0])[-1]
    lives = [plan for seed in seeds for plan in (*faulty(seed), healthy(seed))]
    return [(plan, (*QUICK, *SLOW) if plan == pairs else QUICK) for plan in lives]


def later(plan: Plan, by_s: float) -> Plan:
    """The same after so much more of health."""
    faults = (fault.model_copy(update={"at_s": fault.at_s + by_s}) for fault in plan.faults)
    return replace(plan, faults=tuple(faults), lasts_s=plan.lasts_s + by_s)


def recorded(plan: Plan, health_s: float = HEALTH_FIRST_S) -> tuple[Played, Recording]:
    """Plays it after so much more of health, and a minute more while a fault that needs a job finds none.

    Raises ConfigError when none runs for long.
    """
    recorder = Recorder()
    try:
        played = play(later(plan, health_s), recorder.take)
    except ConfigError:
        if health_s >= 2 * HEALTH_FIRST_S:
            raise
        return recorded(plan, health_s + 60.0)
    return played, recorder.recording()


def _hear(plan: Plan, methods: Sequence[str]) -> Heard:
    played, recording = recorded(plan)
    causes = reached(played.truths, played.topology)
    counts_ns = played.start_ns + int(HEALTH_FIRST_S * NS_PER_S)
    return Heard(
        scene(played, causes, recording, counts_ns),
        incidents(played, causes),
        false_findings(played, causes),
        {name: alerts(name, recording, counts_ns) for name in methods},
    )


def alerts(name: str, recording: Recording, counts_ns: int) -> Alerts:
    """The points from ``counts_ns`` on at which a method is loudest; of ours all that alert."""
    scores = robust_z(recording) if name == ROBUST_Z else _each(METHODS[name], recording)
    scores[recording.times_ns < counts_ns] = 0.0
    level = 1.0 if name == OURS else np.quantile(scores, 1.0 - LOUDEST)
    kept = np.flatnonzero((scores > 0.0) & (scores >= level))
    return Alerts(scores[kept], recording.times_ns[kept], np.searchsorted(recording.starts, kept, side="right") - 1)


def _each(method: Method, recording: Recording) -> Floats:
    scores, starts = np.zeros(recording.values.size), recording.starts.tolist()
    for start, end in pairwise(starts):
        times_ns, values = recording.times_ns[start:end], recording.values[start:end]
        scores[start:end] = method(Series("campaign", 0, times_ns, values, (), PROBATION))
    return scores


def robust_z(recording: Recording, window: int = 288) -> Floats:
    """``rivals.robust_z``, of all series of one length at once: ten times as fast where so many are so short."""
    scores, starts, lengths = np.zeros(recording.values.size), recording.starts[:-1], np.diff(recording.starts)
    for length in np.unique(lengths).tolist():
        points = starts[lengths == length][:, None] + np.arange(length)
        values = recording.values[points]
        for i in range(30, length):
            scores[points[:, i]] = distances(values[:, max(0, i - window) : i], values[:, i])
    return scores


def left_discord(series: Series, length: int = 24) -> Floats:
    """``learned.left_discord``, but flat stretches are all alike: there they are as far as can be from any."""
    scores = learned.left_discord(series, length)
    if scores.size >= length:
        scores[length - 1 :][np.ptp(sliding_window_view(series.values, length), axis=1) == 0.0] = 0.0
    return scores


METHODS: dict[str, Method] = {**evaluate.METHODS, MATRIX_PROFILE: left_discord}


def rows(tuning: Sequence[Heard], report: Sequence[Heard]) -> list[Row]:
    """One row a method and table: the threshold from ``tuning``, the figures from ``report``. Ours also at 1.0."""
    tuned = {name: best(name, tuning) for name in (*QUICK, *SLOW)}
    found = []
    for table, names in zip(TITLES, (QUICK, (*QUICK, *SLOW)), strict=True):
        among = [one for one in report if set(names) <= one.said.keys()]
        ours = figures([one.scene for one in among], [one.incidents for one in among])
        false = _per_million(sum(one.false_findings for one in among), among)
        found.append({"table": table, "method": f"{OURS}, incidents", "threshold": np.nan, **_named(ours, false, ours)})
        for name, level in ((OURS, 1.0), *((name, tuned[name]) for name in names)):
            method = f"{OURS}, score alone" if name == OURS else name
            told = {"table": table, "method": method, "threshold": level}
            found.append({**told, **_judged(name, level, among, ours.false)})
    return found


def best(name: str, tuning: Sequence[Heard]) -> float:
    """The threshold of the highest F1."""
    swept = {level: at_level(name, level, tuning).f1 for level in _levels(name, tuning)}
    return max(swept, key=lambda level: np.nan_to_num(swept[level]))


def at_level(name: str, level: float, among: Sequence[Heard]) -> Figures:
    """A method at one threshold, in the campaigns that it has played."""
    played = [one for one in among if name in one.said]
    return figures([one.scene for one in played], [pages(one.scene, one.said[name].above(level)) for one in played])


def _levels(name: str, among: Sequence[Heard]) -> list[float]:
    """Levels at which ever fewer points alert, none below what was kept of a campaign, and one that none reaches."""
    kept = [one.said[name].scores for one in among if name in one.said]
    lowest = max((scores.min() for scores in kept if scores.size), default=np.inf)
    scores = np.concatenate(kept)
    scores = scores[scores >= lowest]
    shares = 1.0 - np.geomspace(1.0, 1.0 / max(scores.size, 1), LEVELS)
    levels: list[float] = np.unique(np.quantile(scores, shares)).tolist() if scores.size else []
    return [*levels, np.inf]


def _judged(name: str, level: float, among: Sequence[Heard], calm: int) -> Row:
    """calm: false pages at which methods are compared once more, with a threshold chosen after the fact."""
    swept = [at_level(name, other, among) for other in _levels(name, among)]
    as_calm = max((each for each in swept if each.false <= calm), key=lambda each: (each.noticed, each.named))
    false = sum(false_events(one.scene, one.said[name].above(level)) for one in among)
    return _named(at_level(name, level, among), _per_million(false, among), as_calm)


def _per_million(count: int, among: Sequence[Heard]) -> float:
    """Per million series and day."""
    return count * 1e6 / sum(one.scene.all_series * one.scene.days for one in among)


def _named(found: Figures, false_events: float, as_calm: Figures) -> Row:
    return {
        "noticed": round(found.noticed, 3),
        "names_root": round(found.named, 3),
        "pages_per_fault": round(found.pages, 2),
        "precision": round(found.precision, 3),
        "f1": round(found.f1, 3),
        "false_pages": found.false,
        "false_pages_a_day": round(found.a_day, 1),
        "in_health_a_day": round(found.health_a_day, 1),
        "false_events_per_million_series_days": round(false_events, 1),
        "delay_intervals": round(found.delay, 2),
        "noticed_if_as_calm": round(as_calm.noticed, 3),
        "names_root_if_as_calm": round(as_calm.named, 3),
    }
