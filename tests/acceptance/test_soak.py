"""The short form of ``make soak``: every kind of hostile target beside good ones, on a real Kafka that restarts."""

import doctest
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from telemetry.incidents import IncidentKind
from tests.acceptance.soak import addresses, kinds, plan
from tests.acceptance.soak.kinds import KINDS, Kind
from tests.acceptance.soak.measurements import Measurements, growth, quantiles
from tests.acceptance.soak.plan import Plan
from tests.acceptance.soak.product import Product
from tests.acceptance.soak.verdicts import delays, memory, pages, stops
from tests.acceptance.soak.watch import Critical, Watch

BROKEN = 3
PLAN = Plan(duration_s=40.0, good=20, hostile=60, interval_s=4.0)


async def test_hostile_targets_are_cut_and_good_ones_are_collected(tmp_path: Path) -> None:
    product = Product(PLAN, tmp_path, everything=False)
    watch, notified_ns = product.watch, product.receivers.good.critical_ns
    try:
        await product.start()
        await product.add_hostile()
        product.break_chassis(BROKEN)
        await product.restart_broker()
        for kind in KINDS:
            await product.until(partial(_is_as_described, kind, watch), f"{kind.name} in {dict(watch.outcomes)}")
        await product.until(lambda: bool(watch.critical_ns) and _all_paged(watch.critical_ns, notified_ns), "the page")
        await product.until_fresh()
        product.check()
    finally:
        await product.stop()
    broken = [watch.incidents[one.incident_id] for one in watch.critical_ns]
    assert {(one.kind, one.root.device) for one in broken} == {(IncidentKind.GPU_FAULT, f"chassis{BROKEN}")}
    assert len(watch.ups) == product.good_targets
    assert {stage: report.balance for stage, report in watch.reports.items()} == dict.fromkeys(watch.reports, 0)
    assert watch.gaps == []
    assert [stage for stage, took_s in product.stops_s.items() if took_s is None] == [], "all ended in order"
    assert all(one.asked for one in product.receivers.failing.values())


def _all_paged(critical_ns: Mapping[Critical, int], notified_ns: Mapping[str, Sequence[int]]) -> bool:
    return delays(critical_ns, notified_ns).keys() == critical_ns.keys()


def _is_as_described(kind: Kind, watch: Watch) -> bool:
    """Whether a target of this kind ended as it must, and what it sent beyond its share was counted."""
    dropped = watch.reports["ingest"].dropped if "ingest" in watch.reports else {}
    return watch.outcomes[kind.name][kind.outcome] > 0 and (kind.drops is None or dropped.get(kind.drops, 0) > 0)


def test_memory_that_grows_after_the_warm_up_differs_from_memory_that_is_level() -> None:
    hour = Plan(duration_s=3600.0)
    assert growth([(0.0, 1.0), (3600.0, 11.0)], 0.0) is None
    grows = [(float(second), 100.0 + second / 36) for second in range(0, 3600, 5)]
    slope, _ = growth(grows, 0.0) or (0.0, 0.0)
    assert slope == pytest.approx(100.0)
    busy = [(at_s, mib + 500 * (place % 20 > 2)) for place, (at_s, mib) in enumerate(grows)]
    level = [(at_s, 50.0 + at_s % 60) for at_s, _ in grows]
    measured = Measurements(memory={"ingest": grows, "export": busy, "alerts": level, "api": grows[:200]})
    assert [one.kept for one in memory(measured, hour)] == [False, False, True, None]


def test_a_page_that_is_late_or_missing_is_a_broken_promise() -> None:
    second = 10**9

    def kept(critical: list[tuple[str, int]], paged: dict[str, list[int]]) -> bool | None:
        known = {Critical(incident_id, at_s * second): at_s * second for incident_id, at_s in critical}
        notified = {incident_id: [at_s * second for at_s in times] for incident_id, times in paged.items()}
        return next(pages(known, notified, 100 * second)).kept

    assert kept([("a", 1)], {"a": [3]})
    assert not kept([("a", 1)], {"a": [7]})
    assert not kept([("a", 1), ("b", 1)], {"a": [2]})
    assert kept([("a", 1), ("b", 99)], {"a": [2]}), "that of b may be on its way"
    assert kept([("a", 1), ("a", 50)], {"a": [2, 51]})
    assert not kept([("a", 1), ("a", 50)], {"a": [2]}), "it came back and nobody was notified again"
    assert not kept([], {}), "nothing was shown"
    assert quantiles([1.0, 2.0, 3.0])[0] == 2.0


def test_a_stage_that_must_be_killed_is_a_broken_promise() -> None:
    assert next(stops({"ingest": 1.0, "alerts": 29.0})).kept
    assert not next(stops({"ingest": 1.0, "alerts": 31.0})).kept
    assert not next(stops({"ingest": 1.0, "alerts": None})).kept
    assert not next(stops({})).kept


@pytest.mark.parametrize("module", [addresses, kinds, plan])
def test_examples_are_true(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert (result.attempted > 0, result.failed) == (True, 0)
