"""Changes from the tick of their start on, whatever collectors repeat."""

from dataclasses import replace

from analytics.state.cluster_records import ClusterRecords
from telemetry.changes import Change, ChangeKind
from telemetry.objects import device

S = 1_000_000_000
START = Change("job_start/1/100", ChangeKind.JOB_START, (device("node1"),), starts_ns=100 * S)


def records(*changes: Change, end_s: int) -> ClusterRecords:
    known = ClusterRecords()
    for change in changes:
        known.add_change(change)
    known.update(end_s * S)
    return known


def test_a_change_is_known_from_the_tick_in_which_it_starts() -> None:
    assert records(START, end_s=100).changes == ()
    assert records(START, end_s=105).changes == (START,)


def test_a_repetition_of_what_is_known_is_no_state() -> None:
    """A collector that starts again sends what it knows once more: whether a tick follows makes no difference."""
    known = records(START, end_s=105)
    known.add_change(START)
    assert known.state() == records(START, end_s=105).state()


def test_a_repetition_of_what_waits_is_no_state() -> None:
    assert records(START, START, end_s=100).state() == records(START, end_s=100).state()


def test_the_later_version_of_a_change_counts() -> None:
    ended = replace(START, ends_ns=200 * S)
    known = records(START, end_s=105)
    known.add_change(ended)
    known.update(110 * S)
    assert known.changes == (ended,)
    assert records(START, ended, end_s=105).changes == (ended,)
