"""The judge: the first page counts, one wrong page is not one right incident, and what belongs to no fault is false."""

import math
from dataclasses import replace

import pytest

from common.units import NS_PER_S
from evaluation.families.counterfactual.harm import Harm
from evaluation.families.judge import ClusterOutcome, FaultOutcome
from evaluation.families.paging import Page
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from tests.unit.evaluation.families.made_up import (
    CABLE,
    FAMILY,
    GPU,
    SIBLING,
    STOPPED,
    UPLINK,
    finding,
    judge,
    page,
    run,
    truth,
    without_faults,
)

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
    assert (len(fault.others), fault.duplicates, outcome.right) == (1, 1, 1)  # the first one that is right


def test_a_later_version_of_the_first_page_counts_beside_it_alone() -> None:
    fault = judge(run([DOWN], [WRONG], later={WRONG.incident.id: CABLE})).faults[0]
    assert (fault.root_first, fault.root_later) == (False, True)


def test_a_second_page_with_the_same_root_is_a_duplicate_and_not_right_again() -> None:
    fault, outcome = judged(RIGHT, page(IncidentKind.LINK_DOWN, CABLE, 1040.0, key="again"))
    assert (fault.right_first, fault.exactly_one, fault.duplicates, outcome.right) == (True, False, 1, 1)


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
    right = [judge(run([idle], [each]), Harm()).faults[0].severity_right for each in pages]
    assert right == [False, True, False]


def test_severity_follows_from_what_jobs_lost_and_not_from_what_could_have_lost() -> None:
    """Traffic of job 1 crosses the cable in both cases; the first time others carried it."""
    pages = [
        page(IncidentKind.LINK_DOWN, CABLE, 1012.0, severity) for severity in (Severity.WARNING, Severity.CRITICAL)
    ]
    harms = (Harm(), STOPPED)
    right = [[judge(run([DOWN], [each]), harm).faults[0].severity_right for each in pages] for harm in harms]
    assert right == [[True, False], [False, True]]


def test_a_page_of_planned_work_is_false() -> None:
    fault, outcome = judged(page(IncidentKind.DEVICE_REBOOTED, "device:node2", 1030.0), of=WAVE)
    assert (fault.counts, len(outcome.false)) == (False, 1)


def test_a_fault_that_needs_no_page_is_judged_by_its_first_notice() -> None:
    frozen = truth("exporter-frozen", "device:node1")
    notice = page(IncidentKind.TELEMETRY_LOST, "device:node1", 1050.0, Severity.INFO)
    made = run([frozen], [])
    made.notices[notice.incident.id] = notice
    quiet = judge(made).faults[0]
    assert (quiet.page_due, quiet.right_first, quiet.severity_right, quiet.exactly_one) == (False, True, True, True)
    loud = judged(page(IncidentKind.TELEMETRY_LOST, "device:node1", 1050.0), of=frozen)[0]
    assert (loud.right_first, loud.severity_right) == (True, False)


def test_pressure_that_delays_nobody_is_found_by_an_incident_alone_and_a_page_is_too_loud() -> None:
    slow = truth("slow-receiver", "port:node1/mlx5_0")
    notice = page(IncidentKind.SLOW_RECEIVER, "port:node1/mlx5_0", 1050.0, Severity.INFO)
    made = run([slow], [])
    missed = judge(made, Harm()).faults[0]
    made.notices[notice.incident.id] = notice
    found = judge(made, Harm()).faults[0]
    assert [(each.right_first, each.severity_right, each.page_due) for each in (missed, found)] == [
        (False, False, False),
        (True, True, False),
    ]
    loud = judge(run([slow], [page(IncidentKind.SLOW_RECEIVER, "port:node1/mlx5_0", 1050.0)]), Harm()).faults[0]
    assert (loud.right_first, loud.severity_right) == (True, False)


@pytest.mark.parametrize("background", [RIGHT, WRONG])
def test_a_page_that_comes_without_the_fault_too_is_false_whatever_it_names(background: Page) -> None:
    """Both name what the fault reaches, while it lasts."""
    made = run([DOWN], [background])
    made.branches = [without_faults(replace(background, at_ns=background.at_ns + 20 * NS_PER_S))]
    outcome = judge(made)
    assert (outcome.false, outcome.background, outcome.right) == ([background], 1, 0)
    assert outcome.faults[0].first is None


@pytest.mark.parametrize(
    "other",
    [
        page(IncidentKind.DEVICE_DOWN, "device:node1", 1100.0),  # at another time
        page(IncidentKind.DEVICE_REBOOTED, "device:node1", 1010.0),  # of another kind
        page(IncidentKind.DEVICE_DOWN, "device:node2", 1010.0),  # elsewhere
    ],
)
def test_another_page_without_the_fault_excuses_nothing(other: Page) -> None:
    made = run([DOWN], [WRONG])
    made.branches = [without_faults(other)]
    outcome = judge(made)
    assert (outcome.false, outcome.background, outcome.faults[0].first) == ([], 0, WRONG)


def test_one_page_without_the_fault_stands_for_one_page_with_it() -> None:
    again = page(IncidentKind.DEVICE_DOWN, "device:node1", 1050.0, key="again")
    made = run([DOWN], [WRONG, again])
    made.branches = [without_faults(replace(WRONG, at_ns=again.at_ns - NS_PER_S))]
    outcome = judge(made)
    assert (outcome.false, outcome.faults[0].first) == ([again], WRONG)


def test_a_page_that_only_the_page_budget_held_back_without_the_fault_is_of_the_background() -> None:
    made = run([DOWN], [WRONG])
    made.branches = [without_faults(firing=[WRONG])]
    assert judge(made).false == [WRONG]
    harmless = replace(WRONG, incident=replace(WRONG.incident, severity=Severity.INFO))
    made.branches = [without_faults(firing=[harmless])]
    assert judge(made).false == []


def test_incidents_that_page_nobody_are_counted_beside_the_pages() -> None:
    made = run([DOWN], [RIGHT])
    quiet = [page(IncidentKind.DEVICE_DOWN, "device:node1", 1020.0, Severity.INFO), NOWHERE]
    made.notices |= {each.incident.id: each for each in quiet}
    outcome = judge(made)
    assert (outcome.faults[0].unpaged, outcome.unpaged_false, outcome.faults[0].exactly_one) == (1, 1, True)


def test_a_finding_that_comes_without_the_fault_too_is_false() -> None:
    made = run([DOWN], [])
    slowed = finding(FindingKind.JOB_SLOWED, "job:1")
    made.findings = {slowed.id: slowed}
    assert judge(made).findings == {True: 1}
    made.branches = [without_faults(findings=[replace(slowed, onset_ns=slowed.onset_ns - 30 * NS_PER_S)])]
    outcome = judge(made)
    assert (outcome.findings, outcome.background_findings) == ({False: 1}, 1)


def test_a_slowed_job_is_no_true_finding_where_no_job_lost_time() -> None:
    made = run([truth("link-down", UPLINK)], [])
    slowed = finding(FindingKind.JOB_SLOWED, "job:1")
    made.findings = {slowed.id: slowed}
    assert judge(made, Harm()).findings == {False: 1}


def test_the_stated_cost_stands_beside_the_true_one() -> None:
    stated = replace(RIGHT, incident=replace(RIGHT.incident, gpu_seconds=100.0))
    made = run([DOWN], [stated])
    made.newest = {RIGHT.incident.id: replace(RIGHT.incident, gpu_seconds=1200.0)}
    cost, missed = judge(made).faults[0].cost, judge(run([DOWN], [])).faults[0].cost
    assert cost is not None
    assert missed is not None
    assert (cost.stated_first, cost.first, cost.stated, cost.final) == (100.0, 400.0, 1200.0, 600.0)
    assert (missed.stated, missed.final, sorted(missed.jobs), len(missed.stated_jobs)) == (0.0, 600.0, ["1"], 0)


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


def test_a_title_names_a_gpu_by_host_number_and_the_begin_of_its_uuid() -> None:
    made = page(IncidentKind.STRAGGLER, GPU, 1020.0)
    host, _, uuid = GPU.removeprefix("gpu:").partition("/")
    titles = [f"straggler {host} GPU 0 ({uuid[:12]})", f"straggler on {host}"]
    named = [replace(made, incident=replace(made.incident, title=title)) for title in titles]
    assert [judged(each, of=SLOW)[0].text_first for each in named] == [True, False]
