"""The ledger: every sample is received, and then published, dropped or queued."""

import re

import pytest
from prometheus_client import REGISTRY, Counter, Gauge, Histogram

from ingest import metrics
from ingest.collectors.gnmi import metrics as gnmi_metrics
from ingest.ledger import STAGE, DropReason, Ledger
from telemetry.ledger import TargetAccount


def test_a_new_ledger_is_empty_and_balanced() -> None:
    report = Ledger(5).report("ingest-0", 9, 0, {})
    assert (report.stage, report.instance, report.epoch_ns, report.at_ns) == (STAGE, "ingest-0", 5, 9)
    assert (report.samples_in, report.samples_out, report.held, report.dropped, report.balance) == (0, 0, 0, {}, 0)


@pytest.mark.parametrize(
    ("received", "published", "dropped", "queued", "balance"),
    [
        (10, 10, {}, 0, 0),
        (10, 0, {}, 10, 0),
        (10, 4, {DropReason.DUPLICATE: 1, DropReason.QUOTA: 2}, 3, 0),
        (10, 4, {}, 3, 3),  # three are lost without a reason
        (10, 12, {}, 0, -2),  # two are counted twice
    ],
)
def test_the_balance(received: int, published: int, dropped: dict[DropReason, int], queued: int, balance: int) -> None:
    ledger = Ledger(0)
    ledger.received(received, "")
    ledger.published(published, "")
    for reason, n in dropped.items():
        ledger.dropped(reason, n, "")
    report = ledger.report("i", 1, queued, {"targets": 3.0})
    assert report.balance == balance
    assert report.dropped == {reason.value: n for reason, n in dropped.items()}
    assert report.details == {"targets": 3.0}


def test_counts_add_up_and_nothing_is_no_drop() -> None:
    ledger = Ledger(0)
    for n in (1, 2, 3):
        ledger.received(n, "")
        ledger.dropped(DropReason.NO_VALUE, n, "")
        ledger.dropped(DropReason.QUOTA, 0, "")
    assert ledger.samples_in == 6
    assert dict(ledger.drops) == {DropReason.NO_VALUE: 6}


def test_samples_that_nothing_maps_are_counted_apart() -> None:
    ledger, before = Ledger(0), value("samples_unmapped_total")
    for _ in range(2):
        ledger.unmapped(3)
        ledger.update_metrics()
    assert (ledger.samples_unmapped, value("samples_unmapped_total") - before) == (6, 6)
    assert ledger.report("i", 1, 0, {}).balance == 0


def test_the_reasons_of_a_report_are_sorted_so_that_equal_counts_give_equal_bytes() -> None:
    ledger = Ledger(0)
    for reason in (DropReason.TOO_LARGE, DropReason.BAD_FORMAT, DropReason.QUOTA):
        ledger.dropped(reason, 1, "")
    assert list(ledger.report("i", 0, 0, {}).dropped) == ["bad_format", "quota", "too_large"]


def test_a_target_has_an_account_of_its_own() -> None:
    ledger = Ledger(5)
    ledger.received(10, "a")
    ledger.dropped(DropReason.NO_VALUE, 1, "a")
    ledger.queued(9, "a")
    ledger.received(3, "b")
    ledger.published(4, "a")
    ledger.dropped(DropReason.QUEUE_FULL, 2, "a", queued=True)
    assert ledger.account("a") == TargetAccount(5, 10, 4, 3, {"no_value": 1, "queue_full": 2})
    assert (ledger.account("a").balance, ledger.account("b").balance, ledger.unaccounted) == (0, 3, 3)
    assert ledger.account("never seen") == TargetAccount(5)
    ledger.forget("b")
    assert (ledger.unaccounted, ledger.samples_in) == (0, 13)
    ledger.published(1, "b")
    assert ledger.account("b") == TargetAccount(5), "what was still queued counts in the totals alone"


def test_targets_beyond_the_bound_count_in_the_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.ledger.ACCOUNTS_MAX", 1)
    ledger = Ledger(0)
    for target in ("a", "b"):
        ledger.received(2, target)
        ledger.dropped(DropReason.QUOTA, 1, target)
        ledger.queued(1, target)
        ledger.published(1, target)
    assert (ledger.samples_in, ledger.samples_out, ledger.drops.total()) == (4, 2, 2)
    assert (ledger.account("a").received, ledger.account("b").received) == (2, 0)


def test_metrics_by_target_are_bounded_and_end_with_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.target_metrics.TARGETS_MAX", 1)
    ledger, others = Ledger(0), value("target_samples_received_total", target="")
    for target in ("job/first", "job/second"):
        ledger.received(5, target)
        ledger.dropped(DropReason.QUOTA, 2, target)
        ledger.queued(3, target)
        ledger.published(3, target)
    ledger.update_metrics()
    ledger.received(1, "job/first")
    ledger.update_metrics()
    assert value("target_samples_received_total", target="job/first") == 6
    assert value("target_samples_published_total", target="job/first") == 3
    assert value("target_samples_dropped_total", target="job/first", reason="quota") == 2
    assert value("target_samples_received_total", target="") - others == 5
    assert value("unaccounted_samples") == 1  # the last one was neither queued nor dropped
    ledger.forget("job/first")
    assert (
        REGISTRY.get_sample_value("fabricscope_ingest_target_samples_received_total", {"target": "job/first"}) is None
    )
    ledger.received(4, "job/third")
    ledger.update_metrics()
    assert value("target_samples_received_total", target="job/third") == 4, "it has the place that is free"
    ledger.forget("job/third")


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"fabricscope_ingest_{name}", labels) or 0.0


def test_metrics_get_what_was_counted_since_the_last_update() -> None:
    ledger = Ledger(0)
    names = ("samples_received_total", "samples_published_total")
    before = [value(name) for name in names] + [value("samples_dropped_total", reason="quota")]
    ledger.received(10, "")
    ledger.published(6, "")
    ledger.dropped(DropReason.QUOTA, 4, "")
    ledger.update_metrics()
    ledger.update_metrics()
    ledger.received(1, "")
    ledger.published(1, "")
    ledger.update_metrics()
    after = [value(name) for name in names] + [value("samples_dropped_total", reason="quota")]
    assert [new - old for old, new in zip(before, after, strict=True)] == [11.0, 7.0, 4.0]


OWN = [
    metric
    for module in (metrics, gnmi_metrics)
    for metric in vars(module).values()
    if isinstance(metric, Counter | Gauge | Histogram)
]


@pytest.mark.parametrize("metric", OWN, ids=lambda metric: next(iter(metric.describe())).name)
def test_own_metrics_have_the_stage_s_prefix_a_plural_and_a_sentence(metric: Counter | Gauge | Histogram) -> None:
    """Source: Prometheus, docs/practices/naming. The library adds ``_total`` to counters."""
    (family,) = metric.describe()
    assert family.name.startswith("fabricscope_ingest_")
    assert re.search(
        r"(s(_(up|unsynced|refused|dropped|received|published|unmapped|skipped|queued|waiting|running(_max)?))?|_ratio)$",
        family.name,
    )
    assert family.documentation.endswith(".")
