"""New series of one target: what is allowed, what is dropped, and that it is counted."""

from collections.abc import Iterable

import numpy as np
import pytest
from structlog.testing import capture_logs

from common.units import NS_PER_S
from ingest.ledger import DropReason, Ledger
from ingest.series_budget import SeriesBudget
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

PER_HOUR = 100
HOUR_S = 3600


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(0)


@pytest.fixture
def budget(ledger: Ledger) -> SeriesBudget:
    return SeriesBudget(PER_HOUR, ledger)


def table(names: Iterable[object], target: str = "job/a:1") -> SeriesTable:
    return SeriesTable(target, "node1", tuple(f"m{{x={name}}}" for name in names))


def batch(of: SeriesTable, at_s: float = 0.0, down: DownReason | None = None) -> SampleBatch:
    """A sample of each series, whose value is its row."""
    n = 0 if down else len(of.keys)
    collection = Collection(0, 0, int(at_s * NS_PER_S), 0.0, down)
    return SampleBatch(of, collection, np.zeros(n, np.int64), np.arange(n, dtype=np.uint32), np.arange(n, dtype=float))


def keys(found: SampleBatch) -> dict[str, float]:
    return {found.table.keys[row]: value for row, value in zip(found.series, found.values, strict=True)}


def test_a_batch_within_the_budget_is_passed_on_as_it_is(budget: SeriesBudget, ledger: Ledger) -> None:
    full = batch(table(range(PER_HOUR)))
    assert budget.admit(full) is full
    assert budget.admit(full) is full
    assert (budget.targets_over, ledger.drops) == (0, {})


def test_the_first_series_are_kept_and_the_others_dropped_and_counted(budget: SeriesBudget, ledger: Ledger) -> None:
    of = table(range(PER_HOUR + 7))
    for n in (1, 2):
        found = budget.admit(batch(of))
        assert keys(found) == {f"m{{x={row}}}": float(row) for row in range(PER_HOUR)}
        assert found.table.keys == of.keys[:PER_HOUR]
        assert ledger.drops == {DropReason.NEW_SERIES: 7 * n}
    assert budget.targets_over == 1


def test_the_table_stays_the_same_object_while_the_target_does(budget: SeriesBudget) -> None:
    of = table(range(PER_HOUR + 7))
    assert budget.admit(batch(of)).table is budget.admit(batch(of, 10.0)).table


def test_series_that_change_with_each_scrape_come_at_the_rate_of_the_budget(
    budget: SeriesBudget, ledger: Ledger
) -> None:
    allowed = sum(len(budget.admit(batch(table(f"{n}-{row}" for row in range(90)), n * 36.0))) for n in range(200))
    assert allowed == PER_HOUR + 199  # one more in 36 s
    assert ledger.drops.total() == 200 * 90 - allowed


def test_a_collection_of_which_nothing_is_left_is_down(budget: SeriesBudget) -> None:
    budget.admit(batch(table(range(PER_HOUR))))
    found = budget.admit(batch(table(range(500, 510))))
    assert (found.collection.down, len(found), found.table.keys) == (DownReason.TOO_MANY_SERIES, 0, ())


def test_known_series_are_never_refused(budget: SeriesBudget) -> None:
    known = [f"k{n}" for n in range(50)]
    budget.admit(batch(table(known)))
    for scrape in range(20):
        found = budget.admit(batch(table([*(f"{scrape}-{n}" for n in range(90)), *known])))
        assert {f"m{{x={name}}}" for name in known} <= keys(found).keys()


def test_series_may_go_and_come_back(budget: SeriesBudget, ledger: Ledger) -> None:
    odd, even = table(range(60)), table(range(30, 100))
    for _ in range(10):
        assert len(budget.admit(batch(odd))) == 60
        assert len(budget.admit(batch(batch(even).table, down=DownReason.TIMEOUT))) == 0
        assert len(budget.admit(batch(even))) == 70
    assert ledger.drops == {}


def test_refused_series_are_admitted_later_and_not_one_by_one(budget: SeriesBudget) -> None:
    of = table(range(PER_HOUR + 30))
    sizes = [len(budget.admit(batch(of, n * 36.0))) for n in range(41)]
    assert sizes[0] == PER_HOUR
    assert sizes[40] == PER_HOUR + 30
    assert len(set(sizes)) == 4  # each size is a new table: thirty series come in three steps


def test_other_targets_are_unharmed(budget: SeriesBudget) -> None:
    budget.admit(batch(table(range(1000))))
    other = batch(table(range(PER_HOUR), target="job/b:1"))
    assert budget.admit(other) is other


def test_a_down_batch_keeps_its_reason(budget: SeriesBudget) -> None:
    of = table(range(PER_HOUR + 7))
    budget.admit(batch(of))
    assert budget.admit(batch(of, down=DownReason.TIMEOUT)).collection.down is DownReason.TIMEOUT


def test_a_target_over_its_budget_is_logged_once(budget: SeriesBudget) -> None:
    with capture_logs() as logged:
        for scrape in range(5):
            budget.admit(batch(table(f"{scrape}-{n}" for n in range(90))))
    assert [(line["event"], line["target"], line["dropped"]) for line in logged] == [
        ("target brings too many new series", "job/a:1", 80)
    ]


def test_the_worst_targets_are_named_with_what_is_refused(budget: SeriesBudget) -> None:
    for number in range(30):
        budget.admit(batch(table(range(PER_HOUR + number), target=f"job/{number}:1")))
    assert list(budget.refused().items()) == [(f"job/{number}:1", number) for number in range(29, 9, -1)]
    budget.forget("job/29:1")
    assert next(iter(budget.refused())) == "job/28:1"


def test_a_target_that_is_gone_is_forgotten(budget: SeriesBudget) -> None:
    budget.admit(batch(table(range(1000))))
    budget.forget("job/a:1")
    budget.forget("job/never:1")
    assert budget.targets_over == 0
    assert len(budget.admit(batch(table(range(1000, 1000 + PER_HOUR))))) == PER_HOUR
