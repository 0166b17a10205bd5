"""Optics against their formulas: bit errors from Q, codewords from bit errors, and what both do to counters."""

import math

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.fabric.optics import CODEWORD_BITS, CORRECTABLE, LANES, Optics, _round, bit_error_ratio, codeword_odds
from simulator.fabric.state import Fabric, Flags
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=2, gpus_per_host=2))
UP: Flags = np.ones(len(LAYOUT.ports), np.bool_)


@pytest.mark.parametrize(
    ("q", "ber"),
    [
        (0.0, 0.5),
        (3.0, 1.35e-3),
        (5.9978, 1e-9),  # the usual definition of a receiver's sensitivity: Agrawal, section 4.5
        (7.0345, 1e-12),
    ],
)
def test_the_bit_error_ratio_of_a_quality_factor(q: float, ber: float) -> None:
    assert bit_error_ratio(q) == pytest.approx(ber, rel=2e-3)


def binomial(k: int, p: float, n: int = 544) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize("ber", [1e-6, 1e-5, 1e-4, 3e-4, 1e-3])
def test_rs_544_514_corrects_up_to_15_symbols(ber: float) -> None:
    p = 1 - (1 - ber) ** 10  # a symbol of ten bits is wrong
    corrected, uncorrectable = codeword_odds(ber)
    assert corrected == pytest.approx(sum(binomial(k, p) for k in range(1, 16)), rel=1e-9)
    tail = sum(binomial(k, p) for k in range(16, 100))
    assert uncorrectable == pytest.approx(tail if tail > 1e-15 else 0.0, rel=1e-6)


def test_without_bit_errors_every_codeword_is_clean() -> None:
    assert codeword_odds(0.0) == (0.0, 0.0)


def test_the_table_of_kp4_fec_holds() -> None:
    """IEEE 802.3bs: at a bit error ratio of 2.4e-4 the frame loss ratio stays near 1e-13 for RS(544,514)."""
    assert 1e-16 < codeword_odds(2.4e-4)[1] < 1e-11


def optics(seed: int = 1) -> Optics:
    return Optics(Fabric(LAYOUT, 4), np.random.default_rng(seed))


def test_3_db_less_light_halves_the_quality_factor() -> None:
    found = optics()
    found._q[:] = 6.0
    found.attenuation_db[0] = 10 * math.log10(2.0)
    found.tick(1.0, UP)
    assert found.ber[0, 0] == pytest.approx(bit_error_ratio(3.0), rel=0.15)  # 0.2 % noise of Q
    assert found.ber[1:, 0].max() < 1e-8
    assert np.median(found.received_dbm[1:] - found._received[1:]) == pytest.approx(0.0, abs=0.05)
    assert (found.received_dbm[0] - found._received[0]).mean() == pytest.approx(-3.01, abs=0.15)


def test_a_dark_port_sees_no_light_and_counts_nothing() -> None:
    found, up = optics(), UP.copy()
    up[3] = False
    found._q[:] = 4.0
    found.tick(1.0, up)
    assert found.received_dbm[3].tolist() == [-40.0] * LANES
    assert found.ber[3].tolist() == [0.0, 0.0]
    assert found.corrected[3] == found.corrected_bits[3] == found.symbol_errors[3] == 0.0
    assert found.corrected[2] > 0.0


def test_corrected_codewords_are_as_many_as_the_line_carries_with_an_error() -> None:
    found = optics()
    found._q[:] = 4.5  # 3.4e-6
    for _ in range(10):
        found.tick(1.0, UP)
    port = 0
    bits = LAYOUT.ports[port].bits_per_second * 1.0625 * 10
    expected = bits / CODEWORD_BITS * codeword_odds(bit_error_ratio(4.5))[0]
    assert found.corrected[port] == pytest.approx(expected, rel=0.1)
    assert found.corrected_bits[port] == pytest.approx(bits * bit_error_ratio(4.5), rel=0.1)


def test_uncorrectable_codewords_lose_packets_on_the_link_that_ends_here() -> None:
    found = optics()
    fabric = found._fabric
    found._q[:] = 6.0
    port = next(i for i, p in enumerate(LAYOUT.ports) if p.nic < 0)
    found._q[port] = 3.1
    found.tick(1.0, UP)
    lossy = np.flatnonzero(fabric.queues.loss > 1e-12)
    assert lossy.tolist() == [LAYOUT.ports[port].peer_port]  # the queue that sends to the dirty receiver
    uncorrectable = found.ber[port, 1] * CODEWORD_BITS / (CORRECTABLE + 1)
    codewords_a_packet = 4178 / (514 * 10 / 8) + 1
    assert fabric.queues.loss[lossy[0]] == pytest.approx(uncorrectable * codewords_a_packet)


def test_the_seed_decides_all_noise() -> None:
    one, same, other = optics(1), optics(1), optics(2)
    for each in (one, same, other):
        each.tick(1.0, UP)
    assert one.received_dbm.tobytes() == same.received_dbm.tobytes() != other.received_dbm.tobytes()


def test_a_symbol_has_ten_bits_and_seldom_two_errors() -> None:
    found = optics()
    found._q[:] = 4.5
    found.tick(1.0, UP)
    assert found.symbol_errors[0] == round(0.999 * found.corrected_bits[0])
    assert 1e6 < found.symbol_errors[0] < found.corrected_bits[0]


def test_the_table_of_odds_gives_what_every_bit_error_ratio_to_three_digits_has() -> None:
    found = optics()
    decades = np.random.default_rng(1).uniform(-26.0, -0.31, len(LAYOUT.ports) - 4)
    halfway = [1.235e-4, 9.995e-5, 1e-24, 0.0]  # no three digits of their own, the next decade, too small for the table
    ber = np.array([*10.0**decades, *halfway])
    rounded = np.empty(ber.size, np.int64)
    for _ in range(2):  # the second time from the table
        _round(ber, rounded)
        assert found._odds_of(ber, rounded).tolist() == [list(codeword_odds(float(f"{b:.3g}"))) for b in ber.tolist()]
