"""``Detector`` for notebooks: the same scores, whatever holds the times, and the same as from a file."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest

from analytics.offline.api import Detector
from analytics.offline.columns import Choice
from analytics.offline.score import TableScorer, score_columns
from analytics.offline.tables import open_table
from common.errors import BadInput

START = datetime(2024, 1, 1)  # noqa: DTZ001  # a time without a zone is what is tested
SECONDS = np.arange(400) + 1_704_067_200
EAST = timezone(timedelta(hours=2))
VALUES = np.random.default_rng(0).normal(size=400)
VALUES[350] = 30.0


def moments() -> list[datetime]:
    return [START + timedelta(seconds=row) for row in range(400)]


@pytest.fixture(scope="module")
def expected():
    scores = Detector().score(SECONDS, VALUES)
    assert scores["alert"][350] == 1
    assert scores["alert"].sum() < 5
    return scores


@pytest.mark.parametrize(
    "times",
    [
        SECONDS.tolist(),
        range(1_704_067_200, 1_704_067_600),
        SECONDS * 1000,
        SECONDS.astype(np.float64),
        SECONDS.astype("datetime64[s]"),
        pl.Series(SECONDS * 1000).cast(pl.Datetime("ms")),
        moments(),
        [moment.replace(tzinfo=UTC) for moment in moments()],
        [(moment + timedelta(hours=2)).replace(tzinfo=EAST) for moment in moments()],
        [moment.isoformat() for moment in moments()],
        np.array(moments(), object),
    ],
    ids=["ints", "range", "ms", "floats", "datetime64", "polars", "datetimes", "utc", "zoned", "iso", "objects"],
)
def test_times_of_any_kind(times, expected):
    assert Detector().score(times, VALUES.tolist()).equals(expected)


def test_a_later_call_continues(expected):
    detector = Detector()
    parts = [detector.score(SECONDS[part], VALUES[part]) for part in (slice(0, 123), slice(123, 400))]
    assert pl.concat(parts).equals(expected)


@pytest.mark.parametrize("names", [["a", "b"], [7, 3]])
def test_many_series_are_each_as_if_alone(names, expected):
    both = Detector().score(np.repeat(SECONDS, 2), np.repeat(VALUES, 2), series=names * 400)
    assert both[::2].equals(expected)
    assert both[1::2].equals(expected)


def test_a_file_has_the_same_scores(tmp_path, expected):
    path = tmp_path / "f.csv"
    pl.DataFrame({"time": SECONDS, "value": VALUES}).write_csv(path)
    with open_table(str(path), 1) as table:
        parts = [
            score_columns(part.scores["value"], part.values["value"]) for part in TableScorer(table, Choice()).scored()
        ]
    assert pl.concat(parts).equals(expected)


def test_late_rows_have_scores_and_are_not_learned(expected):
    order = np.r_[0:200, 199, 50, 200:400]
    scores = Detector().score(SECONDS[order], VALUES[order])
    assert scores.height == 402
    assert pl.concat([scores[:200], scores[202:]]).equals(expected)


def test_missing_values():
    scores = Detector().score([1, 2, 3], [None, float("nan"), float("inf")])
    assert scores["reason"].to_list() == ["missing"] * 3
    assert scores["score"].to_list() == [0.0] * 3


def test_nothing_is_nothing():
    assert Detector().score([], []).height == 0


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([1, 2], [1.0], "2 times, 1 values"),
        (["x"], [1.0], "'x': expected times"),
        (5, [1.0], "times of type int: expected a sequence"),
        ("2024-01-01", [1.0], "times of type str: expected a sequence"),
        ([1, 2], np.ones((2, 3)), "values: entries of Array"),
        ([1, 2], {"a": 1}, "values of type dict: expected a sequence"),
        ([None, 2], [1.0, 2.0], "row 0: None: expected a number of seconds"),
        (["2024-01-01", "2024-01-02", "y"], [1.0, 2.0, 3.0], "row 2: 'y': expected %Y-%m-%d"),
    ],
)
def test_what_cannot_be_scored(times, values, message):
    with pytest.raises(BadInput, match=message):
        Detector().score(times, values)
