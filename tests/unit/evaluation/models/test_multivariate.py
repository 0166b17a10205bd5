"""What counts as found, as false and as a victim in campaigns of the multivariate models."""

import pytest

from common.units import NS_PER_S
from evaluation.models.multivariate import METHODS, CampaignRun, about_others, by_fault, by_kind, false_positives, found
from simulator.faults.truth import Truth
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import IncidentKind
from telemetry.objects import parse_object

STRAGGLER = Truth(
    "straggler-gpu", IncidentKind.STRAGGLER, parse_object("gpu:node1/GPU-1"), 1000 * NS_PER_S, 1300 * NS_PER_S
)
DIRTY = Truth(
    "dirty-optic",
    IncidentKind.LINK_DEGRADED,
    parse_object("link:leaf1/Ethernet0--spine1/Ethernet1"),
    2000 * NS_PER_S,
    2300 * NS_PER_S,
)


def finding(
    about: str,
    onset_s: float,
    detector: str = "multivariate_gpu",
    *,
    delay_s: float = 20.0,
    state: FindingState = FindingState.ACTIVE,
) -> Finding:
    return Finding(
        id=f"{detector}/{about}/{onset_s}",
        kind=FindingKind.DEVIATION,
        object=parse_object(about),
        detector=detector,
        state=state,
        onset_ns=int(onset_s * NS_PER_S),
        observed_ns=int((onset_s + delay_s) * NS_PER_S),
        score=2.0,
        confidence=0.9,
        evidence=(),
    )


def run(*findings: Finding, truth: tuple[Truth, ...] = (STRAGGLER,)) -> CampaignRun:
    devices = {"gpu": 8, "host": 4, "port": 16, "storage_target": 4}
    return CampaignRun(1, "ellipse", True, list(truth), list(findings), devices, 43200.0)


@pytest.mark.parametrize(
    ("given", "ours", "others"),
    [
        ([], None, None),
        ([finding("gpu:node1/GPU-1", 1010.0)], 3.0, None),  # in intervals of ten seconds from the begin of the fault
        ([finding("gpu:node1/GPU-1", 990.0)], 1.0, None),  # an average over the interval in which it begins
        ([finding("gpu:node1/GPU-1", 989.0)], None, None),
        ([finding("gpu:node1/GPU-1", 1301.0)], None, None),
        ([finding("gpu:node1/GPU-2", 1010.0)], None, None),
        ([finding("gpu:node1/GPU-1", 1010.0, state=FindingState.CLEARED)], None, None),
        ([finding("gpu:node1/GPU-1", 1010.0, "straggler"), finding("gpu:node1/GPU-1", 1030.0)], 5.0, 3.0),
        ([finding("gpu:node1/GPU-1", 1010.0), finding("gpu:node1/GPU-1", 1000.0)], 3.0, None),  # the first published
    ],
)
def test_a_fault_is_found_by_an_active_finding_about_its_root(
    given: list[Finding], ours: float | None, others: float | None
) -> None:
    (row,) = found(run(*given))
    assert (row["ours"], row["others"]) == (ours, others)
    assert (row["fault"], row["method"], row["seed"]) == ("straggler-gpu 0.1", "ellipse", 1)


@pytest.mark.parametrize(
    ("about", "counts"),
    [("port:leaf1/Ethernet0", True), ("port:spine1/Ethernet1", True), ("port:leaf1/Ethernet4", False)],
)
def test_a_link_is_found_at_either_end(about: str, counts: bool) -> None:
    (row,) = found(run(finding(about, 2010.0, "multivariate_port"), truth=(DIRTY,)))
    assert (row["ours"] is not None) is counts


@pytest.mark.parametrize(
    ("onset_s", "false"), [(989.0, 1), (990.0, 0), (1300.0, 0), (1480.0, 0), (1481.0, 1), (100.0, 1)]
)
def test_findings_away_from_faults_are_false_whatever_they_are_about(onset_s: float, false: int) -> None:
    given = run(finding("gpu:node7/GPU-9", onset_s), finding("gpu:node7/GPU-9", onset_s, "straggler"))
    assert false_positives(given) == {"gpu": false, "host": 0, "port": 0, "storage_target": 0}


def test_versions_of_one_finding_count_once() -> None:
    first = finding("gpu:node1/GPU-1", 100.0)
    assert false_positives(run(first, first))["gpu"] == 1


def test_victims_are_other_objects_during_the_fault_or_soon_after() -> None:
    given = run(
        finding("gpu:node1/GPU-1", 1010.0),  # the root
        finding("gpu:node1/GPU-2", 1010.0),
        finding("gpu:node1/GPU-3", 1400.0),
        finding("gpu:node1/GPU-4", 1500.0),  # too late
        finding("gpu:node1/GPU-2", 1010.0, "straggler"),
    )
    assert about_others(given) == 2


def test_tables_have_a_row_for_each_fault_or_kind_and_method() -> None:
    runs = [run(finding("gpu:node1/GPU-1", 1010.0), finding("gpu:node9/GPU-1", 100.0)) for _ in METHODS]
    runs[1].method = METHODS[1]
    faults, kinds = by_fault(runs), by_kind(runs)
    assert [next(iter(column.cells)) for column in faults.columns] == [
        "straggler-gpu 0.1", "ellipse", "1/1", "3.0", "0/1", "", "1"
    ]  # fmt: skip
    # Eight GPUs for half a day are four device-days, with one finding.
    assert [next(iter(column.cells)) for column in kinds.columns] == ["gpu", "ellipse", "1", "4.0", "0.25"]
    assert faults.row_count == 2
    assert kinds.row_count == 8
