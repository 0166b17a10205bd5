"""How many collections may run at once."""

import pytest

from ingest.admission.gate import Gate
from ingest.admission.limit import LIMIT_MIN, STOP_S, WAIT_BAD_S, WAIT_GOOD_S, CollectionLimit
from ingest.admission.line import Priority
from ingest.admission.page_bytes import PageBytes
from ingest.admission.reasons import SkipReason
from ingest.config import SchedulerConfig


@pytest.mark.parametrize(
    ("wait_s", "running", "expected"),
    [
        (0.0, 100, 111),  # it is reached, and nothing waits
        (0.0, 49, 100),  # nothing comes near it
        ((WAIT_GOOD_S + WAIT_BAD_S) / 2, 100, 100),
        (WAIT_BAD_S + 0.1, 100, 80),
        (WAIT_BAD_S + 0.1, 50, 40),  # from what ran, not from what might have
        (WAIT_BAD_S + 0.1, 0, LIMIT_MIN),
    ],
)
def test_the_limit_follows_how_long_work_waits(wait_s: float, running: int, expected: int) -> None:
    limit = CollectionLimit(100)
    limit.observe(wait_s, running)
    assert limit.limit == expected


def test_any_number_of_slow_targets_is_admitted_while_work_does_not_wait() -> None:
    limit = CollectionLimit()
    for _ in range(70):
        limit.observe(0.0, limit.limit)
    assert limit.limit > 10_000


@pytest.mark.parametrize(
    ("running", "healthy", "overdue_s", "page_bytes", "expected"),
    [
        (19, True, 0.0, 0, None),
        (20, True, 0.0, 0, SkipReason.CPU),
        (0, True, STOP_S + 0.1, 0, SkipReason.CPU),
        (0, True, 0.0, 1001, SkipReason.MEMORY),
        (7, False, 0.0, 0, SkipReason.UNHEALTHY),
        (6, False, 0.0, 0, None),
    ],
)
def test_what_is_refused_has_a_reason(
    running: int, healthy: bool, overdue_s: float, page_bytes: int, expected: SkipReason | None
) -> None:
    config = SchedulerConfig(unhealthy_max=7, page_bytes_max=1000)
    gate = Gate(config, PageBytes(page_bytes), lambda: overdue_s, limit=CollectionLimit(20))
    assert gate.refusal(Priority.NORMAL, healthy=healthy, running=running, running_all=running) is expected


@pytest.mark.parametrize(
    ("used", "running", "admitted"),
    [
        (799, 0, {Priority.HIGH, Priority.NORMAL, Priority.LOW}),
        (801, 0, {Priority.HIGH, Priority.NORMAL}),
        (901, 0, {Priority.HIGH}),
        (951, 0, set()),
        (799, 1, {Priority.HIGH, Priority.NORMAL}),  # the page that comes takes thirty
        (799, 4, {Priority.HIGH}),
    ],
)
def test_memory_is_kept_for_what_comes_first(used: int, running: int, admitted: set[Priority]) -> None:
    pages = PageBytes()
    with pages.holding(10):
        pass
    gate = Gate(SchedulerConfig(), pages, memory=(used, 1000))
    refusals = {each: gate.refusal(each, healthy=True, running=running, running_all=running) for each in Priority}
    assert {each for each, refusal in refusals.items() if refusal is None} == admitted
    assert set(refusals.values()) <= {None, SkipReason.MEMORY}
