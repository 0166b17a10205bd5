"""Health alone: which clusters run, in what order, and what the page says of them."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from common.errors import ConfigError
from evaluation.families import health
from evaluation.families import run as families
from evaluation.families.family import read_families
from evaluation.families.health import HealthOptions
from evaluation.families.judge import ClusterOutcome, judge
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import FamilyRun
from telemetry.incidents import IncidentKind, Severity
from tests.unit.evaluation.families.made_up import FAMILY, page, run

QUIET = FAMILY.model_copy(update={"name": "quiet", "faults": None})
NOISY = FAMILY.model_copy(update={"name": "noisy", "faults": None, "hosts": 64})


def outcome(name: str, pages: int, severity: Severity = Severity.WARNING) -> ClusterOutcome:
    """A made-up healthy cluster of one node-week."""
    noise = [page(IncidentKind.INCAST, "port:leaf1/Ethernet0", 500.0 + at, severity) for at in range(pages)]
    return replace(judge(run([], noise, QUIET.model_copy(update={"name": name})), []), node_days=7.0)


def test_a_longer_run_begins_with_all_clusters_of_a_shorter_one() -> None:
    shorter = health.clusters([QUIET, NOISY], HealthOptions(5.0, hosts=32))
    longer = health.clusters([QUIET, NOISY], HealthOptions(12.0, hosts=32))
    assert longer[: len(shorter)] == shorter
    assert [plan.family.name for plan in shorter] == ["quiet", "noisy", "quiet"]
    assert len({plan.config.seed for plan in longer}) == len(longer)


@pytest.mark.parametrize("node_days", [0.1, 4.0, 4.1])
def test_as_many_node_days_as_asked_for_and_no_cluster_more(node_days: float) -> None:
    days = [
        plan.config.hosts * plan.lasts_s / 86_400
        for plan in health.clusters([QUIET, NOISY], HealthOptions(node_days, hosts=32))
    ]
    assert sum(days[:-1]) < node_days <= sum(days)


def test_clusters_are_large_and_those_that_are_declared_larger_stay_so() -> None:
    found = health.clusters([QUIET, NOISY], HealthOptions(5.0, hosts=16))
    assert [plan.config.hosts for plan in found[:2]] == [16, 64]


def test_pods_are_those_of_large_clusters_alone() -> None:
    found = health.clusters([QUIET, NOISY], HealthOptions(5.0, hosts=16, pod=32))
    assert [plan.config.hosts_per_pod for plan in found[:2]] == [0, 32]


def test_all_healthy_families_run_unless_some_are_named() -> None:
    sets = read_families()
    declared = [family.name for family in sets.report if family.faults is None]
    assert [family.name for family in health.chosen(HealthOptions(), sets)] == declared
    assert [family.name for family in health.chosen(HealthOptions(names=("healthy-plain",)), sets)] == ["healthy-plain"]
    with pytest.raises(ConfigError, match="experts: a family with faults"):
        health.chosen(HealthOptions(names=("experts", "healthy-plain")), sets)
    with pytest.raises(ConfigError, match="no report family healthy-noisy"):
        health.chosen(HealthOptions(names=("healthy-noisy",)), sets)


def test_what_is_known_is_handed_on_after_every_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    printed, known = io.StringIO(), list[int]()
    monkeypatch.setattr(families, "_one", lambda plan: judge(FamilyRun(plan), []))
    options = HealthOptions(4.0, names=("healthy-plain", "healthy-rails"), hosts=32, processes=1)
    kept = health.kept_outcomes(options, tmp_path)
    found = health.measure(options, Console(file=printed, width=120), lambda so_far: known.append(len(so_far)), kept)
    assert [each.family for each in found] == ["healthy-plain", "healthy-rails", "healthy-plain"]
    assert known == [1, 2, 3]
    assert printed.getvalue().splitlines()[-1].startswith("4.0 of 4.0 node-days, ")


def test_a_resumed_run_gives_what_a_whole_one_gives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = []

    def one(plan: FamilyPlan) -> ClusterOutcome:
        ran.append(plan.seed)
        noise = [page(IncidentKind.INCAST, "port:leaf1/Ethernet0", 500.0)]
        return judge(replace(run([], noise, plan.family), plan=plan), [])

    monkeypatch.setattr(families, "_one", one)

    def measured(node_days: float, folder: Path, *, resume: bool) -> list[ClusterOutcome]:
        options = HealthOptions(node_days, names=("healthy-plain", "healthy-rails"), processes=1, resume=resume)
        kept = health.kept_outcomes(options, folder)
        return health.measure(options, Console(file=io.StringIO()), lambda so_far: None, kept)

    whole = measured(4.0, tmp_path / "whole", resume=False)
    assert (len(whole), len(ran)) == (3, 3)
    measured(2.0, tmp_path / "pieces", resume=True)
    assert measured(4.0, tmp_path / "pieces", resume=True) == whole
    assert ran[3:] == ran[:3]
    measured(1.0, tmp_path / "pieces", resume=False)
    assert ran[6:] == ran[:1]


def test_all_families_together_are_a_row_of_their_own() -> None:
    rows = health.health_rows([outcome("quiet", 0), outcome("noisy", 2), outcome("noisy", 1)])
    found = {row["family"]: row for row in rows if row["table"] == "health"}
    assert {name: row["false pages"] for name, row in found.items()} == {"quiet": 0, "noisy": 3, "all": 3}
    assert found["all"]["node-days"] == 21.0
    rate = found["all"]["per 1,000 nodes and week"]
    assert rate.value == pytest.approx(1000.0)
    assert rate.low < 1000.0 < rate.high
    assert rate.wide_low < 1000.0 < rate.wide_high < math.inf  # three campaigns, not one


def test_kinds_are_those_of_all_families_the_most_frequent_first() -> None:
    clusters = [outcome("quiet", 1, Severity.CRITICAL), outcome("noisy", 2), outcome("other", 1)]
    found = [row for row in health.health_rows(clusters) if row["table"] == "kinds"]
    assert [(row["incident"], row["severity"], row["pages"]) for row in found] == [
        ("incast", "warning", 3),
        ("incast", "critical", 1),
    ]
    assert found[0]["per 1,000 nodes and week"] == pytest.approx(1000.0)


def test_the_page_says_what_was_run() -> None:
    clusters = [outcome("quiet", 0), outcome("noisy", 1)]
    text = health.health_page(health.health_rows(clusters), HealthOptions(hosts=16), clusters)
    assert "2 clusters of at least 16 hosts and 1 simulated hour each, together 14.0 node-days" in text
    in_pods = health.health_page(health.health_rows(clusters), HealthOptions(hosts=64, pod=32), clusters)
    assert "2 clusters of at least 64 hosts in pods of 32 and 1 simulated hour each" in in_pods
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Target",
        "## Health",
        "## Kinds",
        "## False pages",
        "## Findings",
    ]


def test_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.parse([]) == health.TEN_NODE_DAYS
    arguments = ["--node-days", "2", "--train", "--families", "a", "b", "--hosts", "8", "--processes", "3", "--resume"]
    assert health.parse([*arguments, "--pod", "4"]) == HealthOptions(2.0, True, ("a", "b"), 8, 3, resume=True, pod=4)
    with pytest.raises(SystemExit):
        health.parse(["--node-days", "0"])
    assert "expected more than 0" in capsys.readouterr().err
