"""Changes from the tick of their start on, whatever collectors repeat, and no longer than a change may last."""

from dataclasses import replace

from analytics.config import AnalyticsConfig
from analytics.state.cluster_records import ClusterRecords
from analytics.worker import Worker
from bus.base import Record
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.objects import ObjectKind, ObjectRef, device
from telemetry.refusals import DAY_NS
from tests.unit.analytics.small_cluster import CONFIG

S = 1_000_000_000
START = Change("job_start/1/100", ChangeKind.JOB_START, (device("node1"),), starts_ns=100 * S)
RACKS = tuple(ObjectRef(ObjectKind.RACK, f"r{n}") for n in range(600))
YEAR = Change("c1", ChangeKind.MAINTENANCE, RACKS, 10, 365 * DAY_NS)


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


def test_a_maintenance_of_everything_for_a_year_hides_a_month_of_a_part() -> None:
    """Whoever may write to the bus could hide every fault of a year else: the API has refused it all along."""
    cluster = ClusterRecords()
    cluster.add_change(YEAR)
    cluster.update(20)
    assert [(len(change.objects), change.ends_ns) for change in cluster.changes] == [(500, 10 + 30 * DAY_NS)]


def test_that_a_change_counts_in_part_is_reported() -> None:
    worker = Worker(AnalyticsConfig(engine=CONFIG), topics.TOPOLOGY)
    assert worker.report(1).details["refused_lasts_too_long"] == 0
    worker.process_cluster_records([Record(topics.CHANGES.name, 0, 0, 0, b"c1", encode_record(YEAR), {})])
    details = worker.report(1).details
    assert (details["refused_lasts_too_long"], details["refused_too_many_objects"]) == (1, 1)
    assert details["refused_self_link"] == 0


def test_a_repetition_of_what_counts_in_part_is_no_state() -> None:
    known = records(YEAR, end_s=105)
    known.add_change(YEAR)
    assert known.state() == records(YEAR, end_s=105).state()
