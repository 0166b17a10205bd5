"""``Detector`` for notebooks: the same scores, whatever holds the times, and the same as from a file."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.offline import api
from analytics.offline.api import Detector, Score
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
        list(SECONDS.astype("datetime64[ns]")),
        pl.Series(SECONDS * 1000).cast(pl.Datetime("ms")),
        moments(),
        [moment.replace(tzinfo=UTC) for moment in moments()],
        [(moment + timedelta(hours=2)).replace(tzinfo=EAST) for moment in moments()],
        [moment.isoformat() for moment in moments()],
        np.array(moments(), object),
    ],
    ids=[
        "ints",
        "range",
        "ms",
        "floats",
        "datetime64",
        "datetime64s",
        "polars",
        "datetimes",
        "utc",
        "zoned",
        "iso",
        "objects",
    ],
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
            score_columns(part.scores["value"], part.starts["value"], part.values["value"])
            for part in TableScorer(table, Choice()).scored()
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


def test_naive_times_are_of_the_time_zone():
    winter = [datetime(2026, 10, 25, 2, 30) for _ in range(2)]  # noqa: DTZ001  # the clock shows it twice
    detector, in_utc = Detector(timezone="Europe/Berlin"), Detector()
    scores = [detector.score([time], [1.0]) for time in winter]
    expected = in_utc.score([datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)], [1.0, 1.0])
    assert pl.concat(scores).equals(expected)
    assert detector._engine.state().arrays["core"].tolist() == in_utc._engine.state().arrays["core"].tolist()
    with pytest.raises(BadInput, match="'Berlin': expected a time zone such as Europe/Berlin"):
        Detector(timezone="Berlin")


SPANS = st.integers(0, 3)
NUMBERS = st.one_of(st.floats(-10, 10), st.none(), st.integers(-5, 5), st.just(float("inf")), st.just(float("nan")))
FORMS: dict[str, Callable[[int], Any]] = {
    "seconds": lambda at: 1_704_067_200 + at,
    "fractions": lambda at: 1_704_067_200 + at + 1 / 1024,
    "milliseconds": lambda at: 1_704_067_200_000 + at,
    "numpy": lambda at: np.int64(1_704_067_200 + at),
    "datetime64": lambda at: np.datetime64(1_704_067_200 + at, "s").astype("datetime64[ns]"),
    "datetime64 of s": lambda at: np.datetime64(1_704_067_200 + at, "s"),
    "datetimes": lambda at: START + timedelta(seconds=at),
    "zoned": lambda at: (START + timedelta(seconds=at)).replace(tzinfo=EAST),
    "texts": lambda at: (START + timedelta(seconds=at)).isoformat(),
}


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(st.tuples(SPANS, NUMBERS, st.sampled_from(["a", "b"])), min_size=1, max_size=40), st.randoms())
@settings(max_examples=8, deadline=None)
def test_row_by_row_gives_the_same_scores_bit_for_bit(form, rows, random):
    """After a calm beginning, so that there are scores; each row as one of three kinds of call."""
    at, times, values, names = 0, [], [], []
    calm = [(1, float(value), name) for value in np.random.default_rng(3).normal(size=40) for name in "ab"]
    for span, value, name in calm + rows:
        at += span
        times.append(FORMS[form](at))
        values.append(value)
        names.append(name)
    together = Detector().score(times, values, series=names)
    detector = Detector()
    for row, (time, value, name) in enumerate(zip(times, values, names, strict=True)):
        wanted = together.row(row)
        if random.random() < 0.5:
            assert detector.score(time, value, name) == wanted
            continue
        kind = random.choice([list, np.array])
        alone = detector.score(kind([time]), kind([value]), [name])
        assert alone.schema == together.schema
        assert alone.row(0) == wanted


def test_one_row_is_a_score_and_a_list_of_one_is_a_table():
    detector = Detector()
    score = detector.score(1_704_067_200, 1.0)
    assert isinstance(score, Score)
    assert score == (0.0, 0, 0, None, None, None, "not enough history")
    assert detector.score([1_704_067_400], [2.0]).rows() == [tuple(score)]
    assert Detector().score("2024-01-02", None).reason == "missing"


def test_a_row_alone_is_read_without_a_column(monkeypatch):
    """Columns of one are what made it slow."""
    detector = Detector()
    detector.score(1_704_067_200, 1.0)
    monkeypatch.setattr(api, "_column", None)
    assert detector.score(1_704_067_201, 1.0).reason == "not enough history"
    assert detector.score([1_704_067_202], [1.0])["score"][0] == 0.0
    with pytest.raises(TypeError):
        detector.score([1_704_067_203, 1_704_067_204], [1.0, 1.0])


def test_an_episode_starts_once(expected):
    values = np.concatenate([VALUES, VALUES[:9], [30.0]])
    scores = Detector().score(np.arange(410) + 1_704_067_200, values)
    alerts = scores["alert"].arg_max()
    assert alerts == 350
    assert scores["alert_start"].sum() == scores["alert"].sum() == 2
    late = Detector().score(SECONDS, np.where(np.arange(400) == 359, 30.0, VALUES))
    assert late["alert"].to_list()[350:360:9] == [1, 1]
    assert late["alert_start"].to_list()[350:360:9] == [1, 0]


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
