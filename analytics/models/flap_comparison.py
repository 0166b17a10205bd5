"""Whether a port is better or worse after a flap than before it: error ratios and light, by medians. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from math import sqrt
from statistics import median

from telemetry.objects import ObjectRef

VALUES_MIN = 3  # of a median
# A median of n values varies by 1.25 / sqrt(n) of their deviation where that is normal.
_DEVIATIONS, _OF_MEDIAN = 6.0, 1.2533
_TIMES = 3.0  # half a decade, as bit error ratios are judged by decades: assumption
_RATIO_MIN = 1e-15  # one error in hours of a link: below it is none
# A connector that is cleaned or put in again may lose this much more or less (ANSI/TIA-568.3: most of a mated pair).
_LIGHT_DB = 0.75


class Verdict(StrEnum):
    AS_BEFORE = "as before"
    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "better and worse"


@dataclass(frozen=True, slots=True)
class FlapComparison:
    """What a port is like after its last flap. changes: for people, as ``pre-FEC BER 1e-9 to 1e-6``; worst first."""

    port: ObjectRef
    flapped_ns: int
    verdict: Verdict
    changes: str = ""


@dataclass(slots=True)
class Before:
    """One series. what: for people. before, deviation: its own. after: newest values since the flap, in their order.

    traffic: whether it also falls with the traffic, so that only a rise says something.
    """

    what: str
    unit: str
    before: float
    deviation: float
    traffic: bool = False
    after: list[float] = field(default_factory=list)

    @property
    def change(self) -> float:
        """How much worse it is, in limits; below 0 better, from 1 or to -1 it counts."""
        now, least = median(self.after), _DEVIATIONS * _OF_MEDIAN * self.deviation / sqrt(len(self.after))
        if self.unit == "dBm":
            return (self.before - now) / max(_LIGHT_DB, least)
        was, now = max(self.before, _RATIO_MIN), max(now, _RATIO_MIN)
        times, differ = max(now / was, was / now), abs(now - was)
        change = min(times / _TIMES, differ / least if least else times / _TIMES)
        return change if now > was else 0.0 if self.traffic else -change

    @property
    def text(self) -> str:
        return f"{self.what} {_number(self.before)} to {_number(median(self.after))}{f' {self.unit}' * bool(self.unit)}"


def compare(port: ObjectRef, flapped_ns: int, series: Iterable[Before]) -> FlapComparison | None:
    """None where too little is known. Of the lanes the one that changed most is named."""
    known = [each for each in series if len(each.after) >= VALUES_MIN]
    if not known:
        return None
    most: dict[str, Before] = {}
    for each in sorted(known, key=lambda one: abs(one.change)):
        if abs(each.change) >= 1.0:
            most[each.what] = each
    changed = sorted(most.values(), key=lambda one: (-one.change, one.what))
    better, worse = any(one.change < 0 for one in changed), any(one.change > 0 for one in changed)
    verdict = {
        (False, False): Verdict.AS_BEFORE,
        (True, False): Verdict.BETTER,
        (False, True): Verdict.WORSE,
        (True, True): Verdict.DIFFERENT,
    }[better, worse]
    return FlapComparison(port, flapped_ns, verdict, ", ".join(one.text for one in changed))


def _number(value: float) -> str:
    """``1.2e-9``, ``0``, ``-2.5``"""
    mantissa, _, exponent = f"{value:.2g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa
