"""What a soak has measured, and the figures that follow from it. Pure but for ``resident_mib``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

MIB_PER_KIB = 1 / 1024
S_PER_HOUR = 3600.0
_KEPT_S = 120.0


@dataclass
class Phase:
    """One part of the run. ages_s: of all good targets, each second. delays_s: collection to arrival, each collection.
    seconds: how long it was measured."""

    ages_s: list[float] = field(default_factory=list)
    delays_s: list[float] = field(default_factory=list)
    seconds: int = 0


@dataclass
class Measurements:
    """memory: by stage, seconds since the beginning and resident MiB. freshness: seconds, p50 and p99 of the ages then.

    hostile_from_s: when hostile targets came, and ingest was started again. recoveries_s: from the start of a broker
    until every good target was fresh again. outages_s: begin and end of what is left out of ages for it.
    """

    alone: Phase = field(default_factory=Phase)
    beside: Phase = field(default_factory=Phase)
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    freshness: list[tuple[float, float, float]] = field(default_factory=list)
    hostile_from_s: float = 0.0
    recoveries_s: list[float] = field(default_factory=list)
    outages_s: list[tuple[float, float]] = field(default_factory=list)
    faults: int = 0


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """p50 and p99; not a number where there are none."""
    if not values:
        return float("nan"), float("nan")
    p50, p99 = np.quantile(values, (0.5, 0.99))
    return float(p50), float(p99)


def resident_mib(pid: int) -> float:
    """Resident memory of a process; ProcessLookupError when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError as error:
        raise ProcessLookupError(pid) from error
    lines = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return float(next(lines, "VmRSS: 0 kB").split()[1]) * MIB_PER_KIB


def growth(points: Sequence[tuple[float, float]], from_s: float) -> tuple[float, float] | None:
    """Of what is kept after ``from_s``: MiB an hour, and by how much of its level it has grown.

    What is kept is the least of every two minutes, as work takes memory and gives it back within that; the growth is
    that of the straight line through it. None with fewer than three of them.
    """
    least: dict[int, tuple[float, float]] = {}
    for at_s, mib in points:
        if at_s >= from_s:
            place = int((at_s - from_s) // _KEPT_S)
            least[place] = min(least.get(place, (at_s, mib)), (at_s, mib), key=lambda point: point[1])
    if len(least) < 3:
        return None
    at_s, mib = np.array(list(least.values())).T
    slope, level = np.polyfit(at_s - at_s[0], mib, 1)
    return float(slope * S_PER_HOUR), float(slope * (at_s[-1] - at_s[0]) / level)
