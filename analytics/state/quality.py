"""Which telemetry may be believed: a detector abstains on what is not fresh, and nothing is ever 0 by absence.

The rules. A target is *silent* when no collection succeeded for 2.5 intervals, or two in a row failed; time in which no
target at all was heard does not count, because it is the collectors that were away then. It is *frozen*
when it repeats itself bit by bit although series that used to move every time should have. A series is *stale* when
2.5 intervals brought no value, and *reset* when its counter has just started again. *Unsupported* series and zeros by a
fault are told apart in ``analytics.state.implausible``.
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from analytics.state.rates import NEVER, RESET
from telemetry.topology import Device, Topology

STALE_INTERVALS = 2.5
DEAF_INTERVALS = 1.5  # nobody was heard for so long: the collectors or the bus were away
# DCGM's exporter refreshes every 30 s by default: three of our default intervals. A page that repeats for longer is
# either idle or frozen.
REPEAT_INTERVALS = 3.0
MOVERS_MIN = 3  # series that must be known to move before a still page means anything
_STREAK_MIN = 10  # samples in a row that differed: such a series moves always
_SHARE_MAX = 0.5  # more of a role still at once is a pause of the work, not a fault of the exporters


class Trust(IntEnum):
    """State of one series."""

    FRESH = 0
    STALE = 1
    FROZEN = 2
    RESET = 3
    UNSUPPORTED = 4  # see ``analytics.state.implausible``
    ZERO = 5  # by a fault


LAYOUT: dict[str, tuple[str, float, int]] = {
    "first_ns": ("i8", NEVER, 1),  # oldest collection
    "seen_ns": ("i8", NEVER, 1),  # newest collection that succeeded
    "quiet_ns": ("i8", NEVER, 1),  # silence counts from here: the newest success, or when we began to listen again
    "tried_ns": ("i8", NEVER, 1),  # newest collection
    "down_ns": ("i8", NEVER, 1),  # first of the failed collections in a row, NEVER when it answers
    "down_count": ("i8", 0, 1),  # how many they are
    "moved_ns": ("i8", NEVER, 1),  # newest collection that was not a repetition
    "frozen": ("?", False, 1),
    "reset_ns": ("i8", NEVER, 1),  # newest collection in which most counters started again
    "reset_count": ("i8", 0, 1),  # how many did
}


def note_collection(columns: dict[str, NDArray[np.int64]], target: int, collected_ns: int, up: bool) -> None:
    """One collection of a target, in event order."""
    if columns["first_ns"][target] == NEVER:
        columns["first_ns"][target] = columns["quiet_ns"][target] = collected_ns
    columns["tried_ns"][target] = collected_ns
    if up:
        columns["seen_ns"][target] = columns["quiet_ns"][target] = collected_ns
        columns["down_ns"][target], columns["down_count"][target] = NEVER, 0
        return
    if columns["down_count"][target] == 0:
        columns["down_ns"][target] = collected_ns
    columns["down_count"][target] += 1


def listen_again(
    quiet_ns: NDArray[np.int64], tried_ns: NDArray[np.int64], now_ns: int, interval_ns: int
) -> NDArray[np.int64]:
    """``quiet_ns`` as of ``now_ns``: moved up to it where nobody was heard since long before."""
    heard_ns = int(tried_ns.max(initial=NEVER))
    if heard_ns == NEVER or now_ns - heard_ns <= round(DEAF_INTERVALS * interval_ns):
        return quiet_ns
    return np.where(quiet_ns == NEVER, NEVER, np.maximum(quiet_ns, now_ns))


def series_trust(
    valued_ns: NDArray[np.int64],
    status: NDArray[np.uint8],
    frozen: NDArray[np.bool_],
    now_ns: int,
    interval_ns: int,
) -> NDArray[np.uint8]:
    """Trust of each series: valued_ns when its newest value was collected, frozen whether its target is."""
    stale = valued_ns < now_ns - round(STALE_INTERVALS * interval_ns)
    trust = np.where(status == RESET, int(Trust.RESET), int(Trust.FRESH))
    trust = np.where(stale, int(Trust.STALE), trust)
    return np.asarray(np.where(frozen, int(Trust.FROZEN), trust), np.uint8)


def always_moving(streak: NDArray[np.int32]) -> bool:
    """Whether series with these streaks must have moved in any true new collection."""
    return int(np.count_nonzero(streak >= _STREAK_MIN)) >= MOVERS_MIN


def believed_frozen(suspects: Sequence[str], devices: Sequence[str], topology: Topology) -> set[str]:
    """Which of the devices whose targets stand still are frozen.

    suspects: devices whose targets repeat themselves; devices: those of all targets that answer.
    When most devices of a role stand still at once, the cluster rests.
    """
    roles = {device.name: str(device.role) for device in topology.entities(Device)}
    still, known = set(suspects), set(devices)
    frozen = set()
    for device in still:
        role = roles.get(device, "")
        peers = {name for name in known if roles.get(name, "") == role}
        if len(peers) == 1 or len(still & peers) <= _SHARE_MAX * len(peers):
            frozen.add(device)
    return frozen
