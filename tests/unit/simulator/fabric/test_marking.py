"""RED and DCQCN's fixed point against their formulas, computed by hand or by another way."""

import math

import pytest

from simulator.fabric import parameters as par
from simulator.fabric.marking import equilibrium_queue, marking

LINE = 50e9  # bytes per second of 400 Gb/s
KMIN, KMAX = 16 * 100e3, 16 * 400e3  # 100 kB and 400 kB for each 25 Gb/s


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (0.0, 0.0),
        (KMIN, 0.0),
        ((KMIN + KMAX) / 2, 0.1),  # half of Pmax 0.2
        (0.75 * KMAX + 0.25 * KMIN, 0.15),
        (KMAX * (1 - 1e-12), 0.2),
        (KMAX, 1.0),
        (2 * KMAX, 1.0),
    ],
)
def test_red_marks_on_a_line_between_kmin_and_kmax(content: float, expected: float) -> None:
    assert marking(content, 0.0, LINE) == pytest.approx(expected, abs=1e-9)


def test_thresholds_are_proportional_to_the_speed() -> None:
    assert marking(2 * KMIN, 0.0, 2 * LINE) == 0.0
    assert marking(KMIN + KMAX, 0.0, 2 * LINE) == pytest.approx(0.1)


@pytest.mark.parametrize("burst", [1e5, KMIN])
@pytest.mark.parametrize("content", [0.0, KMIN / 2])
def test_bursts_mark_below_kmin_as_an_exponential_tail_does(content: float, burst: float) -> None:
    """Mean of RED's line over an exponential of mean ``burst`` above ``content``: the integral from Kmin on."""
    expected = math.exp(-(KMIN - content) / burst) * burst / (KMAX - KMIN) * par.ECN_PMAX
    assert marking(content, burst, LINE) == pytest.approx(expected)


def test_a_link_that_is_down_marks_nothing() -> None:
    assert marking(KMAX, KMAX, 0.0) == 0.0


@pytest.mark.parametrize(("flows", "capacity"), [(1, LINE), (8, LINE), (64, LINE), (8, 2 * LINE)])
def test_the_equilibrium_queue_is_that_of_dcqcns_marking_probability(flows: int, capacity: float) -> None:
    """Zhu et al. 2016, eq. 11: p³ = R_AI N² / (tau C²) · (1/B + N/(T C))², here with units written out."""
    packet = 4178.0
    c, r_ai, b, tau = capacity / packet, 40e6 / 8 / packet, 10e6 / packet, 55e-6
    p = (r_ai * flows**2 / (tau * c**2) * (1 / b + flows / (tau * c)) ** 2) ** (1 / 3)
    kmin, kmax = capacity * 8 * 100e3 / 25e9, capacity * 8 * 400e3 / 25e9
    queue = equilibrium_queue(capacity, flows)
    assert queue == pytest.approx(kmin + p / 0.2 * (kmax - kmin))
    assert kmin < queue < kmax
    assert marking(queue, 0.0, capacity) == pytest.approx(p)


def test_more_senders_share_a_longer_queue_up_to_kmax() -> None:
    queues = [equilibrium_queue(LINE, flows) for flows in (1, 10, 100, 1000, 100_000)]
    assert queues == sorted(queues)
    assert queues[-1] == pytest.approx(KMAX)
