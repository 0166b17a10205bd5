"""Made series with many events: how many, how near, how high, and the same bytes each time."""

import numpy as np
import pytest

from evaluation.series.recurring import KINDS, TUNING_SEEDS, corpus, generate


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, second = generate("service_rate", 5), generate("service_rate", 5)
    assert first.values.tobytes() == second.values.tobytes()
    assert first.windows == second.windows
    assert first.values.tobytes() != generate("service_rate", 6).values.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_many_and_fill_at_most_a_fiftieth(kind: str) -> None:
    _, least, most = KINDS[kind]
    for seed in TUNING_SEEDS:
        series = generate(kind, seed)
        assert len(series.windows) <= most
        assert len(series.windows) >= 0.5 * least
        inside = sum(window.end - window.start for window in series.windows)
        assert inside <= max(0.02 * series.values.size, len(series.windows))
        assert all(window.start > series.probation for window in series.windows)


def test_events_of_a_series_have_a_like_height() -> None:
    series = generate("service_latency", 2)
    usual, scale = np.median(series.values), series.values.std()
    heights = [(series.values[each.start : each.end].mean() - usual) / scale for each in series.windows]
    assert len(heights) >= 5
    assert max(heights) < 4 * min(heights)


def test_a_resting_counter_rests_most_of_the_time() -> None:
    for each in corpus(TUNING_SEEDS):
        if each.kind == "resting_counter":
            assert np.mean(each.values == 0) > 0.85
