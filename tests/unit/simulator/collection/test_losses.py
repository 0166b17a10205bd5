"""How much is lost, and in how long bursts."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.collection.config import Losses
from simulator.collection.losses import Fate, LossState
from simulator.layout import Exporter
from telemetry.samples import DownReason

Fates = list[Fate | DownReason]


def fates(config: Losses, interval_s: float, n: int, seed: int = 1, exporter: Exporter = Exporter.DCGM) -> Fates:
    state = LossState(config, exporter, np.random.default_rng(seed))
    return [state.fate(round(k * interval_s * NS_PER_S)) for k in range(1, n + 1)]


def runs(lost: np.ndarray) -> np.ndarray:
    """Lengths of the bursts."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(int), [0]])))
    return edges[1::2] - edges[::2]


def is_lost(found: Fates) -> np.ndarray:
    return np.array([fate is not Fate.ARRIVES for fate in found])


@pytest.mark.parametrize("interval_s", [1.0, 10.0])
def test_share_and_length_of_bursts_are_those_of_the_model(interval_s: float) -> None:
    config = Losses(bad_share=0.05, burst_s=40.0)
    lost = is_lost(fates(config, interval_s, 60_000))
    # The chain that the process is when looked at every interval: it stays bad with p, so a run has 1 / (1 - p)
    p = 0.05 + 0.95 * np.exp(-interval_s / 40.0 / 0.95)
    lengths = runs(lost)
    error = lengths.std() / np.sqrt(len(lengths))
    assert lengths.mean() == pytest.approx(1 / (1 - p), abs=4 * error)
    assert lost.mean() == pytest.approx(0.05, abs=4 * 0.05 * np.sqrt(2 / len(lengths)))


@pytest.mark.parametrize("interval_s", [1.0, 5.0])
def test_bursts_last_as_long_however_often_a_target_is_read(interval_s: float) -> None:
    lengths = runs(is_lost(fates(Losses(bad_share=0.2, burst_s=60.0), interval_s, 100_000)))
    # Exponential: the error of the mean is that part of it. Breaks between two reads are not seen: + 4 % at 5 s
    assert lengths.mean() * interval_s == pytest.approx(60.0, rel=4 / np.sqrt(len(lengths)) + 0.05)


def test_neither_state_need_be_pure() -> None:
    config = Losses(bad_share=0.2, burst_s=1000.0, loss_in_bad=0.9, loss_in_good=0.05)
    lost = is_lost(fates(config, 10.0, 100_000))
    assert lost.mean() == pytest.approx(0.2 * 0.9 + 0.8 * 0.05, abs=0.03)


def test_one_burst_has_one_outcome() -> None:
    found = fates(Losses(bad_share=0.1, burst_s=100.0), 10.0, 20_000)
    bursts, burst = [], []
    for fate in found:
        if fate is not Fate.ARRIVES:
            burst.append(fate)
        elif burst:
            bursts.append(burst)
            burst = []
    assert all(len(set(burst)) == 1 for burst in bursts)
    failed = np.mean([burst[0] is not Fate.VANISHES for burst in bursts])
    assert failed == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / len(bursts)))


@pytest.mark.parametrize(
    ("exporter", "reasons"),
    [
        (Exporter.NODE, {DownReason.TIMEOUT, DownReason.REFUSED, DownReason.RESET}),
        (Exporter.GNMI, {DownReason.CLOSED, DownReason.SILENT, DownReason.TIMEOUT}),
    ],
)
def test_failures_have_the_reasons_of_their_collector(exporter: Exporter, reasons: set[DownReason]) -> None:
    found = fates(Losses(bad_share=0.3, burst_s=20.0, failed_share=1.0), 10.0, 5000, exporter=exporter)
    assert set(found) - {Fate.ARRIVES} == reasons


def test_some_targets_are_worse() -> None:
    config = Losses(bad_share=0.01, burst_s=40.0, worse_share=0.1, worse_factor=10.0)
    shares = [LossState(config, Exporter.DCGM, np.random.default_rng([seed, 7])).bad_share for seed in range(1000)]
    assert set(shares) == {0.01, 0.1}
    assert shares.count(0.1) == pytest.approx(100, abs=40)  # standard deviation 9.5


def test_the_same_seed_loses_the_same() -> None:
    config = Losses(bad_share=0.1)
    assert fates(config, 10.0, 500, seed=4) == fates(config, 10.0, 500, seed=4)
    assert fates(config, 10.0, 500, seed=4) != fates(config, 10.0, 500, seed=5)
