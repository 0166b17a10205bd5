"""Change events as people write them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from common.errors import BadInput
from fabricscope.api import views
from fabricscope.api.change_event import ChangeEvent, describe_change, moment, rfc3339
from telemetry.changes import Change, ChangeKind
from telemetry.objects import ObjectRef, device, parse_object

NS = 1_000_000_000
START = datetime(2026, 1, 31, 22, tzinfo=UTC)
START_NS = int(START.timestamp()) * NS


def event(**values: Any) -> ChangeEvent:
    return ChangeEvent.model_validate({"kind": "drain", "objects": ["device:node1"], **values})


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (START_NS, "2026-01-31T22:00:00Z"),
        (START_NS + 1_999, "2026-01-31T22:00:00.000001Z"),  # cut to microseconds
        (-1, "1970-01-01T00:00:00Z"),
        (2**63 - 1, "2200-01-01T00:00:00Z"),
        (2**80, "2200-01-01T00:00:00Z"),
    ],
)
def test_moments_are_shown_within_the_calendar(time_ns, text):
    assert rfc3339(moment(time_ns)) == text


def test_times_of_other_zones_are_shown_in_utc():
    assert rfc3339(START.astimezone(timezone(timedelta(hours=-8)))) == "2026-01-31T22:00:00Z"


@pytest.mark.parametrize(
    ("text", "starts_ns"),
    [
        ("2026-01-31T22:00:00Z", START_NS),
        ("2026-01-31t22:00:00z", START_NS),
        ("2026-01-31T23:00:00+01:00", START_NS),
        ("2026-01-31T22:00:00.25Z", START_NS + NS // 4),
        ("1970-01-01T00:00:00Z", 0),
    ],
)
def test_starts_as_in_rfc_3339(text, starts_ns):
    assert event(starts=text).change(START_NS).starts_ns == starts_ns


@pytest.mark.parametrize(
    "text",
    [
        *("2026-01-31", "2026-01-31T22:00:00", "2026-01-31 22:00:00Z", "22:00:00Z", "now", "", 1_700_000_000, 1.5),
        *("2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "٢٠٢٦-01-31T22:00:00Z"),
    ],
)
def test_starts_that_are_refused(text):
    with pytest.raises(ValidationError):
        event(starts=text)


@pytest.mark.parametrize(
    ("values", "ends_ns"),
    [
        ({}, 0),  # it happens at a moment
        ({"starts": "2026-01-31T22:00:00Z", "ends": "2026-01-31T22:00:00Z"}, START_NS),
        ({"ends": "2026-01-31T23:00:00Z"}, START_NS + 3600 * NS),  # starts now
    ],
)
def test_ends(values, ends_ns):
    assert event(**values).change(START_NS).ends_ns == ends_ns


@pytest.mark.parametrize("values", [{}, {"starts": "2026-01-31T22:00:00.000001Z"}])
def test_an_end_before_the_start_is_bad_input(values):
    with pytest.raises(BadInput, match=r"ends: 2026-01-31T21:59:59Z is before the start, .* after 2026-01-31T22:00:00"):
        event(ends="2026-01-31T21:59:59Z", **values).change(START_NS)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"ends": "2026-03-02T22:00:00.000001Z"},
            "ends: 2026-03-02T22:00:00.000001Z is more than 30 days after the start, "
            "expected at most 2026-03-02T22:00:00Z",
        ),
        (
            {"starts": "2027-02-01T22:00:01Z"},
            "starts: 2027-02-01T22:00:01Z is more than 366 days ahead, expected at most 2027-02-01T22:00:00Z",
        ),
        ({"starts": "2198-12-31T00:00:00Z", "ends": "2199-01-01T00:00:00Z"}, "starts: 2198-12-31T00:00:00Z is more"),
    ],
)
def test_nothing_is_announced_for_ever_or_far_ahead(values, message):
    with pytest.raises(BadInput) as caught:
        event(**values).change(START_NS)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "values", [{"ends": "2026-03-02T22:00:00Z"}, {"starts": "2027-02-01T22:00:00Z", "ends": "2027-03-03T22:00:00Z"}]
)
def test_the_longest_and_the_farthest_change(values):
    assert event(**values).change(START_NS).ends_ns > START_NS


def test_objects_are_sorted_and_once():
    change = event(objects=["rack:r2", "device:node1", "rack:r2"]).change(START_NS)
    assert change.objects == (device("node1"), parse_object("rack:r2"))


def test_the_id_is_made_of_kind_start_and_objects():
    one = event(objects=["device:a", "device:b"], starts="2026-01-31T22:00:00Z").change(START_NS)
    assert one.id.startswith("drain/2026-01-31T22:00:00Z/")
    same = event(
        objects=["device:b", "device:a"], starts="2026-01-31T22:00:00Z", ends="2026-02-01T00:00:00Z", author="x"
    )
    assert same.change(START_NS).id == one.id
    for other in ({"kind": "reboot"}, {"objects": ["device:a"]}, {"starts": "2026-01-31T22:00:01Z"}):
        values = {"objects": ["device:a", "device:b"], "starts": "2026-01-31T22:00:00Z", **other}
        assert event(**values).change(START_NS).id != one.id


def test_an_id_of_its_own_is_kept():
    assert event(id="push-7").change(START_NS).id == "push-7"


def test_a_change_of_the_bus_reads_back_as_it_was_written():
    values = {"starts": "2026-01-31T22:00:00Z", "ends": "2026-02-01T00:00:00Z", "author": "carol", "summary": "PSUs"}
    change = event(**values).change(START_NS)
    shown = views.Change.of(change).model_dump(mode="json")
    assert shown == {"kind": "drain", "objects": ["device:node1"], **values, "id": change.id}
    assert ChangeEvent.model_validate(shown).change(START_NS) == change


@pytest.mark.parametrize(
    ("objects", "ends_ns", "text"),
    [
        (1, 0, "reboot of device:n0 at 2026-01-31T22:00:00Z"),
        (1, START_NS + NS, "reboot of device:n0 from 2026-01-31T22:00:00Z to 2026-01-31T22:00:01Z"),
        (5, 0, "reboot of device:n0, device:n1, device:n2, device:n3, device:n4 at 2026-01-31T22:00:00Z"),
        (
            7,
            0,
            "reboot of device:n0, device:n1, device:n2, device:n3, device:n4 and 2 more at 2026-01-31T22:00:00Z",
        ),
    ],
)
def test_a_change_is_described_in_one_line(objects, ends_ns, text):
    named: tuple[ObjectRef, ...] = tuple(device(f"n{n}") for n in range(objects))
    assert describe_change(Change("c", ChangeKind.REBOOT, named, START_NS, ends_ns)) == text
