"""Stages that drop most of what they receive, from their reports."""

import pytest

from common.units import NS_PER_S
from fabricscope.api.drops import RecentDrops
from telemetry.ledger import StageReport


def report(at_s: int, received: int, dropped: dict[str, int], epoch_ns: int = 1) -> StageReport:
    return StageReport("analytics", "a", epoch_ns, at_s * NS_PER_S, samples_in=received, dropped=dropped)


@pytest.mark.parametrize(
    ("reports", "problem"),
    [
        ([], None),
        ([report(0, 100, {"late": 100})], None),  # since when is not known
        ([report(0, 0, {}), report(5, 100, {"late": 50})], None),
        (
            [report(0, 0, {}), report(5, 100, {"late": 40, "not_finite": 11})],
            "analytics: 51 of 100 samples were dropped, mostly late",
        ),
        # what was dropped before the last minute is over
        ([report(0, 0, {}), report(5, 100, {"late": 100}), report(65, 200, {"late": 100})], None),
        ([report(0, 0, {}), report(5, 1000, {}), report(65, 1010, {"late": 10})], "analytics: 10 of 10 samples were "),
        # a process that was started again counts from 0
        ([report(0, 900, {}), report(5, 100, {"late": 90}, 2), report(10, 300, {"late": 91}, 2)], None),
        ([report(0, 5, {"late": 5}), report(5, 5, {"late": 5})], None),  # nothing is received
    ],
)
def test_most_samples_of_the_last_minute(reports: list[StageReport], problem: str | None) -> None:
    drops = RecentDrops()
    for each in reports:
        drops.add(each)
    found = drops.problem()
    assert (found or "").startswith(problem or ""), found
    assert (found is None) == (problem is None)


def test_reports_before_the_last_minute_are_forgotten() -> None:
    drops = RecentDrops()
    for at_s in range(1000):
        drops.add(report(at_s, at_s, {}))
    assert len(drops._reports) <= 62
