"""Every detector is pure, keeps to itself and stays quiet in health; and each check of that sees one that does not."""

from collections.abc import Callable, Sequence

import pytest

from analytics.config import DetectionConfig
from analytics.detectors import detectors
from analytics.detectors.spec import Detector
from telemetry import catalogue
from telemetry.codec.records import decode_record
from telemetry.findings import Finding
from tests.conformance.detectors import bad_detectors, detector_checks
from tests.conformance.detectors.detector_checks import Inspected, Published, differing, engine_of, published
from tests.conformance.detectors.eventful_cluster import Cluster

FORECASTS = {"capacity", "wear"}  # need days of history: tests/unit/analytics/models/trend
HEALTHY_MINUTES, HEALTHY_INTERVAL_S = 10_000, 300
BATCHES = list(Cluster(eventful=True).batches())
QUIET = list(Cluster(eventful=False).batches(40))
NAMES = [detector.name for detector in detectors(DetectionConfig())]


def all_detectors() -> Sequence[Detector]:
    return detectors(DetectionConfig())


def two_that_see_each_other() -> Sequence[Detector]:
    asked: list[str] = []
    return [bad_detectors.SeesOthers(name=name, asked=asked) for name in ("one", "other")]


@pytest.fixture(scope="module")
def inspected(request: pytest.FixtureRequest) -> dict[str, Inspected]:
    """Of the detectors whose tests are selected: with ``-k`` one of them takes seconds."""
    names = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    return detector_checks.inspected(lambda: [each for each in all_detectors() if each.name in names], BATCHES)


@pytest.fixture(scope="module")
def reference() -> Published:
    return published(engine_of(all_detectors()), BATCHES)


def test_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_pure_and_its_verdicts_are_in_shape(inspected: dict[str, Inspected], name: str) -> None:
    assert set(inspected[name].metrics) <= set(catalogue.metrics())
    assert inspected[name].problems == []


@pytest.mark.parametrize("name", sorted(set(NAMES) - FORECASTS))
def test_it_was_inspected_while_it_found_something(inspected: dict[str, Inspected], name: str) -> None:
    assert sum(inspected[name].breached) > 0


@pytest.mark.parametrize("name", sorted(set(NAMES) - FORECASTS))
def test_what_it_finds_says_how_often_something_new_is_known(reference: Published, name: str) -> None:
    found = [decode_record(each, Finding) for each in reference[name]]
    assert [each for each in found if each.evidence and each.cadence_s <= 0.0] == []


def test_their_order_does_not_matter(reference: Published) -> None:
    assert differing(detector_checks.reversed_order(all_detectors, BATCHES), reference) == set()


@pytest.mark.parametrize("chunk", [37, len(BATCHES)])
def test_portions_do_not_matter(reference: Published, chunk: int) -> None:
    assert differing(published(engine_of(all_detectors()), BATCHES, chunk), reference) == set()


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_restart_does_not_matter(reference: Published, share: float) -> None:
    cut = round(share * len(BATCHES))
    assert differing(detector_checks.restarted_after(all_detectors, BATCHES, cut), reference) == set()


@pytest.mark.parametrize("start", [0, 1])
def test_one_that_raises_changes_nothing_for_the_others(reference: Published, start: int) -> None:
    others = detector_checks.beside_raising(all_detectors, BATCHES, NAMES[start::2])
    assert len(others) == len(NAMES) - len(NAMES[start::2])
    assert differing(others, reference) == set()


def test_none_finds_anything_in_ten_thousand_healthy_minutes() -> None:
    rounds = HEALTHY_MINUTES * 60 // HEALTHY_INTERVAL_S
    healthy = Cluster(eventful=False, interval_s=HEALTHY_INTERVAL_S).batches(rounds)
    assert detector_checks.found_in_health(all_detectors, healthy, HEALTHY_INTERVAL_S) == []


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (bad_detectors.CountsItsTicks, "judges the same tick in two ways"),
        (bad_detectors.CountsItsTicks, "changes the engine, or itself"),
        (bad_detectors.WritesToTheView, "raises ValueError('assignment destination is read-only')"),
        (bad_detectors.ChangesTheEngine, "changes the engine, or itself"),
        (bad_detectors.RemembersStrangers, "remembers more series than there are"),
        (bad_detectors.GivesTwoVerdicts, "gives an object several verdicts"),
        (bad_detectors.DoesNotBreachAtItsLimit, "does not breach at its limit"),
        (bad_detectors.LooksAtTheClock, "judges the same tick in two ways"),
    ],
)
def test_the_inspection_sees_a_bad_one(bad: Callable[[], Detector], problem: str) -> None:
    assert problem in detector_checks.inspected(lambda: [bad()], QUIET)["bad"].problems


def test_the_comparisons_see_a_bad_one() -> None:
    pair = published(engine_of(two_that_see_each_other()), QUIET)
    assert differing(detector_checks.reversed_order(two_that_see_each_other, QUIET), pair) == {"one", "other"}
    assert differing(detector_checks.beside_raising(two_that_see_each_other, QUIET, ["one"]), pair) == {"other"}
    clock = published(engine_of([bad_detectors.LooksAtTheClock()]), QUIET)
    assert differing(published(engine_of([bad_detectors.LooksAtTheClock()]), QUIET, 37), clock) == {"bad"}
    counts = published(engine_of([bad_detectors.CountsItsTicks()]), QUIET)
    after = detector_checks.restarted_after(lambda: [bad_detectors.CountsItsTicks()], QUIET, 100)
    assert differing(after, counts) == {"bad"}
    assert detector_checks.found_in_health(lambda: [bad_detectors.IsNeverContent()], QUIET, 10.0)
