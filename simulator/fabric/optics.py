"""Optics: received power, bit errors before FEC, codewords that Reed–Solomon corrects, and packets lost beyond that.

Receiver noise is thermal, so Q falls with optical power and the bit error ratio is erfc(Q/sqrt 2)/2 (Agrawal,
Fiber-Optic Communication Systems, ch. 4). RS(544,514) corrects 15 of 544 ten-bit symbols (IEEE 802.3 clause 119).
"""

import math
from functools import lru_cache

import numpy as np

from common.jit import compiled
from simulator.fabric.parameters import PACKET_BYTES
from simulator.fabric.state import Fabric, Flags, Floats, Ints

SYMBOLS, SYMBOL_BITS, CORRECTABLE = 544, 10, 15
CODEWORD_BITS = SYMBOLS * SYMBOL_BITS
CODEWORD_DATA_BYTES = 514 * SYMBOL_BITS / 8
LANES = 4
SMALLEST, DECADES = 1e-23, 24  # of the bit error ratios whose odds are kept in a table
NEGLIGIBLE = 1e-15  # less than one codeword in a month of a link


@compiled
def bit_error_ratio(q: float) -> float:
    """Bit error ratio before FEC of a receiver with quality factor ``q``."""
    return 0.5 * math.erfc(q / math.sqrt(2.0))


@compiled
def _receive(q: Floats, ber: Floats) -> None:
    for i in range(q.size):
        ber[i] = bit_error_ratio(q[i])


@compiled
def _round(ber: Floats, rounded: Ints) -> None:
    """The number of each bit error ratio when rounded to three digits: 1000 · (decade + ``DECADES``) + digits.

    0 for what is smaller than the table, or so close to halfway between two that only exact arithmetic decides.
    """
    for i in range(ber.size):
        rounded[i] = 0
        if ber[i] < SMALLEST:
            continue
        decade = math.floor(math.log10(ber[i]))
        digits = ber[i] * 10.0 ** (2 - decade)
        if abs(digits - math.floor(digits) - 0.5) > 1e-6:
            rounded[i] = 1000 * (decade + DECADES) + math.floor(digits + 0.5)


@lru_cache(maxsize=4096)
def codeword_odds(ber: float) -> tuple[float, float]:
    """Probability that a codeword is corrected, and that it is beyond correction; symbol errors are independent."""
    p = 1.0 - (1.0 - ber) ** SYMBOL_BITS
    term = (1.0 - p) ** SYMBOLS
    below = clean = term
    for k in range(1, CORRECTABLE + 1):
        term *= (SYMBOLS - k + 1) / k * p / (1.0 - p)
        below += term
    tail = 0.0
    for k in range(CORRECTABLE + 1, CORRECTABLE + 40):
        term *= (SYMBOLS - k + 1) / k * p / (1.0 - p)
        tail += term
    return max(0.0, below - clean), tail if tail > NEGLIGIBLE else 0.0


class Optics:
    """One receiver and one transmitter a switch port. attenuation_db: loss of received light by dirt, [P]."""

    def __init__(self, fabric: Fabric, rng: np.random.Generator) -> None:
        n = fabric.ports
        self._fabric, self._rng = fabric, rng
        self.attenuation_db: Floats = np.zeros(n)
        self._q: Floats = rng.normal(5.75, 0.08, n)
        self._received: Floats = rng.normal(0.6, 0.4, (n, LANES))
        self._sent: Floats = rng.normal(1.4, 0.2, (n, LANES))
        self._bias: Floats = rng.normal(0.062, 0.002, (n, LANES))
        self._warmth: Floats = rng.normal(48.0, 1.5, n)
        self._odds: Floats = np.full((1000 * (DECADES + 1), 2), np.nan)
        self.ber: Floats = np.zeros((n, 2))
        self.corrected, self.uncorrectable = np.zeros(n), np.zeros(n)
        self.corrected_bits, self.symbol_errors = np.zeros(n), np.zeros(n)
        self.received_dbm, self.sent_dbm = self._received.copy(), self._sent.copy()
        self.bias, self.celsius = self._bias.copy(), self._warmth.copy()

    def tick(self, dt: float, up: Flags) -> None:
        """Updates power, bit errors and FEC counters for ``dt`` seconds, and the packet loss of every link."""
        n = self._fabric.ports
        wobble = self._rng.normal(0.0, 0.05, (n, LANES))
        light = self._received - self.attenuation_db[:, None] + wobble
        self.received_dbm = np.where(up[:, None], light, -40.0)
        self.sent_dbm = self._sent + wobble * 0.3
        self.bias = self._bias * (1.0 + 0.01 * wobble)
        self.celsius = self._warmth + self._rng.normal(0.0, 0.2, n)
        drift = 10 ** (-self.attenuation_db / 10) * (1.0 + self._rng.normal(0.0, 0.002, n))
        pre, rounded = np.empty(n), np.empty(n, dtype=np.int64)
        _receive(self._q * drift, pre)
        _round(pre, rounded)
        odds = self._odds_of(pre, rounded)
        self.ber[:, 0] = np.where(up, pre, 0.0)
        self.ber[:, 1] = np.where(up, odds[:, 1] * (CORRECTABLE + 1) / CODEWORD_BITS, 0.0)
        self._count(dt, up, odds)

    def _odds_of(self, ber: Floats, rounded: Ints) -> Floats:
        """[P, 2] ``codeword_odds`` of bit error ratios to three digits; each is computed once."""
        odds: Floats = self._odds[rounded]
        for i in np.flatnonzero(np.isnan(odds[:, 0])).tolist():
            odds[i] = codeword_odds(float(f"{ber[i]:.3g}"))
            if rounded[i]:
                self._odds[rounded[i]] = odds[i]
        return odds

    def _count(self, dt: float, up: Flags, odds: Floats) -> None:
        queues, n = self._fabric.queues, self._fabric.ports
        bits = queues.rated[:n] * self._fabric_factor(up) * 8 * 1.0625 * dt  # 64b/66b to RS(544,514) line rate
        codewords = bits / CODEWORD_BITS
        self.corrected += self._rng.poisson(codewords * odds[:, 0])
        self.uncorrectable += self._rng.poisson(codewords * odds[:, 1])
        errors = self._rng.poisson(bits * self.ber[:, 0])
        self.corrected_bits += errors
        self.symbol_errors += np.round(errors * 0.999)
        loss = np.minimum(0.5, odds[:, 1] * (PACKET_BYTES / CODEWORD_DATA_BYTES + 1.0)) * up
        feeds = queues.at < n  # links that end at a switch port
        queues.loss[feeds] = loss[queues.at[feeds]] * (queues.at[feeds] >= 0)

    def _fabric_factor(self, up: Flags) -> Floats:
        n = self._fabric.ports
        return np.where(up, self._fabric.queues.capacity[:n] / self._fabric.queues.rated[:n], 0.0)
