"""Changes as analytics keeps them: as long as they may explain something, and no longer than a change may last."""

from analytics.config import AnalyticsConfig
from analytics.state.cluster_records import ClusterRecords
from analytics.worker import Worker
from bus.base import Record
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.refusals import DAY_NS
from tests.unit.analytics.small_cluster import CONFIG

RACKS = tuple(ObjectRef(ObjectKind.RACK, f"r{n}") for n in range(600))
YEAR = Change("c1", ChangeKind.MAINTENANCE, RACKS, 10, 365 * DAY_NS)


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
