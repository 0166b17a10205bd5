"""Entries of a controller's logs as samples: when they were logged, and for how long that is said."""

from dataclasses import replace

import pytest

from common.units import NS_PER_S
from ingest.collectors.redfish.logs.entry import LogEntry, parse_entry
from ingest.collectors.redfish.logs.events import HOLD_NS, LogEvents, clock_error_ns
from ingest.collectors.redfish.logs.metrics import Outcome
from tests.unit.ingest.redfish.vendor_entries import AT_NS, SOURCES

NOW_NS = AT_NS + 40 * NS_PER_S
HOT = parse_entry(SOURCES["dmtf"])


def made(severity: str = "warning", events_max: int = 10) -> LogEvents:
    return LogEvents(severity, events_max)


def seconds(events: LogEvents, now_ns: int = NOW_NS) -> list[float]:
    """Of each sample, before ``NOW_NS``."""
    return [NOW_NS / NS_PER_S - sample.value for sample in events.reading(now_ns)]


def aged(entry: LogEntry, age_s: float) -> LogEntry:
    return replace(entry, at_ns=NOW_NS - int(age_s * NS_PER_S))


def test_an_entry_is_a_sample_with_its_time_and_words() -> None:
    events = made()
    assert events.add(HOT, 0, NOW_NS, is_past=False) is Outcome.TAKEN
    (sample,) = events.reading(NOW_NS)
    assert (sample.name, sample.value) == ("LogEntry/Created", AT_NS / NS_PER_S)
    assert sample.labels == {
        "severity": "critical",
        "sensor": "Temperature 1",
        "event": "Upper Critical - going high",
        "part": "Chassis/1U/Thermal",
        "message_id": "0x592A28",
        "message": "Temperature threshold exceeded",
    }


@pytest.mark.parametrize(
    ("entry", "error_s", "is_past", "outcome", "age_s"),
    [
        (aged(HOT, 599), 0, True, Outcome.TAKEN, [599]),
        (aged(HOT, 600), 0, True, Outcome.PAST, []),
        (aged(HOT, 600), 0, False, Outcome.LATE, []),
        (aged(HOT, 600), 590, False, Outcome.TAKEN, [10]),
        (aged(HOT, -3600), -3700, False, Outcome.TAKEN, [100]),
        (aged(HOT, -2.5), 0, False, Outcome.TAKEN, [0]),
        (aged(HOT, -3600), 0, False, Outcome.TAKEN, [0]),  # a clock that is wrong says nothing
        (aged(HOT, -3600), 0, True, Outcome.PAST, []),
        (replace(HOT, at_ns=0), 7200, False, Outcome.TAKEN, [0]),
        (replace(HOT, at_ns=0), 0, True, Outcome.PAST, []),
        (replace(HOT, severity="ok"), 0, False, Outcome.MINOR, []),
        (replace(HOT, severity=""), 0, False, Outcome.TAKEN, [40]),
    ],
)
def test_what_is_news_and_since_when(
    entry: LogEntry, error_s: int, is_past: bool, outcome: Outcome, age_s: list[float]
) -> None:
    events = made()
    assert events.add(entry, error_s * NS_PER_S, NOW_NS, is_past=is_past) is outcome
    assert seconds(events) == age_s


def test_the_newest_of_the_same_words_counts() -> None:
    events = made()
    outcomes = [events.add(aged(HOT, age_s), 0, NOW_NS, is_past=False) for age_s in (10, 30, 5)]
    assert outcomes == [Outcome.TAKEN, Outcome.DUPLICATE, Outcome.DUPLICATE]
    assert seconds(events) == [5]
    assert events.add(aged(HOT, -60), 0, NOW_NS + 60 * NS_PER_S, is_past=False) is Outcome.TAKEN
    assert seconds(events) == [-60]


def test_a_sample_is_repeated_for_a_quarter_of_an_hour_after_its_entry_was_read() -> None:
    events = made()
    events.add(aged(HOT, 500), 0, NOW_NS, is_past=False)
    assert len(seconds(events, NOW_NS + HOLD_NS)) == 1, "it was not said yet"
    assert seconds(events, NOW_NS + HOLD_NS - 1) == [500]
    assert seconds(events, NOW_NS + HOLD_NS) == []


def test_events_are_bounded() -> None:
    events = made(events_max=2)
    outcomes = [events.add(replace(HOT, message=f"{n}"), 0, NOW_NS, is_past=False) for n in (1, 2, 3, 1)]
    assert outcomes == [Outcome.TAKEN, Outcome.TAKEN, Outcome.QUOTA, Outcome.DUPLICATE]


@pytest.mark.parametrize(
    ("stated", "error_s"),
    [
        ("2025-10-09T08:53:57Z", 0),  # 3 s
        ("2025-10-09T08:53:50Z", 10),
        ("2025-10-09T10:54:00+00:00", -7200),  # a local time that is said to be UTC
        ("2025-10-09T10:54:00+02:00", 0),
        ("2017-05-05T17:38:25+34:07", 0),
        (None, 0),
    ],
)
def test_a_clock_that_is_wrong_is_corrected_where_the_log_states_it(stated: object, error_s: int) -> None:
    assert clock_error_ns({"DateTime": stated}, NOW_NS) == error_s * NS_PER_S
