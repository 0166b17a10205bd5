"""Two receivers that are sent the same bytes in turns: what a sample costs each of them.

What counts is the CPU time of their processes as a whole, until the last sample of a round is through.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchmarks.loads.child import cpu_s

ROUNDS = 5
_WAIT_S = 120.0
_POLL_S = 0.1

Sent = TypeVar("Sent")


@dataclass(frozen=True, slots=True)
class Side(Generic[Sent]):
    """A receiver in a process of its own. send: a round, returns when it is sent. received: samples so far."""

    pid: int
    send: Callable[[Sent], None]
    received: Callable[[], int]


def rates_in_turns(
    ours: Side[Sent], theirs: Side[Sent], made: Callable[[], Sent], samples: int, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Samples per CPU-second of both, in the round with the median ratio; an uneven number of rounds.

    made: a round of so many samples, the same for both. The first one, in which both learn the series, counts for
    nothing, and who begins changes. RuntimeError when one of them loses a sample.
    """
    pairs = []
    for number in range(1 + rounds):
        sent = made()
        sides = (ours, theirs) if number % 2 else (theirs, ours)
        cost_s = {side: spent_s(side, sent, (number + 1) * samples) for side in sides}
        if number:
            pairs.append((samples / cost_s[ours], samples / cost_s[theirs]))
    return median_pair(pairs)


def median_pair(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The pair whose ratio is the median, of an uneven number.

    >>> median_pair([(10.0, 1.0), (6.0, 2.0), (8.0, 1.0)])
    (8.0, 1.0)
    """
    assert len(pairs) % 2, "one of them is in the middle"
    return sorted(pairs, key=lambda pair: pair[0] / pair[1])[len(pairs) // 2]


def spent_s(side: Side[Sent], sent: Sent, received: int) -> float:
    """CPU-seconds of a round, until so many samples are received in all. RuntimeError when they are not."""
    began_s, deadline = cpu_s(side.pid), time.monotonic() + _WAIT_S
    side.send(sent)
    while (found := side.received()) < received and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    if found != received:
        raise RuntimeError(f"{found} samples received, expected {received}")
    return cpu_s(side.pid) - began_s
