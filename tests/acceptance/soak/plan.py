"""How long a soak takes, how many targets it has, and when what is broken."""

import argparse
import re
from dataclasses import dataclass

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
BASELINE_S_MAX, BASELINE_SHARE = 300.0, 0.1
RESTART_EVERY_S, FAULT_EVERY_S = 270.0, 120.0
FAULT_INTERVALS = 6  # a GPU is lost after one and a half, and its chassis critical soon after
WARM_UP_S = 15 * 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """good, hostile: numbers of targets. interval_s: their collection interval.

    baseline_s: how long the good targets are alone. warm_up_s: after so long memory must be level.
    restart_every_s: between two restarts of the broker. fault_every_s: how often a chassis loses its GPUs.
    """

    duration_s: float
    good: int = 200
    hostile: int = 1000
    interval_s: float = 10.0
    restart_every_s: float = RESTART_EVERY_S
    fault_every_s: float = FAULT_EVERY_S
    warm_up_s: float = WARM_UP_S

    @property
    def baseline_s(self) -> float:
        return min(BASELINE_S_MAX, BASELINE_SHARE * self.duration_s)

    @property
    def fault_s(self) -> float:
        """For how long it has lost them."""
        return FAULT_INTERVALS * self.interval_s


def seconds(text: str) -> float:
    """
    >>> seconds("90s"), seconds("5m"), seconds("1.5h")
    (90.0, 300.0, 5400.0)
    """
    if (found := _DURATION.fullmatch(text)) is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a duration such as 40s, 5m or 1h")
    return float(found[1]) * _SECONDS[found[2]]


def plan_of(arguments: list[str]) -> Plan:
    """From the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.soak", description=__doc__)
    parser.add_argument("--duration", type=seconds, default=3600.0, help="as 40s, 5m, 1h")
    parser.add_argument("--good", type=int, default=200, help="targets that do what they should")
    parser.add_argument("--hostile", type=int, default=1000, help="targets that do not")
    parser.add_argument("--interval", type=seconds, default=10.0, help="between two collections of a target")
    asked = parser.parse_args(arguments)
    return Plan(
        asked.duration,
        asked.good,
        asked.hostile,
        asked.interval,
        restart_every_s=min(RESTART_EVERY_S, asked.duration / 3),
        fault_every_s=min(FAULT_EVERY_S, asked.duration / 4),
    )
