"""Verdicts from a column: the worst series of each object, breaches, and healthy values of watched objects only."""

import numpy as np
import pytest

from analytics.detectors.spec import Verdicts, verdicts_of
from analytics.view.tick_view import TickView
from telemetry import objects
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import clockwork, port_key

METRIC = "fabric_queue_occupancy_bytes"
KEYS = [port_key(METRIC, port, queue=queue) for port in ("Ethernet0", "Ethernet4") for queue in ("3", "4")]


def verdicts(scores: list[float], watched: tuple[str, ...] = (), **changes: object) -> Verdicts:
    """Of two ports with two queues each, whose values are 10, 11, 20 and 21."""

    def work(view: TickView) -> Verdicts:
        flags = np.zeros(len(view.index.objects), bool)
        flags[[view.index.object_number(objects.port("leaf1", port)) for port in watched]] = True
        column = TickView(view.data, flags).column(METRIC)
        return verdicts_of(column, np.array(scores), **changes) if len(column) else _NONE  # type: ignore[arg-type]

    return at_each_tick(work, collected(KEYS, [(10.0, 11.0, 20.0, 21.0)]))[0]


_NONE = Verdicts(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0))


@pytest.mark.parametrize(
    ("scores", "watched", "expected"),
    [
        ([0.5, 0.9, 0.0, 0.999], (), []),
        ([1.0, 0.0, 0.0, 0.0], (), [(10.0, 1.0, True)]),
        ([1.0, 2.0, 3.0, 0.0], (), [(11.0, 2.0, True), (20.0, 3.0, True)]),
        ([0.5, 0.2, 0.7, 0.9], ("Ethernet4",), [(21.0, 0.9, False)]),
        ([0.5, 0.2, 4.0, 0.9], ("Ethernet0",), [(10.0, 0.5, False), (20.0, 4.0, True)]),
        ([np.nan, 0.2, np.nan, np.nan], ("Ethernet0", "Ethernet4"), [(11.0, 0.2, False)]),
    ],
)
def test_one_verdict_for_each_object_that_breaches_or_is_watched(
    scores: list[float], watched: tuple[str, ...], expected: list[tuple[float, float, bool]]
) -> None:
    found = verdicts(scores, watched)
    (evidence,) = found.evidence
    rows = zip(evidence.values.tolist(), found.score.tolist(), found.breached.tolist(), strict=True)
    assert list(rows) == expected
    assert np.unique(found.objects).size == found.objects.size


def test_the_evidence_shows_other_values_and_normals_where_they_are_given() -> None:
    found = verdicts(
        [0.0, 2.0, 0.0, 0.0], values=np.array([1.0, 2.0, 3.0, 4.0]), normals=np.array([5.0, 6.0, 7.0, 8.0]), unit="x"
    )
    (evidence,) = found.evidence
    assert (evidence.values.tolist(), evidence.normals.tolist(), evidence.unit) == ([2.0], [6.0], "x")


def test_the_normal_is_the_level_of_the_series_and_unknown_at_first() -> None:
    (evidence,) = verdicts([2.0, 0.0, 0.0, 0.0]).evidence
    assert np.isnan(evidence.normals).all()


def test_values_that_are_not_fresh_have_no_verdict() -> None:
    """A value is fresh for two and a half intervals: five ticks of half an interval."""
    sizes = at_each_tick(
        lambda view: verdicts_of(view.column(METRIC), np.full(len(view.column(METRIC)), 2.0)).objects.size,
        [collected(KEYS, [(10.0, 11.0, 20.0, 21.0)])[0], *clockwork(0, range(1, 6))],
    )
    assert sizes[0] == 2
    assert sizes[-1] == 0
