"""Synthetic series are the same for the same seed, and their labels cover what was injected."""

import numpy as np
import pytest

from evaluation.series.injections import INJECTIONS
from evaluation.series.kinds import KINDS
from evaluation.series.synthetic import REPORT_SEEDS, TUNING_SEEDS, corpus, generate


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_one_series_byte_for_byte(kind):
    first, again, other = generate(kind, 7), generate(kind, 7), generate(kind, 8)
    assert first.values.tobytes() == again.values.tobytes()
    assert first.times_ns.tobytes() == again.times_ns.tobytes()
    assert first.windows == again.windows
    assert first.values.tobytes() != other.values.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_times_ascend_and_windows_are_after_the_probation(kind):
    for seed in range(20):
        series = generate(kind, seed)
        assert series.times_ns.size == series.values.size
        assert np.all(np.diff(series.times_ns) > 0)
        assert np.all(np.isfinite(series.values))
        edges = [edge for window in series.windows for edge in (window.start, window.end)]
        assert edges == sorted(edges)
        assert all(series.probation < edge <= series.values.size for edge in edges)
        assert all(window.start < window.end for window in series.windows)


def test_tuning_seeds_and_report_seeds_are_disjoint():
    assert not set(TUNING_SEEDS) & set(REPORT_SEEDS)


def test_every_injection_happens_and_some_series_are_healthy():
    drawn = [generate(kind, seed) for kind in KINDS for seed in range(30)]
    assert {window.anomaly for series in drawn for window in series.windows} == {*INJECTIONS, "excused"}
    assert any(not series.windows for series in drawn)
    assert any(np.ptp(np.diff(series.times_ns)) > 0 for series in drawn), "none with missing points"


def test_every_kind_is_in_the_corpus():
    assert {series.kind for series in corpus((1,))} == set(KINDS)
