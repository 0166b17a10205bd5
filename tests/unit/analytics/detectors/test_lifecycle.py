"""From verdicts to findings, tick by tick: a detector whose verdicts are written by hand. The interval is 10 s."""

from dataclasses import dataclass

import numpy as np
import pytest

from analytics.detectors.lifecycle import FindingTracker, finding_id
from analytics.detectors.spec import EvidenceColumns, Verdicts
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, clockwork, port_key, table

ACTIVE, CLEARED = FindingState.ACTIVE, FindingState.CLEARED
METRIC = "fabric_queue_occupancy_bytes"
PORTS = ("Ethernet0", "Ethernet4", "Ethernet8")
KEYS = [port_key(METRIC, port, queue="3") for port in PORTS]


@dataclass
class Source:
    name: str = "by_hand"
    kind: FindingKind = FindingKind.QUEUE_CONGESTED
    persist: int = 1
    fire_immediately_score: float = 100.0
    clear_intervals: float = 2.0


@pytest.fixture(scope="module")
def view() -> TickView:
    """One tick in which three ports have reported; every target has full data quality."""
    return at_each_tick(lambda view: view, collected(KEYS, [(1.0, 2.0, 3.0)] * 3))[-1]


def at(interval: float) -> int:
    return START_NS + round(interval * INTERVAL_S * SECOND)


def verdict(view: TickView, interval: float, score: float, port: str = PORTS[0], **changes: object) -> Verdicts:
    number = view.index.object_number(objects.port("leaf1", port))
    one = {"objects": np.array([number]), "times_ns": np.array([at(interval)]), "score": np.array([score])}
    return Verdicts(**{**one, "breached": np.array([score >= 1.0]), **changes})  # type: ignore[arg-type]


def play(view: TickView, source: Source, *scores: tuple[float, float]) -> list[tuple[float, FindingState]]:
    """When something is published, and what: of one port, by interval and score."""
    tracker, found = FindingTracker(), []
    for interval, score in scores:
        found += [(interval, one.state) for one in tracker.update(source, verdict(view, interval, score), view)]
    return found


def series(*scores: float) -> list[tuple[float, float]]:
    return [(float(interval), score) for interval, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("source", "scores", "expected"),
    [
        (Source(), [0.5, 0.9], []),
        (Source(), [1.0], [(0, ACTIVE)]),
        (Source(persist=3), [1, 1, 1], [(2, ACTIVE)]),
        (Source(persist=3), [1, 1, 0, 1, 1], []),  # samples in a row
        (Source(persist=3, fire_immediately_score=5), [1, 5], [(1, ACTIVE)]),
        (Source(persist=3, fire_immediately_score=5), [4.9, 4.9], []),
        # Clears once the newest breach is clear_intervals old.
        (Source(clear_intervals=2), [1, 0, 0], [(0, ACTIVE), (2, CLEARED)]),
        (Source(clear_intervals=3), [1, 0, 0], [(0, ACTIVE)]),
        (Source(clear_intervals=0), [1, 0], [(0, ACTIVE), (1, CLEARED)]),
        (Source(clear_intervals=2), [1, 0, 1, 0, 0], [(0, ACTIVE), (4, CLEARED)]),
        (Source(clear_intervals=1), [1, 0, 0, 1], [(0, ACTIVE), (1, CLEARED), (3, ACTIVE)]),
        # Published again when the score has risen by half, or after six intervals.
        (Source(), [1, 1.49, 1.5, 2.2, 2.25], [(0, ACTIVE), (2, ACTIVE), (4, ACTIVE)]),
        (Source(), [1] * 14, [(0, ACTIVE), (6, ACTIVE), (12, ACTIVE)]),
        (Source(), [3, 2, 1, 1], [(0, ACTIVE)]),
    ],
)
def test_what_is_published_when(
    view: TickView, source: Source, scores: list[float], expected: list[tuple[float, FindingState]]
) -> None:
    assert play(view, source, *series(*scores)) == expected


def test_a_sample_that_is_not_newer_counts_once(view: TickView) -> None:
    assert play(view, Source(persist=2), (0, 1.0), (0, 1.0)) == []
    assert play(view, Source(persist=2), (1, 1.0), (0, 1.0)) == []
    assert play(view, Source(persist=2), (0, 1.0), (0.5, 1.0)) == [(0.5, ACTIVE)]


def test_an_object_without_a_verdict_stays_as_it_is(view: TickView) -> None:
    """Missing telemetry never clears anything."""
    tracker = FindingTracker()
    (opened,) = tracker.update(Source(), verdict(view, 0, 1.0), view)
    assert tracker.update(Source(), verdict(view, 50, 0.0, PORTS[1]), view) == []
    assert tracker.active() == 1
    (cleared,) = tracker.update(Source(), verdict(view, 100, 0.0), view)
    assert (cleared.state, cleared.id, cleared.onset_ns) == (CLEARED, opened.id, at(0))


def test_the_onset_is_the_first_breach_of_the_row_and_stays(view: TickView) -> None:
    tracker = FindingTracker()
    found = [
        tracker.update(Source(persist=2), verdict(view, n, score), view) for n, score in enumerate([1, 0, 1, 2, 4])
    ]
    assert [(one.onset_ns, one.observed_ns) for row in found for one in row] == [(at(2), at(3)), (at(2), at(4))]


def test_the_onset_may_be_given(view: TickView) -> None:
    verdicts = verdict(view, 5, 1.0, onsets_ns=np.array([at(2)]))
    (finding,) = FindingTracker().update(Source(), verdicts, view)
    assert (finding.onset_ns, finding.observed_ns) == (at(2), at(5))


def test_findings_come_in_the_order_of_their_objects(view: TickView) -> None:
    numbers = [view.index.object_number(objects.port("leaf1", port)) for port in reversed(PORTS)]
    ones = np.ones(3)
    found = FindingTracker().update(Source(), Verdicts(np.array(numbers), np.full(3, at(0)), ones >= 1, ones), view)
    assert [finding.object for finding in found] == [objects.port("leaf1", port) for port in PORTS]


def test_an_id_is_a_hash_of_detector_kind_object_and_onset() -> None:
    """BLAKE2b of 10 bytes: ``hashlib.blake2b(b"a\\nlink_down\\nport:leaf1/Ethernet0\\n7", digest_size=10)``."""
    known = finding_id("a", "link_down", "port:leaf1/Ethernet0", 7)
    assert known == "b5c4ee7c9aa7951d6575"
    others = [
        finding_id("b", "link_down", "port:leaf1/Ethernet0", 7),
        finding_id("a", "link_slow", "port:leaf1/Ethernet0", 7),
        finding_id("a", "link_down", "port:leaf1/Ethernet4", 7),
        finding_id("a", "link_down", "port:leaf1/Ethernet0", 8),
    ]
    assert len({known, *others}) == 5


def evidence(view: TickView, value: float, normal: float, **changes: object) -> EvidenceColumns:
    sid = view.index.keys.index(KEYS[0])
    return EvidenceColumns(np.array([sid]), np.array([value]), np.array([normal]), **changes)  # type: ignore[arg-type]


def published(view: TickView, **changes: object) -> Finding:
    (finding,) = FindingTracker().update(Source(), verdict(view, 0, 2.0, PORTS[0], **changes), view)
    return finding


def test_evidence_has_the_key_and_unit_of_its_series_or_those_given(view: TickView) -> None:
    found = published(
        view,
        evidence=(
            evidence(view, 3.0, 1.0),
            evidence(view, 4.0, np.nan, unit="ratio", label=lambda row: f"row {row}"),
            evidence(view, np.nan, 1.0),  # nothing known
        ),
    ).evidence
    assert [(one.series, one.value, one.normal, one.unit) for one in found] == [
        (KEYS[0], 3.0, 1.0, "bytes"),
        ("row 0", 4.0, None, "ratio"),
    ]


def test_only_the_first_five_pieces_of_evidence_are_kept(view: TickView) -> None:
    found = published(view, evidence=tuple(evidence(view, float(n), 0.0) for n in range(7)))
    assert [one.value for one in found.evidence] == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 / 3, 0.333333), (123456789.0, 123457000.0), (np.inf, 1e30), (-np.inf, -1e30), (1e-9, 1e-9), (0.0, 0.0)],
)
def test_numbers_have_six_digits_and_are_finite(view: TickView, value: float, expected: float) -> None:
    assert published(view, evidence=(evidence(view, value, 0.0),)).evidence[0].value == expected


@pytest.mark.parametrize(("confidence", "expected"), [(0.9, 0.9), (np.array([0.4]), 0.4), (1 / 3, 0.333333)])
def test_confidence_is_one_number_or_one_for_each_row(view: TickView, confidence: object, expected: float) -> None:
    assert published(view, confidence=confidence).confidence == expected


def test_confidence_is_less_where_the_target_of_the_evidence_has_bad_data() -> None:
    """Two of three series have brought nothing for several intervals: 1 - 0.5 x 2 / 3 of the confidence."""
    batches = collected(KEYS, [(1.0, 2.0, 3.0)])
    later = collected(KEYS[:1], [(1.0,)] * 8)
    view = at_each_tick(lambda view: view, [batches[0], *later[1:]])[-1]
    found = published(view, evidence=(evidence(view, 3.0, 1.0),), confidence=0.6)
    assert found.confidence == pytest.approx(0.6 * (1 - 0.5 * 2 / 3))
    assert published(view, confidence=0.6).confidence == 0.6  # without a series nothing is known about its target


def test_objects_that_breach_are_tracked_and_active_ones_are_found_by_detector(view: TickView) -> None:
    tracker = FindingTracker()
    tracker.update(Source("a"), verdict(view, 0, 1.0, PORTS[0]), view)
    tracker.update(Source("b", persist=2), verdict(view, 0, 1.0, PORTS[1]), view)
    assert tracker.objects() == {f"port:leaf1/{PORTS[0]}", f"port:leaf1/{PORTS[1]}"}
    assert tracker.active_about("a", "b", "unknown") == [f"port:leaf1/{PORTS[0]}"]
    tracker.update(Source("b", persist=2), verdict(view, 1, 0.0, PORTS[1]), view)
    assert tracker.objects() == {f"port:leaf1/{PORTS[0]}"}


def test_a_restored_tracker_goes_on_where_the_other_stopped(view: TickView) -> None:
    whole, first, second = FindingTracker(), FindingTracker(), FindingTracker()
    scores, source = [1, 1, 1.4, 0, 2.5, 0, 0, 0], Source(persist=2)
    for n, score in enumerate(scores):
        half = first if n < 4 else second
        if n == 4:
            second.restore(first.state())
        assert half.update(source, verdict(view, n, score), view) == whole.update(source, verdict(view, n, score), view)
    assert second.state() == whole.state()


@pytest.mark.parametrize(("cadence_s", "cleared"), [(1.0, 2), (10.0, 2), (30.0, 6)])
def test_evidence_that_comes_rarely_needs_longer_to_show_that_it_is_over(
    view: TickView, cadence_s: float, cleared: int
) -> None:
    """Two intervals of the evidence; that of the collection where the evidence comes more often."""
    tracker, source, states = FindingTracker(), Source(clear_intervals=2), []
    for n, score in enumerate([1.0] + [0.0] * 8):
        for finding in tracker.update(source, verdict(view, n, score, cadence_s=np.array([cadence_s])), view):
            states.append((n, finding.state, finding.cadence_s))
    assert states == [(0, ACTIVE, cadence_s), (cleared, CLEARED, cadence_s)]


def test_the_cadence_of_a_finding_is_that_of_its_series() -> None:
    batches = [batch(table("leaf1", KEYS), seq, (1.0, 2.0, 3.0), at_s=30.0 * seq) for seq in range(6)]
    view = at_each_tick(lambda view: view, [*batches, *clockwork(0, range(18))])[-1]
    assert published(view, evidence=(evidence(view, 3.0, 1.0),)).cadence_s == 30.0
    assert published(view).cadence_s == 0.0


def test_more_evidence_than_ever_is_published_at_once(view: TickView) -> None:
    tracker, found = FindingTracker(), []
    for n, second in enumerate([np.nan, np.nan, 2.0, 3.0, np.nan, 2.0]):
        shown = (evidence(view, 1.0, np.nan), evidence(view, second, np.nan))
        found += [
            (n, len(one.evidence)) for one in tracker.update(Source(), verdict(view, n, 1.0, evidence=shown), view)
        ]
    assert found == [(0, 1), (2, 2)]


def test_its_normal_stays_that_of_before_the_fault(view: TickView) -> None:
    """A series learns what lasts: half an hour into a fault, or while it warms up, that would be its normal."""
    sid = view.index.keys.index(KEYS[0])

    def published(*normals: float, learned: bool) -> list[float | None]:
        tracker, found = FindingTracker(), []
        for interval, normal in enumerate(normals):
            shown = EvidenceColumns(np.array([sid]), np.array([9.0]), np.array([normal]), learned=learned)
            judged = verdict(view, 6.0 * interval, 2.0, evidence=(shown,))
            found += tracker.update(Source(), judged, view)
        return [one.evidence[0].normal for one in found]

    unknown = float("nan")
    assert published(1.0, 5.0, 9.0, learned=True) == [1.0, 1.0, 1.0]
    assert published(unknown, 5.0, 9.0, learned=True) == [None, None, None]
    assert published(1.0, 5.0, 9.0, learned=False) == [1.0, 5.0, 9.0]  # what its peers are now, a limit, …
