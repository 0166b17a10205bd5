"""Entries of management controllers' logs as events."""

import pytest

from telemetry.events import EventKind, EventState
from telemetry.series import series_key
from tests.unit.analytics.events.test_events import LOG_ENTRY, START_S, at, logged


def test_an_entry_of_a_log_is_an_event_with_its_words() -> None:
    opened, ended = logged([LOG_ENTRY], [[START_S - 5.0]] * 9)
    assert (opened.kind, opened.detail, str(opened.object)) == (
        EventKind.BMC_LOG,
        "critical: Temperature 1, Assert: Too hot (0x592A28), Chassis/1U/Thermal",
        "device:leaf1",
    )
    assert (at(opened)[:2], ended.state, ended.count) == ((-5.0, -5.0), EventState.ENDED, 1)


@pytest.mark.parametrize(
    ("labels", "detail"),
    [
        ({"severity": "warning", "message": "Fan"}, "warning: Fan"),
        ({"message_id": "A.1.0.B", "part": "Chassis/1"}, "A.1.0.B, Chassis/1"),
        ({"severity": "critical", "sensor": "Fan 3"}, "critical: Fan 3"),
    ],
)
def test_an_entry_of_a_log_has_the_words_that_there_are(labels: dict[str, str], detail: str) -> None:
    key = series_key("node_bmc_event_timestamp_seconds", {"device": "leaf1", **labels})
    assert logged([key], [[START_S - 5.0]] * 2)[0].detail == detail


def test_an_entry_that_is_read_again_with_a_corrected_clock_is_no_second_event() -> None:
    first, ended, again = logged(
        [LOG_ENTRY], [*[[START_S - 5.0]] * 9, *[[START_S + 4.0]] * 9, *[[START_S + 175.0]] * 3]
    )
    assert (ended.id, at(again)[:2]) == (first.id, (175.0, 175.0))
