"""Families end to end: a real small cluster, the options, and what is refused."""

import io

import pytest
from rich.console import Console

from common.errors import ConfigError
from evaluation.families import run as families
from evaluation.families import run_plan as run_plan_module
from evaluation.families.family import Family, FaultChoice, read_families
from evaluation.families.judge import judge
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import EngineBuilder, FamilyRun, run_plan
from evaluation.families.truth.assemble import reaches
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import ScheduledFault
from telemetry.incidents import IncidentKind

FAMILY = Family(name="small", stands_for="a test", hosts=4, faults=FaultChoice(kinds=("link-down",)))
CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)
FAULT = ScheduledFault(fault="link-down", at_s=60.0, lasts_s=30.0, target="leaf1/Ethernet0")


def test_a_broken_host_cable_is_paged_and_the_same_plan_gives_the_same_pages() -> None:
    plan = FamilyPlan(FAMILY, 1, CONFIG, (FAULT,), 130.0)
    one, other = run_plan(plan), run_plan(plan)
    assert one.pages == other.pages
    assert (one.truths, one.findings) == (other.truths, other.findings)
    outcome = judge(one, reaches(one))
    (fault,) = outcome.faults
    assert fault.first is not None
    assert (fault.first.incident.kind, str(fault.first.incident.root)) == (
        IncidentKind.LINK_DOWN,
        "link:leaf1/Ethernet0--node1/mlx5_0",
    )
    assert 0.0 < fault.delay_s < 60.0
    assert (outcome.false, outcome.findings[False]) == ([], 0)


def test_without_its_fault_the_same_cluster_has_neither_its_pages_nor_its_findings() -> None:
    found = run_plan(FamilyPlan(FAMILY, 1, CONFIG, (FAULT,), 130.0))
    (branch,) = found.branches
    assert (branch.pages, branch.findings) == ([], [])
    assert branch.from_ns == found.start_ns + int(57.5e9)  # the last tick before it
    (cause,) = reaches(found)
    (job,) = found.record.jobs.values()
    before = [at_ns for at_ns in job.times_ns if at_ns < cause.truth.start_ns]
    (without,) = branch.record.jobs.values()
    assert without.times_ns[: len(before)] == before
    assert len(without.times_ns) > len(job.times_ns)  # the ring of this rail stands still until the repair
    assert cause.harm.jobs.keys() == {"4711"}
    assert 0.8 * 8 * 30.0 < cause.harm.total < 1.2 * 8 * 30.0  # eight GPUs for half a minute


def test_of_two_faults_each_costs_what_it_costs_alone() -> None:
    slow = ScheduledFault(fault="straggler-gpu", at_s=65.0, lasts_s=30.0, target="node3/0", strength=0.5)
    found = run_plan(FamilyPlan(FAMILY, 1, CONFIG, (FAULT, slow), 160.0))
    (branch,) = found.branches
    assert (branch.positions, sorted(branch.alone)) == ((0, 1), [0, 1])
    down, straggler = reaches(found)
    assert down.harm.total > 150.0
    assert 20.0 < straggler.harm.total < 150.0  # though the job stood still for most of its time


def test_a_fault_that_needs_a_job_waits_for_one_a_minute_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs_a_job(plan: FamilyPlan, start_ns: int, build: EngineBuilder) -> FamilyRun:
        if plan.faults[0].at_s < 150.0:
            raise ConfigError("late-checkpoint: no target '', expected a host with a running job")
        return FamilyRun(plan)

    monkeypatch.setattr(run_plan_module, "_run", needs_a_job)
    found = run_plan(FamilyPlan(FAMILY, 1, CONFIG, (FAULT,), 130.0)).plan
    assert (found.faults[0].at_s, found.lasts_s) == (180.0, 250.0)
    never = FAULT.model_copy(update={"at_s": -1000.0})
    with pytest.raises(ConfigError, match=r"family small, seed 1: .*running job"):
        run_plan(FamilyPlan(FAMILY, 1, CONFIG, (never,), 130.0))


def test_what_a_cluster_lacks_is_an_error_at_once() -> None:
    wrong = FAULT.model_copy(update={"target": "leaf1/Ethernet999", "at_s": 1.0})
    with pytest.raises(ConfigError, match=r"family small, seed 1: link-down: no target 'leaf1/Ethernet999'"):
        run_plan(FamilyPlan(FAMILY, 1, CONFIG, (wrong,), 20.0))


def test_names_are_looked_up_in_the_list_that_is_asked_for() -> None:
    sets = read_families()
    options = families.Options(names=("plain-leaf-side",))
    assert [family.name for family in families.chosen(options, sets)] == ["plain-leaf-side"]
    with pytest.raises(ConfigError, match="no training family plain-leaf-side, expected some of plain-singles"):
        families.chosen(families.Options(train=True, names=("plain-leaf-side",)), sets)


def test_progress_is_printed_for_every_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(families, "_one", lambda plan: judge(FamilyRun(plan), []))
    options = families.Options(names=("plain-leaf-side", "healthy-plain"), hours=2.0, processes=1)
    outcomes = families.run(options, Console(file=printed, width=120))
    assert [each.family for each in outcomes] == ["plain-leaf-side", "plain-leaf-side", "healthy-plain"]
    assert printed.getvalue().splitlines()[-1].startswith("3 of 3, ")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], families.SMALL),
        (
            ["--train", "--hours", "2", "--families", "a", "b", "--processes", "3"],
            families.Options(True, ("a", "b"), 2.0, 3),
        ),
    ],
)
def test_options(arguments: list[str], options: families.Options) -> None:
    assert families.parse(arguments) == options


def test_hours_without_time_for_a_fault_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        families.parse(["--hours", "0.1"])
    assert "expected 0.25 to 1000" in capsys.readouterr().err
