"""From statistics to a score and a reason, by hand."""

import math

import numpy as np
import pytest

from analytics.models.scoring import kernel
from analytics.models.scoring.kernel import REASONS
from analytics.models.scoring.layout import (
    DRIFT_DOWN,
    DRIFT_UP,
    EXCESS,
    EXPERTS,
    JUMP_DOWN,
    JUMP_UP,
    LEVEL_DOWN,
    LEVEL_UP,
    PHASE_DOWN,
    PHASE_UP,
)
from tests.unit.analytics.models.scoring import records


@pytest.mark.parametrize(
    ("run", "run_mean", "run_max", "nats"),
    [
        (5.0, 2.0, 5.0, 0.0),  # six equal values, where seven and a half are usual
        (9.0, 2.0, 5.0, 3.5066 + (10.0 - 7.5) / 2.0),
        (9.0, 1.0, 5.0, 3.5066 + (10.0 - 7.5) / 1.75),  # 0.35 of the longest, more than the mean
    ],
)
def test_a_run_of_equal_values_is_compared_with_the_longest(
    run: float, run_mean: float, run_max: float, nats: float
) -> None:
    core = records.core()
    core.last, core.runs, core.run, core.run_mean, core.run_max = 7.0, 20.0, run, run_mean, run_max
    assert kernel.surprise_of_run(core, 7.0) == pytest.approx(nats)
    assert kernel.surprise_of_run(core, 7.1) == 0.0
    core.runs = 19.0
    assert kernel.surprise_of_run(core, 7.0) == 0.0


def judged(
    statistics: dict[int, float], *, count: float = 1e9, interval_s: float = 300.0, muted: int = 0
) -> tuple[float, str]:
    core, tails, values = records.core(), records.tails(), np.zeros(EXPERTS)
    core.values.count, core.interval_s, core.phase.proved = count, interval_s, 1.0
    for expert, value in statistics.items():
        values[expert] = value
    score, reason = kernel.judge(core, tails, values, 1.0, False, muted)
    return score, REASONS[reason]


@pytest.mark.parametrize(
    ("expert", "reason"),
    [
        (LEVEL_UP, "level"),
        (LEVEL_DOWN, "level"),
        (JUMP_UP, "shape"),
        (DRIFT_DOWN, "drift"),
        (PHASE_UP, "phase"),
    ],
)
def test_the_least_likely_statistic_gives_score_and_reason(expert: int, reason: str) -> None:
    threshold, excess = (2.3, 0.55) if expert < DRIFT_DOWN - 1 else (3.0, 0.9)
    weight = 0.8 if expert in (LEVEL_UP, LEVEL_DOWN) else 1.0
    score, given = judged({expert: threshold + 4.0 * excess, (expert + 2) % EXPERTS: threshold})
    assert given == reason
    assert score == pytest.approx(weight * (3.5066 + 4.0) / 9.6, rel=1e-5)


def test_statistics_below_their_thresholds_score_0() -> None:
    assert judged(dict.fromkeys(range(EXPERTS), 2.2)) == (0.0, "")


def test_a_muted_expert_is_left_out() -> None:
    assert judged({LEVEL_UP: 9.0}, muted=kernel.MUTE_LEVEL) == (0.0, "")
    assert judged({LEVEL_UP: 9.0}, muted=kernel.MUTE_SHAPE)[1] == "level"


@pytest.mark.parametrize(
    ("mute", "experts"),
    [
        (kernel.MUTE_LEVEL, (LEVEL_UP, LEVEL_DOWN)),
        (kernel.MUTE_SHAPE, (JUMP_UP, JUMP_DOWN)),
        (kernel.MUTE_DRIFT, (DRIFT_UP, DRIFT_DOWN)),
        (kernel.MUTE_PHASE, (PHASE_UP, PHASE_DOWN)),
    ],
)
def test_each_bit_mutes_its_own_experts(mute: int, experts: tuple[int, ...]) -> None:
    silent = [expert for expert in range(EXPERTS) if judged({expert: 9.0}, muted=mute) == (0.0, "")]
    assert tuple(silent) == experts


@pytest.mark.parametrize(
    ("count", "interval_s", "level"),
    [
        (1e9, 300.0, 9.6),
        (30.0, 300.0, 9.6 * 2.0),  # a cold start needs twice the surprise
        (300.0, 300.0, 9.6 * 1.1),
        (1e9, 300.0 / math.e, 9.6 + 0.4),
        (1e9, 10.0, 9.6 + 0.4 * math.log(30.0)),
        (1e9, 0.001, 9.6 + 0.4 * math.log(300.0)),  # of a second at most
        (1e9, 1800.0, 9.6 - 0.4 * math.log(6.0)),
        (1e9, 3600.0, 9.6 - 0.4 * math.log(12.0)),
        (1e9, 86400.0, 9.6 - 0.4 * math.log(12.0)),  # of an hour at least
    ],
)
def test_short_history_and_the_pace_move_the_alert_level(count: float, interval_s: float, level: float) -> None:
    score, _ = judged({DRIFT_UP: 3.0 + 0.9}, count=count, interval_s=interval_s)
    assert score == pytest.approx(4.5066 / level, rel=1e-5)


def test_what_a_kind_has_learned_counts_as_history() -> None:
    core, tails, statistics = records.core(), records.tails(), np.zeros(EXPERTS)
    core.values.count, core.interval_s, statistics[DRIFT_UP] = 30.0, 300.0, 3.9
    tails.excesses[LEVEL_UP] = EXCESS * 20.0  # three in a hundred values are excesses
    score, _ = kernel.judge(core, tails, statistics, 1.0, False, 0)
    assert score == pytest.approx(4.5066 / (9.6 * (1.0 + 30.0 / (20.0 / 0.03))), rel=1e-5)


def test_the_band_ends_where_the_distance_from_the_level_would_alert() -> None:
    core, tails, now = records.core(), records.tails(), records.moment()
    core.values.level, core.values.scale = 100.0, 10.0
    far = 1.2533 * 10.0 * (2.3 + 0.55 * (9.6 / 0.8 - 3.5066))
    assert kernel.band(core, tails, now) == pytest.approx((100.0, 100.0 - far, 100.0 + far), rel=1e-5)


def test_the_level_of_a_series_that_rests_counts_in_full() -> None:
    core, tails, statistics, now = records.core(), records.tails(), np.zeros(EXPERTS), records.moment()
    core.values.count, core.interval_s, core.rest, statistics[LEVEL_UP] = 1e9, 300.0, 0.61, 2.3 + 4.0 * 0.55
    score, _ = kernel.judge(core, tails, statistics, 1.0, False, 0)
    assert score == pytest.approx((3.5066 + 4.0) / 9.6, rel=1e-5)
    core.values.scale = 10.0
    far = 1.2533 * 10.0 * (2.3 + 0.55 * (9.6 - 3.5066))
    assert kernel.band(core, tails, now) == pytest.approx((0.0, -far, far), rel=1e-5)


def test_the_band_of_a_proved_period_is_around_its_span() -> None:
    core, tails, now = records.core(), records.tails(), records.moment()
    core.phase.proved, core.phase.error, now.period_low, now.period_high = 1.0, 2.0, 50.0, 60.0
    far = 1.2533 * 2.0 * (3.0 + 0.9 * (9.6 - 3.5066))
    assert kernel.band(core, tails, now) == pytest.approx((55.0, 50.0 - far, 60.0 + far), rel=1e-5)
