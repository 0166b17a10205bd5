"""Who is to blame for a crash: pure."""

import json
from dataclasses import replace

import pytest

from bus.base import Record
from bus.quarantine.notes import KILLS_MAX, STEP, Notes, Span, decode_notes, encode_notes, place_of, spans_of
from common.errors import BadInput


def record(offset: int, partition: int = 0, topic: str = "t") -> Record:
    return Record(topic, partition, offset, 1000 + offset, b"k", b"v", {})


def died_at(notes: Notes, *records: Record) -> Notes:
    """By an error."""
    return replace(notes, working=spans_of(records), failed=spans_of(records)).after_crash()


def killed_at(notes: Notes, *records: Record) -> Notes:
    return replace(notes, working=spans_of(records)).after_crash()


def test_what_was_polled_is_a_span_of_each_partition():
    polled = [record(3), record(7, partition=1), record(4), record(9)]
    assert spans_of(polled) == (Span("t", 0, 3, 9, 1003), Span("t", 1, 7, 7, 1007))


def test_after_a_crash_all_that_was_worked_on_is_suspect():
    notes = died_at(Notes(), record(3), record(9), record(1, partition=1))
    assert [notes.suspect(record(n)) for n in (2, 3, 5, 9, 10)] == [False, True, True, True, False]
    assert notes.suspect(record(1, partition=1))
    assert not notes.suspect(record(3, topic="other"))
    assert notes.working == notes.quarantined == ()


def test_a_record_is_quarantined_at_its_second_crash_alone():
    notes = died_at(Notes(), *map(record, range(3, 10)))
    once = died_at(notes, record(5))
    assert not once.quarantine(record(5))
    twice = died_at(once, record(5))
    assert twice.quarantine(record(5))
    assert not any(twice.quarantine(record(n)) for n in (3, 4, 6))
    assert twice.crashed == ()
    assert twice.suspect(record(8)), "the others of the first crash are still taken one at a time"


def test_a_record_that_passes_is_no_suspect_any_more():
    once = died_at(died_at(Notes(), *map(record, range(3, 10))), record(5))
    passed = replace(once, working=spans_of([record(5)])).after_work()
    assert passed.crashed == ()
    assert passed.suspect(record(6))
    assert died_at(passed, record(5)).crashed == (place_of(record(5)),)
    over = replace(passed, working=spans_of([record(9)])).after_work()
    assert over == Notes()


def test_a_kill_may_come_from_outside_so_it_takes_more_of_them():
    notes = Notes()
    for _ in range(KILLS_MAX - 1):
        notes = killed_at(notes, record(5))
        assert not notes.quarantine(record(5))
    assert replace(notes, working=spans_of([record(5)])).after_work() == Notes(), "it passed after all"
    assert killed_at(notes, record(5)).quarantine(record(5))


def test_two_crashes_at_two_records_quarantine_none():
    assert died_at(died_at(Notes(), record(5)), record(6)).quarantined == ()


def test_the_same_offset_of_a_topic_created_again_is_another_record():
    twice = died_at(died_at(Notes(), record(5)), record(5))
    assert not twice.quarantine(replace(record(5), appended_ns=9_999))


def test_a_step_is_quarantined_and_makes_no_record_suspect():
    step = Span("tick", STEP, 60, 60, 0)
    once = replace(Notes(), working=(step,), failed=(step,)).after_crash()
    assert once == Notes(crashed=(step,))
    assert replace(once, working=(step,), failed=(step,)).after_crash() == Notes(quarantined=(step,))


def test_a_clean_end_changes_nothing():
    assert Notes().after_crash() == Notes()


def test_what_is_kept_is_bounded():
    notes = Notes()
    for n in range(200):
        notes = died_at(died_at(notes, record(n)), record(n))
    assert notes.quarantine(record(199))
    assert all(len(getattr(notes, name)) <= 50 for name in Notes.__slots__)


def test_notes_come_back_as_they_were():
    notes = died_at(died_at(Notes(), *map(record, range(5))), record(2)).with_put_aside(place_of(record(1)))
    assert decode_notes(encode_notes(notes)) == notes
    assert decode_notes(encode_notes(notes) + b"what a longer line had there\n") == notes


GOOD = json.loads(encode_notes(Notes()))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "format"),
        (b"\xff\n", "format"),
        (b"[]\n", "format"),
        (b'{"version": 2}\n', "format"),
        (json.dumps({**GOOD, "version": 3}).encode(), "version"),
        (json.dumps({**GOOD, "crashed": [["t", 0, 1]]}).encode(), "format"),
        (json.dumps({**GOOD, "crashed": [["t", 0, 1, "x", 1]]}).encode(), "format"),
        (json.dumps({**GOOD, "crashed": [[1, 0, 1, 1, 1]]}).encode(), "format"),
        (json.dumps({**GOOD, "crashed": 5}).encode(), "format"),
        (encode_notes(died_at(Notes(), record(5)))[:-9], "format"),
    ],
)
def test_notes_that_are_not_whole_are_refused(data, reason):
    with pytest.raises(BadInput) as refused:
        decode_notes(data)
    assert refused.value.reason == reason
