"""What alerts and what does not, for which reason, and that one alert level holds for noise of every kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.scoring.layout import CORE
from analytics.models.scoring.scorer import REASONS, Scores, SeriesScorer

START_NS = 1_700_000_000 * 10**9
Floats = NDArray[np.float64]


def scored(values: Floats, step_s: int = 300) -> Scores:
    n = values.size
    return SeriesScorer().score(START_NS + np.arange(n, dtype=np.int64) * step_s * 10**9, values.astype(np.float64))


def learned(values: Floats, step_s: int) -> Any:
    """The record of a series that has scored these values."""
    scorer = SeriesScorer()
    scorer.score(START_NS + np.arange(values.size, dtype=np.int64) * step_s * 10**9, values)
    return scorer.state().arrays["core"].view(CORE)[0, 0]


def events(alerts: NDArray[np.bool_], apart: int = 12) -> int:
    at = np.flatnonzero(alerts)
    return int(at.size > 0) + int((np.diff(at) > apart).sum())


def normal(n: int, seed: int = 3) -> Floats:
    return np.random.default_rng(seed).normal(100, 3, n)


def autocorrelated(rng: np.random.Generator, n: int) -> Floats:
    noise = rng.normal(0, 1, n)
    for i in range(1, n):
        noise[i] += 0.9 * noise[i - 1]
    return noise


NOISES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "even": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: rng.exponential(1, n),
    "log-normal": lambda rng, n: rng.lognormal(0, 1, n),
    "Student's t of 4": lambda rng, n: rng.standard_t(4, n),
    "few counts": lambda rng, n: rng.poisson(0.1, n).astype(np.float64),
    "counts": lambda rng, n: rng.poisson(3, n).astype(np.float64),
    "two values": lambda rng, n: (rng.random(n) < 0.5).astype(np.float64),
    "a counter": lambda rng, n: np.cumsum(rng.poisson(100, n)).astype(np.float64),
    "a walk": lambda rng, n: np.cumsum(rng.normal(0, 1, n)),
    "autocorrelated": autocorrelated,
    "constant": lambda rng, n: np.full(n, 7.0),
}


@pytest.mark.parametrize("name", NOISES)
def test_noise_of_any_kind_alerts_seldom(name: str) -> None:
    found = sum(events(scored(NOISES[name](np.random.default_rng(seed), 5000)).alert) for seed in range(12))
    assert found <= 60  # 1 in 1000 values


def test_normal_noise_hardly_ever_alerts() -> None:
    assert sum(events(scored(normal(5000, seed)).alert) for seed in range(12)) <= 9


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_spike_alerts_at_once_whatever_the_unit(scale: float) -> None:
    values = normal(1000)
    values[700] += 40
    found = scored(values * scale)
    assert found.alert[700]
    assert found.lower[700] < found.expected[700] < found.upper[700] < values[700] * scale


def test_an_equal_spike_alerts_again() -> None:
    values = normal(1500)
    values[[600, 900, 1200]] += 45
    assert scored(values).alert[[600, 900, 1200]].all()


def walk(seed: int, noise: float = 0.0, step: float = 1.0) -> Floats:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(0, step, 3000)) + rng.normal(0, noise, 3000)


@pytest.mark.parametrize("at", [500, 1000, 1500, 2000, 2500, 2800])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("height", [25, -60])
def test_the_value_after_a_spike_is_the_way_back_and_no_second_anomaly(height: float, noise: float, at: int) -> None:
    """Of walks, which are forecast by their last value: each spike was one jump there and one back. A walk that alerts
    there without a spike, by its drift, says nothing.
    """
    found = []
    for seed in range(12):
        values = walk(seed, noise)
        if scored(values).alert[at : at + 6].any():
            continue
        values[at] += height
        found.append(scored(values).alert[at : at + 6])
    alerts = np.array(found).sum(axis=0)
    assert alerts[0] >= 11
    assert alerts[1:].sum() <= 1


def test_a_jump_to_the_other_side_is_no_way_back() -> None:
    found = []
    for seed in range(12):
        values = walk(seed)
        values[2500:2502] += 60, -60
        found.append(scored(values).alert[2500:2502])
    assert np.array(found).sum(axis=0).min() >= 11


def test_each_of_many_events_near_each_other_alerts() -> None:
    """They fill one in a hundred values."""
    values, starts = normal(6000), 4000 + 25 * np.arange(30)
    for start in starts:
        values[start : start + 2] += 45
    found = scored(values)
    assert found.alert[starts].all()
    assert events(found.alert[starts[-1] + 30 :]) <= 1


def test_spikes_that_repeat_stop_alerting() -> None:
    values = normal(4000)
    values[50::100] += 60
    found = scored(values)
    assert found.alert[50:350:100].any()
    assert not found.alert[2000:].any()


def test_a_lasting_level_alerts_and_is_then_followed() -> None:
    values = normal(1200)
    values[600:] += 45
    found = scored(values)
    assert found.alert[600:620].mean() > 0.8
    assert not found.alert[760:].any()
    assert found.expected[-1] == pytest.approx(145, abs=2)


def test_a_frozen_series_is_noticed_as_silence() -> None:
    values = normal(1000)
    values[700:] = values[700]
    found = scored(values)
    assert found.alert[700:730].any()
    assert REASONS[found.reason[715]] == "silence"


def test_a_burst_of_noise_is_noticed() -> None:
    values = normal(1500)
    values[1000:1040] += np.random.default_rng(9).normal(0, 20, 40)
    assert scored(values).alert[1000:1040].any()


def day(n: int, step_s: int, seed: int = 5) -> Floats:
    phase = (START_NS // 10**9 + np.arange(n) * step_s) % 86_400 / 86_400
    return 100 + 40 * np.sin(2 * np.pi * phase) + np.random.default_rng(seed).normal(0, 3, n)


@pytest.mark.parametrize(("step_s", "n"), [(60, 8000), (300, 2500), (900, 1000), (3600, 400)])
def test_a_day_is_proved_and_what_breaks_it_is_noticed(step_s: int, n: int) -> None:
    values = day(n, step_s)
    spoiled = n - 20 + int(np.argmax(values[n - 20 :]))
    values[spoiled] = 45  # usual at another hour
    found = scored(values, step_s)
    assert found.alert[spoiled]
    assert found.upper[spoiled] - found.lower[spoiled] < 80
    assert events(found.alert[:spoiled]) <= 1


@pytest.mark.parametrize("seed", range(6))
def test_noise_proves_no_season(seed: int) -> None:
    assert learned(normal(3000, seed), 300)["season_proved"] == 0.0


@pytest.mark.parametrize(("period", "worked"), [(50, 35), (130, 90)])
def test_a_period_of_its_own_is_found_and_a_missed_turn_noticed(period: int, worked: int) -> None:
    n = 12 * period + 1500
    at = np.arange(n)
    late = n - n % period - period + worked  # here the work should end
    values = np.where(at % period < worked, 90.0, 10.0) + np.random.default_rng(2).normal(0, 1, n)
    values[late : late + period - worked] = 90 + np.random.default_rng(4).normal(0, 1, period - worked)
    found = scored(values, 60)
    assert found.alert[late : late + period - worked].any()
    assert REASONS[found.reason[late + int(np.argmax(found.score[late : late + period - worked]))]] == "phase"
    assert events(found.alert[:late]) <= 2


@pytest.mark.parametrize("name", ["a walk", "autocorrelated", "normal"])
def test_where_there_is_no_period_none_is_proved(name: str) -> None:
    for seed in range(6):
        values = NOISES[name](np.random.default_rng(seed), 5000)
        assert learned(values, 60)["phase"]["proved"] == 0.0


def test_the_way_back_from_an_event_is_no_second_event() -> None:
    values = normal(1500)
    values[800:900] += 45
    found = scored(values)
    assert found.alert[800:810].any()
    assert not found.alert[912:].any()


@pytest.mark.parametrize("seed", range(4))
def test_daily_data_have_a_week(seed: int) -> None:
    days = np.arange(400)
    values = np.where(days % 7 < 5, 100.0, 40.0) + np.random.default_rng(seed).normal(0, 4, 400)
    values[355] = 100  # a Saturday like a Friday
    found = scored(values, 86_400)
    assert np.flatnonzero(found.alert).tolist() == [355]
    assert REASONS[found.reason[355]] == "phase"
