"""XIDs that blame the program: whose it was, and when the GPU is suspected all the same."""

from collections.abc import Sequence

import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.worker import build_engine
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from telemetry.objects import ObjectRef, gpu, job
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, run, table

GPUS = 16
HOST = table("node1", [series_key("gpu_xid_last", {"device": "node1", "gpu": f"GPU-{n}"}) for n in range(GPUS)], "dcgm")
INVENTORY: list[Entity] = [Gpu("node1", f"GPU-{n}", n) for n in range(GPUS)]
FIRST = gpu("node1", "GPU-0")


def at(interval: float) -> int:
    return START_NS + round(interval * INTERVAL_S * SECOND)


def of_jobs(*jobs: tuple[str, str, float, float]) -> list[TopologyFact]:
    """Jobs on the whole host by id, user, begin and end in intervals."""
    found = []
    for job_id, user, begins, ends in jobs:
        record = Job(job_id, ("node1",), "train", user, started_ns=at(begins))
        found += [TopologyFact(record, at(begins), "slurm"), TopologyFact(record, at(ends), "slurm", gone=True)]
    return found


def outputs(facts: Sequence[TopologyFact], codes: Sequence[int]) -> list[object]:
    """codes: the last XID of GPU-0, collection by collection; the other GPUs never have one."""
    engine: Engine = build_engine(EngineConfig(interval_s=INTERVAL_S))
    engine.add_facts([TopologyFact(entity, START_NS - 1, "inventory") for entity in INVENTORY])
    engine.add_facts(facts)
    rows = [batch(HOST, seq, [float(code), *[0.0] * (GPUS - 1)]) for seq, code in enumerate(codes)]
    return list(run(engine, rows))


def incidents(found: Sequence[object]) -> dict[tuple[IncidentKind, ObjectRef], Incident]:
    return {(one.kind, one.root): one for one in found if isinstance(one, Incident)}


@pytest.mark.parametrize("ended", [4.5, 4.99, 9.0])
def test_an_xid_of_a_program_pages_nobody_and_names_the_job(ended: float) -> None:
    """Also when the next job has begun before the XID was read, and when the end of the job is known later."""
    facts = of_jobs(("1", "ada", 0, ended), ("2", "bob", max(4.9, ended - 0.01), 99))
    found = incidents(outputs(facts, [0] * 5 + [31] * 12))
    incident = found[IncidentKind.PROGRAM_FAILED, job("1")]
    assert set(found) == {(IncidentKind.PROGRAM_FAILED, job("1"))}
    assert incident.state is IncidentState.FIRING
    assert incident.severity is Severity.INFO
    assert any("with XID 31, which blames the program and not the GPU" in entry.text for entry in incident.timeline)


def test_without_a_job_the_gpu_is_the_root() -> None:
    found = incidents(outputs([], [0] * 5 + [31] * 12))
    assert set(found) == {(IncidentKind.PROGRAM_FAILED, FIRST)}


def test_an_xid_of_the_gpu_is_a_fault_as_before() -> None:
    found = incidents(outputs(of_jobs(("1", "ada", 0, 99)), [0] * 5 + [79] * 12))
    assert set(found) == {(IncidentKind.GPU_FAULT, FIRST)}


USERS = ("ada", "bob", "carol", "dan")
FAILURES = [0, 0, 0, 31, 0, 0, 13, 0, 0, 31, 0, 0, 13, 0, 0, 0]


def failing(users: Sequence[str]) -> list[TopologyFact]:
    return of_jobs(*((str(n), user, 3 * n + 1, 3 * n + 3.5) for n, user in enumerate(users)))


def suspected(found: Sequence[object]) -> list[Finding]:
    return [one for one in found if isinstance(one, Finding) and one.kind is FindingKind.GPU_XID]


def test_a_gpu_on_which_one_program_after_the_other_fails_is_suspected() -> None:
    found = outputs(failing(USERS), FAILURES)
    first = suspected(found)[0]
    assert (first.object, first.onset_ns) == (FIRST, at(9)), "with the third one"
    assert (first.evidence[0].value, first.evidence[0].unit) == (3.0, "programs")
    assert {one.id for one in suspected(found)} == {first.id}, "and stays so, whatever fails next"
    fault = incidents(found)[IncidentKind.GPU_FAULT, FIRST]
    assert any("its hardware is suspected" in entry.text for entry in fault.timeline)


@pytest.mark.parametrize(
    ("users", "codes"),
    [
        (("ada", "ada", "ada", "ada"), FAILURES),  # one program that is started again and again
        (USERS, [45 if code else 0 for code in FAILURES]),  # what a launcher does to all GPUs of a job
        (USERS[:2], FAILURES[:8]),
    ],
)
def test_what_says_nothing_about_the_gpu_makes_it_no_suspect(users: Sequence[str], codes: Sequence[int]) -> None:
    assert suspected(outputs(failing(users), codes)) == []


def test_where_all_gpus_have_them_none_is_suspected() -> None:
    """A cluster full of bugs: each GPU has seen as many programs fail as the first one."""
    engine = build_engine(EngineConfig(interval_s=INTERVAL_S))
    engine.add_facts([TopologyFact(entity, START_NS - 1, "inventory") for entity in INVENTORY])
    engine.add_facts(failing(USERS))
    rows = [batch(HOST, seq, [float(code)] * GPUS) for seq, code in enumerate(FAILURES)]
    assert suspected(run(engine, rows)) == []
