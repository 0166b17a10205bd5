"""How often each target is collected, how long its exporter repeats values, and how long collections are usually lost.

All of it is learned from the collections themselves. How long a target must be silent before that is news follows from
its own history of lost collections and that of all targets.
"""

import math

import numpy as np
from numpy.typing import NDArray

from analytics.state import usual_gap
from analytics.state.columns import Columns, Layout
from analytics.state.rates import NEVER
from common.jit import compiled

LAYOUT: Layout = {
    "gaps_s": ("f4", 0.0, usual_gap.KEPT),  # newest gaps between collections, those that were lost included
    "moved_gaps_s": ("f4", 0.0, usual_gap.KEPT),  # … between collections that were no repetition
    "epoch_ns": ("i8", NEVER, 1),  # of the newest collection, with its number
    "seq": ("i8", 0, 1),
    "watched_s": ("f8", 0.0, 1),  # how long it has been collected; this and the next two fade over ``_MEMORY_S``
    "losses": ("f8", 0.0, 1),  # how often nothing arrived for longer than ``_LOST`` of the usual gap
    "lost_s": ("f8", 0.0, 1),  # for how much longer, in all
    "returned_s": ("f8", 0.0, 1),  # how long nothing had arrived before the success in this tick, 0 without one
    "usual_s": ("f8", 0.0, 1),  # the usual gap between two collections, 0 before the second
    "silent_after_s": ("f8", 0.0, 1),  # silence that is news: see ``silent_after``
    "repeats_s": ("f8", 0.0, 1),  # how long it may repeat itself: see ``repeats``
}

# Before the second collection its interval is not known. The longest default of the sources: Prometheus' 1 min.
YOUNG_S = 60.0
SILENT_MIN = 2.5  # usual gaps: one collection may be lost, and the second one late
_LOST = 1.5  # usual gaps
# What Prometheus calls stale (``--query.lookback-delta``): a target that is silent for longer is lost, whatever its
# history. Also what is learned of one loss: a device that was off for a day says nothing about lost collections.
SILENT_S_MAX = 300.0
# A target may be called silent wrongly about once in this time, which is also how long its losses are remembered.
_MEMORY_S = 7 * 86_400.0
# What is known of all targets counts as much as an hour of its own, and as much as four losses. Assumption: bursts of
# losses come a few an hour where they matter.
_POOLED_S, _POOLED_LOSSES = 3600.0, 4.0
# DCGM's exporter reads the GPUs every 30 s by default, so a repetition within that time is not news at any interval.
_REPEATS_S_MIN, _REPEATS_MIN = 30.0, 3.0
# The slowest readers that are known, SONiC's of transceivers and watermarks: 60 s. What changes less often is idle.
_REFRESH_S_MAX, _REFRESH_SLACK = 60.0, 1.5


@compiled
def note_attempt(
    target: int,
    at_ns: int,
    epoch: int,
    number: int,
    tried_ns: int,
    epoch_ns: NDArray[np.int64],
    seq: NDArray[np.int64],
    gaps_s: NDArray[np.float32],
) -> None:
    """A collection, whether or not it succeeded. tried_ns: the one before it, ``NEVER`` without one.

    A gap in the sequence numbers is a loss: the time is divided by the collections that were made.
    """
    made = number - seq[target] if epoch == epoch_ns[target] else 1
    if tried_ns != NEVER and at_ns > tried_ns and made > 0:
        usual_gap.note(gaps_s[target], (at_ns - tried_ns) * 1e-9 / made)
    epoch_ns[target], seq[target] = epoch, number


@compiled
def note_answer(
    target: int,
    gap_s: float,
    watched_s: NDArray[np.float64],
    losses: NDArray[np.float64],
    lost_s: NDArray[np.float64],
    returned_s: NDArray[np.float64],
) -> None:
    """A collection that succeeded, ``gap_s`` after the one before it."""
    fades = math.exp(-gap_s / _MEMORY_S)
    watched_s[target] = watched_s[target] * fades + gap_s
    losses[target] *= fades
    lost_s[target] *= fades
    returned_s[target] = max(returned_s[target], gap_s)


def update(columns: Columns, tick_s: float) -> None:
    """After the collections of a tick: what follows from them."""
    usual_gap.medians(columns["gaps_s"], columns["usual_s"])
    columns["silent_after_s"][:] = silent_after(columns, tick_s)
    columns["repeats_s"][:] = repeats(columns, tick_s)


def shortest_s(columns: Columns) -> float:
    """The usual gap of the target that is collected most often, 0 where none is known."""
    usual_s = columns["usual_s"]
    return float(usual_s[usual_s > 0].min(initial=np.inf)) if (usual_s > 0).any() else 0.0


def learn_losses(columns: Columns, began_again: NDArray[np.bool_], tick_s: float) -> None:
    """After the collections of a tick. began_again: bool[targets], devices that were off: nothing was lost."""
    threshold_s = _LOST * _usual(columns, tick_s)
    lost = (columns["returned_s"] > threshold_s) & (columns["usual_s"] > 0) & ~began_again
    columns["losses"][lost] += 1.0
    longer_s = np.minimum(columns["returned_s"] - threshold_s, SILENT_S_MAX)
    columns["lost_s"][lost] += longer_s[lost]
    columns["returned_s"][:] = 0.0


def silent_after(columns: Columns, tick_s: float) -> NDArray[np.float64]:
    """float64[targets], seconds: nothing for so long happens by lost collections about once in ``_MEMORY_S``.

    Peaks over a threshold (Pickands 1975): what exceeds it is exponential, so with r losses a second that last m longer
    than the threshold u on average, one longer than u + m ln(r T) comes once in T. A target with few losses of its own
    is taken for one like the others. Never less than ``SILENT_MIN`` usual gaps, nor more than ``SILENT_S_MAX`` where
    these are shorter.
    """
    usual_s = _usual(columns, tick_s)
    watched_s, losses, lost_s = (columns[name] for name in ("watched_s", "losses", "lost_s"))
    rate_of_all = losses.sum() / max(watched_s.sum(), 1.0)
    excess_of_all = lost_s.sum() / max(losses.sum(), 1.0)
    rate = (losses + rate_of_all * _POOLED_S) / (watched_s + _POOLED_S)
    excess_s = (lost_s + excess_of_all * _POOLED_LOSSES) / (losses + _POOLED_LOSSES)
    tail_s = excess_s * np.log(np.maximum(1.0, rate * _MEMORY_S))
    least_s = SILENT_MIN * usual_s
    return np.asarray(np.clip(_LOST * usual_s + tail_s, least_s, np.maximum(least_s, SILENT_S_MAX)))


def repeats(columns: Columns, tick_s: float) -> NDArray[np.float64]:
    """float64[targets], seconds: how long a target may repeat itself before it is idle or frozen.

    Exporters read their device in a rhythm of their own. Where the values of a target change in one, as often as a
    known reader or more often, one and a half turns of it.
    """
    least_s = np.maximum(_REPEATS_S_MIN, _REPEATS_MIN * np.maximum(columns["usual_s"], 2.0 * tick_s))
    return np.asarray(
        np.maximum(least_s, _REFRESH_SLACK * refreshes(columns["moved_gaps_s"], columns["usual_s"], tick_s))
    )


def refreshes(moved_gaps_s: NDArray[np.float32], usual_s: NDArray[np.float64], tick_s: float) -> NDArray[np.float64]:
    """float64[targets], seconds: the rhythm in which the values of each target change, 0 where none is known.

    moved_gaps_s, usual_s: as in ``LAYOUT``.
    """
    refresh_s = np.zeros(usual_s.size)
    _refreshes(moved_gaps_s, np.maximum(usual_s, tick_s), refresh_s)
    refresh_s[refresh_s > _REFRESH_S_MAX + usual_s] = 0.0
    return refresh_s


@compiled
def _refreshes(moved_gaps_s: NDArray[np.float32], slack_s: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for row in range(out.size):
        if usual_gap.is_even(moved_gaps_s[row], slack_s[row]):
            out[row] = usual_gap.median_of(moved_gaps_s[row])


def _usual(columns: Columns, tick_s: float) -> NDArray[np.float64]:
    """Nothing is judged more often than once a tick; see ``YOUNG_S`` for those that are not known yet."""
    usual_s = columns["usual_s"]
    return np.where(usual_s > 0, np.maximum(usual_s, tick_s), max(YOUNG_S, tick_s))
