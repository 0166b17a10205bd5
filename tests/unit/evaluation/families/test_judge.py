"""The judge: the first page counts, one wrong page is not one right incident, and what belongs to no fault is false."""

import math
from dataclasses import replace

import pytest

from evaluation.families.judge import ClusterOutcome, FaultOutcome, judge
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from tests.unit.evaluation.families.made_up import CABLE, FAMILY, GPU, SIBLING, UPLINK, finding, page, run, truth

DOWN = truth("link-down", CABLE)
SLOW = truth("straggler-gpu", GPU, ("node1",))
WAVE = truth("planned-reboot-wave", "device:node1", ("node1", "node2"))
RIGHT = page(IncidentKind.LINK_DOWN, CABLE, 1012.0)
WRONG = page(IncidentKind.DEVICE_DOWN, "device:node1", 1010.0)
NOWHERE = page(IncidentKind.GPU_FAULT, "gpu:node7/GPU-x", 1030.0)


def judged(*pages: object, of: object = DOWN) -> tuple[FaultOutcome, ClusterOutcome]:
    outcome = judge(run([of], list(pages)))  # type: ignore[arg-type,list-item]
    return outcome.faults[0], outcome


def test_the_right_page_alone_is_exactly_one() -> None:
    fault, outcome = judged(RIGHT)
    assert (fault.right_first, fault.exactly_one, fault.severity_right, fault.text_first) == (True, True, True, True)
    assert (fault.delay_s, fault.in_time) == (12.0, True)
    assert (outcome.pages, outcome.right, outcome.false) == (1, 1, [])


def test_one_wrong_page_is_not_exactly_one() -> None:
    fault, outcome = judged(WRONG)
    assert (fault.root_first, fault.exactly_one, fault.text_first, fault.delay_s) == (False, False, False, 10.0)
    assert (outcome.right, len(outcome.false)) == (0, 0)


def test_the_root_of_a_later_page_does_not_repair_the_first() -> None:
    fault, outcome = judged(WRONG, RIGHT)
    assert (fault.right_first, fault.root_later, fault.exactly_one) == (False, True, False)
    assert (len(fault.others), fault.duplicates, outcome.right) == (1, 1, 1)


def test_a_later_version_of_the_first_page_counts_beside_it_alone() -> None:
    fault = judge(run([DOWN], [WRONG], later={WRONG.incident.id: CABLE})).faults[0]
    assert (fault.root_first, fault.root_later) == (False, True)


def test_a_second_page_with_the_same_root_is_a_duplicate() -> None:
    fault, outcome = judged(RIGHT, page(IncidentKind.LINK_DOWN, CABLE, 1040.0, key="again"))
    assert (fault.right_first, fault.exactly_one, fault.duplicates, outcome.right) == (True, False, 1, 2)


def test_the_right_object_with_the_wrong_cause_is_not_the_root() -> None:
    fault, outcome = judged(page(IncidentKind.LINK_DEGRADED, CABLE, 1012.0))
    assert (fault.root_first, fault.kind_first, fault.right_first, outcome.right) == (True, False, False, 0)


def test_a_reboot_may_be_called_down_while_it_lasts_and_not_after() -> None:
    reboot = truth("switch-reboot", "device:leaf1", lasts_s=25.0)
    early, late = (page(IncidentKind.DEVICE_DOWN, "device:leaf1", at_s) for at_s in (1015.0, 1030.0))
    assert [judged(each, of=reboot)[0].kind_first for each in (early, late)] == [True, False]


def test_a_fault_without_a_page_is_missed_and_infinitely_late() -> None:
    fault, _ = judged()
    assert (fault.first, fault.right_first, fault.exactly_one, fault.in_time) == (None, False, False, False)
    assert fault.delay_s == math.inf


@pytest.mark.parametrize(
    "false",
    [
        NOWHERE,
        page(IncidentKind.LINK_DOWN, CABLE, 900.0),  # before
        page(IncidentKind.LINK_DOWN, CABLE, 1500.0),  # long after
        page(IncidentKind.SLOW_RECEIVER, "port:leaf3/Ethernet0", 1030.0),  # no route of the cable leads there
    ],
)
def test_a_page_that_no_fault_explains_is_false(false: object) -> None:
    fault, outcome = judged(RIGHT, false)
    assert (outcome.false, fault.exactly_one) == ([false], True)


def test_severity_is_judged_at_the_first_page() -> None:
    idle = truth("link-down", "link:leaf1/Ethernet16--node3/mlx5_0")
    pages = [page(IncidentKind.LINK_DOWN, str(idle.root), 1012.0, severity) for severity in Severity]
    assert [judged(each, of=idle)[0].severity_right for each in pages] == [False, True, False]


def test_a_page_of_announced_maintenance_is_false_and_of_unannounced_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rebooted = page(IncidentKind.DEVICE_REBOOTED, "device:node2", 1030.0)
    fault, outcome = judged(rebooted, of=WAVE)
    assert (fault.counts, len(outcome.false)) == (False, 1)
    monkeypatch.setattr("evaluation.families.parts.maintenance_announced", lambda family: False)
    fault, outcome = judged(rebooted, of=WAVE)
    assert (fault.counts, fault.page_due, fault.right_first, outcome.false) == (True, False, True, [])


def test_a_fault_that_needs_no_page_is_judged_by_its_first_notice() -> None:
    frozen = truth("exporter-frozen", "device:node1")
    notice = page(IncidentKind.TELEMETRY_LOST, "device:node1", 1050.0, Severity.INFO)
    made = run([frozen], [])
    made.notices[notice.incident.id] = notice
    quiet = judge(made).faults[0]
    assert (quiet.page_due, quiet.right_first, quiet.severity_right, quiet.exactly_one) == (False, True, True, True)
    loud = judged(page(IncidentKind.TELEMETRY_LOST, "device:node1", 1050.0), of=frozen)[0]
    assert (loud.right_first, loud.severity_right) == (True, False)


def test_of_two_faults_each_gets_the_page_that_names_it() -> None:
    other = truth("link-down", UPLINK, starts_s=1020.0)
    pages = [page(IncidentKind.LINK_DOWN, UPLINK, 1032.0), page(IncidentKind.LINK_DOWN, CABLE, 1033.0)]
    outcome = judge(run([DOWN, other], pages))
    assert [(fault.right_first, fault.exactly_one, fault.together) for fault in outcome.faults] == [(True, True, 1)] * 2
    assert [fault.delay_s for fault in outcome.faults] == [33.0, 12.0]


def test_members_are_the_gpus_that_pages_name() -> None:
    right, wrong = (page(IncidentKind.STRAGGLER, gpu, 1020.0) for gpu in (GPU, SIBLING))
    (host,) = judge(run([SLOW], [page(IncidentKind.GPU_FAULT, "device:node1", 1020.0)])).faults
    one, both = judged(right, of=SLOW)[0], judged(right, wrong, of=SLOW)[0]
    assert (len(one.members & one.named), len(one.named)) == (1, 1)
    assert (len(both.members & both.named), len(both.named)) == (1, 2)
    assert (len(host.members & host.named), len(host.named)) == (1, 4)


def test_findings_are_true_where_the_fault_reaches() -> None:
    made = run([DOWN], [])
    kinds = [(FindingKind.LINK_DOWN, CABLE), (FindingKind.ECN_MARKING, "port:leaf3/Ethernet0")]
    made.findings = {str(number): finding(kind, about) for number, (kind, about) in enumerate(kinds)}
    outcome = judge(made)
    assert (outcome.findings, outcome.false_findings) == ({True: 1, False: 1}, {"some": 1})


def test_a_healthy_cluster_has_false_pages_only() -> None:
    healthy = FAMILY.model_copy(update={"faults": None})
    outcome = judge(run([], [RIGHT, NOWHERE], healthy))
    assert (outcome.healthy, len(outcome.false), outcome.right) == (True, 2, 0)
    assert outcome.node_days == pytest.approx(8 / 24)


def test_a_title_names_a_gpu_by_host_and_the_begin_of_its_uuid() -> None:
    made = page(IncidentKind.STRAGGLER, GPU, 1020.0)
    host, _, uuid = GPU.removeprefix("gpu:").partition("/")
    titles = [f"straggler {host}/{uuid[:12]}", f"straggler on {host}"]
    named = [replace(made, incident=replace(made.incident, title=title)) for title in titles]
    assert [judged(each, of=SLOW)[0].text_first for each in named] == [True, False]
