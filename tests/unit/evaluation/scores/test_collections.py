"""Thresholds from one half and figures of the other; rows of columns; classes of events; the page of it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from analytics.offline.rows import row_score
from common.units import NS_PER_S
from evaluation.scores.collections import GREATEST, ROW, Collection, experts, judge, labelled, row_scores
from evaluation.scores.common_level import LEVELS, curves, section
from evaluation.scores.events import Event, events_of
from evaluation.scores.methods import METHODS, OURS
from evaluation.scores.page import best_baseline, collections_page, rows
from evaluation.series.folders import Recording
from evaluation.series.labelled import Series, Window
from evaluation.series.signals import Floats

POINTS = 1000


def recording(name: str, *events: tuple[int, float], columns: int = 1) -> Recording:
    """Noise, with an event of five points in the first column at each of the places, as many deviations high."""
    windows = tuple(Window(at, at + 5, "labelled") for at, _ in events)
    times_ns = np.arange(POINTS, dtype=np.int64) * 300 * NS_PER_S
    made = []
    for column in range(columns):
        values = np.random.default_rng(column).normal(100, 1, POINTS)
        for at, height in events if column == 0 else ():
            values[at : at + 5] += height
        made.append(Series("test", 0, times_ns, values, windows, 150))
    return Recording("test", name, tuple(made))


COLLECTION = Collection("test", (recording("a", (300, 30)),), (recording("b", (400, 30), (600, -30), (640, 30)),))


def judged(collection: Collection = COLLECTION):
    with ThreadPoolExecutor(1) as pool:
        return judge(collection, pool, ("EWMA",))


def test_the_product_has_its_own_level_and_each_method_the_best_of_the_other_half() -> None:
    ours, tuned, ewma = judged()
    assert [each.method for each in (ours, tuned, ewma)] == [OURS, OURS, "EWMA"]
    assert ours.threshold == 1.0
    assert (ewma.chosen.windows, ewma.chosen.f1, ewma.report.windows) == (1, 1.0, 3)
    scores = METHODS["EWMA"](COLLECTION.choosing[0].columns[0])
    assert scores[300:308].max() >= ewma.threshold > np.delete(scores, np.s_[300:317])[150:].max()


def test_a_row_of_columns_has_the_greatest_of_their_scores_or_the_row_score(monkeypatch: pytest.MonkeyPatch) -> None:
    def last_value(series: Series) -> Floats:
        return series.values - 90

    monkeypatch.setitem(METHODS, "EWMA", last_value)
    wide = recording("a", (300, 30), columns=3)
    given = np.array([each.values - 90 for each in wide.columns])
    found = row_scores("EWMA", wide)
    np.testing.assert_array_equal(found[GREATEST], given.max(axis=0))
    np.testing.assert_allclose(found[ROW], row_score(np.maximum(given, 0)))
    assert list(row_scores("EWMA", recording("a"))) == [GREATEST]


def test_the_forest_takes_the_columns_of_a_row_together() -> None:
    wide = recording("a", (300, 30), columns=3)
    found = row_scores("isolation forest, windows", wide)
    assert list(found) == ["together"]
    scores = found["together"]
    assert scores[300:305].max() > np.quantile(np.delete(scores, np.r_[:150, 300:320]), 0.9)
    assert list(row_scores("isolation forest, windows", recording("a", (300, 30)))) == [GREATEST]


def test_a_folder_is_divided_within_each_collection() -> None:
    files = [Recording(name, f"{number}.parquet", ()) for name in ("one", "two") for number in range(4)]
    found = labelled(files)
    assert [(each.name, len(each.choosing), len(each.report)) for each in found] == [("one", 2, 2), ("two", 2, 2)]


def test_events_have_a_distance_a_height_and_a_direction() -> None:
    first, second, third = events_of(COLLECTION.report[0])
    assert (first.distance, second.distance, third.distance) == (None, 195, 35)
    assert 20 < first.sigmas < 45
    assert -45 < second.sigmas < -20
    assert first.classes() == {"distance": "first", "height": "12 σ and more", "direction": "up"}
    assert second.classes() == {"distance": "below 300 points", "height": "12 σ and more", "direction": "down"}
    assert Event(30, 2.9).classes()["distance"] == "below 100 points"
    assert Event(1000, 2.9).classes() == {
        "distance": "1,000 points and more",
        "height": "below 3 σ",
        "direction": "up",
    }


def test_the_height_of_an_event_is_that_of_the_column_where_it_is_highest() -> None:
    (event,) = events_of(recording("a", (300, -30), columns=2))
    assert event.sigmas < -20


def test_reasons_are_counted_by_events_found_and_false_events() -> None:
    quiet = recording("c")
    quiet.columns[0].values[700] += 60
    found = experts(Collection("test", (), (COLLECTION.report[0], quiet)))
    assert sum(hits for hits, _ in found.values()) == judged()[0].report.found
    assert sum(false for _, false in found.values()) >= 1


def test_the_page_has_the_methods_and_the_recall_of_each_class() -> None:
    found = judged()
    assert best_baseline(found).method == "EWMA"
    text = collections_page("Results", "About.", [(COLLECTION, found)], {})
    lines = text.splitlines()
    assert lines[0] == "# Results"
    assert "| fabricscope | greatest | 1 |" in text
    order = [line.split(" | ")[0] for line in lines if line.startswith(("| first", "| below 100", "| below 300"))]
    assert order == ["| first", "| below 100 points", "| below 300 points"]
    assert any(line.startswith("| down | 1 |") for line in lines)
    assert [row["name"] for row in rows([(COLLECTION, found)])] == [OURS, OURS, "EWMA"]


def test_one_level_for_all_collections_is_shown_beside_the_best_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def tenth(series: Series) -> Floats:
        return (series.values - 100) / 20

    monkeypatch.setitem(METHODS, OURS, tenth)
    small, large = (recording(name, (300, height)) for name, height in (("a", 17), ("b", 60)))
    one, other = (Collection(name, (each,), (each,)) for name, each in (("one", small), ("other", large)))
    with ThreadPoolExecutor(1) as pool:
        found = curves([one, other], pool)
    np.testing.assert_array_equal(found["other"][0][LEVELS <= 1.4], 1.0)
    np.testing.assert_array_equal(found["one"][1][[0, 30]], [1.0, 0.0])  # at 0.7 and 1.0
    text = "\n".join(section(found))
    assert "Best on the halves for choosing is 0.70 with a mean of 1.000, 0.500 more than at 1.0." in text
    assert "| 1.00 | 0.00 | 1.00 | 0.50 | 0.00 | 1.00 | 0.50 |" in text
