"""Stages that drop most of what they receive, from their reports."""

import pytest

from common.units import NS_PER_S
from fabricscope.api.drops import WINDOW_S, RecentDrops
from telemetry.ledger import StageReport


def report(at_s: int, received: int, dropped: dict[str, int], epoch_ns: int = 1, instance: str = "a") -> StageReport:
    return StageReport("analytics", instance, epoch_ns, at_s * NS_PER_S, samples_in=received, dropped=dropped)


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
        (
            [report(0, 0, {}), report(5, 1000, {}), report(65, 1010, {"late": 10})],
            "analytics: 10 of 10 samples were dropped, mostly late",
        ),
        # a process that was started again counts from 0
        ([report(0, 900, {}), report(5, 100, {"late": 90}, 2), report(10, 300, {"late": 91}, 2)], None),
        ([report(0, 5, {"late": 5}), report(5, 5, {"late": 5})], None),  # nothing is received
        (
            [report(0, 0, {}), report(5, 9, {"late": 9}), report(0, 0, {}, 1, "b"), report(5, 2, {"late": 2}, 1, "b")],
            "analytics: 9 of 9 samples were dropped, mostly late; analytics: 2 of 2 samples were dropped, mostly late",
        ),
    ],
)
def test_most_samples_of_the_last_minute(reports: list[StageReport], problem: str | None) -> None:
    drops = RecentDrops()
    for each in reports:
        drops.add(each)
    assert drops.problem() == problem


def test_reports_before_the_last_minute_are_forgotten() -> None:
    drops = RecentDrops()
    for at_s in range(1000):
        drops.add(report(at_s, at_s, {}))
    (kept,) = drops._reports.values()
    assert len(kept) == WINDOW_S + 1


def test_a_process_that_is_gone_is_forgotten() -> None:
    """Its last report would be a problem for ever, and each restart a process more."""
    now_s = 0.0
    drops = RecentDrops(lambda: now_s)
    for each in (report(0, 0, {}), report(5, 9, {"late": 9})):
        drops.add(each)
    now_s = WINDOW_S
    assert drops.problem() is not None
    now_s = WINDOW_S + 1
    assert drops.problem() is None
    assert (drops._reports, drops._heard_s) == ({}, {})
