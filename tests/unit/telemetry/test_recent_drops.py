"""Stages that drop most of what they receive, from their reports."""

import pytest

from common.units import NS_PER_S
from telemetry.ledger import StageReport
from telemetry.recent_drops import WINDOW_S, RecentDrops, backlog_warnings


def report(at_s: int, received: int, dropped: dict[str, int], epoch_ns: int = 1, instance: str = "a") -> StageReport:
    return StageReport("analytics", instance, epoch_ns, at_s * NS_PER_S, samples_in=received, dropped=dropped)


@pytest.mark.parametrize(
    ("reports", "problem"),
    [
        ([], None),
        ([report(0, 100, {"late": 100})], None),  # since when is not known
        ([report(0, 0, {}), report(5, 100, {"late": 50})], None),
        # one target that floods is no reason to page; what else is dropped is compared with what else came
        ([report(0, 0, {}), report(5, 100, {"quota": 60, "new_series": 30, "late": 5})], None),
        (
            [report(0, 0, {}), report(5, 100, {"quota": 60, "new_series": 30, "late": 6})],
            "analytics: 6 of 10 samples were dropped, mostly late",
        ),
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


@pytest.mark.parametrize(
    ("details", "warnings"),
    [
        ({}, []),
        ({"spool_unwritable": 0.0, "spooled_seconds": 60.0}, []),
        (
            {"spool_unwritable": 0.0, "spooled_seconds": 754.2},
            ["ingest ingest-0: samples of the last 754 s wait on the disk for the bus"],
        ),
        (
            {"spool_unwritable": 1.0, "spooled_seconds": 0.0},
            ["ingest ingest-0: the spool cannot be written: what the bus does not take is in memory alone"],
        ),
        ({"lag_records": 1000.0}, []),
        ({"lag_records": 1e7}, ["ingest ingest-0: 10,000,000 records wait on the bus, no fewer than before"]),
        ({"lag_records": 1e7, "catch_up_seconds": 60.0}, []),
        (
            {"lag_records": 12_345.0, "catch_up_seconds": 90.0},
            ["ingest ingest-0: 12,345 records wait on the bus, for 90 s at the present pace"],
        ),
    ],
)
def test_warnings(details: dict[str, float], warnings: list[str]) -> None:
    assert list(backlog_warnings([StageReport("ingest", "ingest-0", 1, 0, details=details)])) == warnings


def test_the_newest_report_of_each_process_counts_until_it_is_gone() -> None:
    now_s = 0.0
    recent = RecentDrops(lambda: now_s)
    for at_s, instance, seconds in ((0, "a", 100.0), (5, "a", 0.0), (5, "b", 100.0)):
        recent.add(StageReport("ingest", instance, 1, at_s * NS_PER_S, details={"spooled_seconds": seconds}))
    assert [(one.instance, one.details["spooled_seconds"]) for one in recent.newest()] == [("a", 0.0), ("b", 100.0)]
    now_s = 61.0
    assert recent.newest() == []


@pytest.mark.parametrize(
    ("before", "after", "warning"),
    [
        ({}, {}, None),
        ({"collections_skipped_cpu": 7.0}, {"collections_skipped_cpu": 7.0}, None),  # before the last minute
        ({}, {"collections_skipped_running": 7.0}, None),  # the targets are slow, not we
        (
            {"collections_skipped_cpu": 1.0},
            {"collections_skipped_cpu": 7.0, "collections_skipped_memory": 1200.0},
            "ingest a: 1,206 collections were left out in the last minute: too little memory",
        ),
        ({"collections_skipped_cpu": 9.0}, {"collections_skipped_cpu": 2.0}, None),  # a process on the same spool
    ],
)
def test_collections_that_are_left_out(before: dict[str, float], after: dict[str, float], warning: str | None) -> None:
    drops = RecentDrops()
    for at_s, details in ((0, before), (5, after)):
        drops.add(StageReport("ingest", "a", 1, at_s * NS_PER_S, details=details))
    assert list(drops.skip_warnings()) == ([warning] if warning else [])
