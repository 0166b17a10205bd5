"""Which incident a picture shows, and which job a fault is on."""

from tests.acceptance.tour.plan import FAULTS
from tests.acceptance.tour.run import faults_of, ids_by_fault

TRUTH = [
    {"fault": planned.name, "root": f"port:{planned.name}", "expected": "incast", "start_ns": 1, "end_ns": 2}
    for planned in reversed(FAULTS)
]


def test_the_pictures_are_of_the_incidents_that_name_a_fault_and_have_its_number():
    first, _, third = (planned.name for planned in FAULTS)
    incidents = [{"id": f"of {name}", "root": {"kind": "port", "name": name}} for name in ("leaf9", third, first)]
    assert ids_by_fault(TRUTH, incidents) == {1: f"of {first}", 3: f"of {third}"}


def test_a_fault_is_on_the_job_of_its_host_and_one_of_storage_on_all():
    jobs = [{"name": "first", "nodes": ["node1", "node4"]}, {"name": "second", "nodes": ["node2", "node5"]}]
    assert [fault.jobs for fault in faults_of(TRUTH, jobs)] == [("first",), ("second",), ("first", "second")]
