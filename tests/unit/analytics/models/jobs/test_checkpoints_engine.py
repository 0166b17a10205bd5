"""Checkpoints through the whole engine: two jobs that stop for twenty seconds every two minutes and then do not."""

from collections.abc import Callable

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Mount, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS

JOBS = {"7": ("node0", "node1"), "8": ("node2", "node3")}
GPUS, PERIOD_S, LASTS_S, FAULT_S, END_S = 2, 120, 20, 600, 1300
OFFSET_S = {"7": 60, "8": 110}
Writes = Callable[[str, float], bool]  # job, seconds since the start -> whether it writes a checkpoint


def facts(apart: bool = False) -> list[TopologyFact]:
    """apart: whether the second job writes to a file system of its own."""
    entities: list[Entity] = [Job(job, nodes, "train", "ada", started_ns=START_NS) for job, nodes in JOBS.items()]
    for node in sorted(node for nodes in JOBS.values() for node in nodes):
        entities += [Device(node, Role.HOST), Mount(node, "home" if apart and node in JOBS["8"] else "scratch")]
        entities += [Gpu(node, f"GPU-{node}-{n}", n, "") for n in range(GPUS)]
    return [TopologyFact(entity, START_NS - SECOND, "inventory") for entity in entities]


def collection(device: str, keys: list[str], seq: int, values: list[float]) -> SampleBatch:
    at_ns = START_NS + seq * INTERVAL_S * SECOND
    rows, times_ns = np.arange(len(keys), dtype=np.uint32), np.full(len(keys), at_ns)
    table = SeriesTable(f"test/{device}", device, tuple(keys))
    return SampleBatch(table, Collection(START_NS, seq, at_ns, 0.1), times_ns, rows, np.array(values))


def checkpoint_findings(
    writes: Writes,
    *,
    stored: bool = True,
    pace: Callable[[float], float] = lambda at_s: 1.0,
    waits: float = 0.98,
    apart: bool = False,
    read_every_s: int = INTERVAL_S,
) -> list[Finding]:
    """The findings about checkpoints; parameters as of ``findings_of_jobs``."""
    found = findings_of_jobs(writes, stored=stored, pace=pace, waits=waits, apart=apart, read_every_s=read_every_s)
    return [finding for finding in found if "checkpoint" in finding.kind]


def findings_of_jobs(
    writes: Writes,
    *,
    stored: bool = True,
    pace: Callable[[float], float] = lambda at_s: 1.0,
    waits: float = 0.98,
    apart: bool = False,
    lockstep: bool = True,
    read_every_s: int = INTERVAL_S,
) -> list[Finding]:
    """The findings about jobs.

    stored: whether the file system sees anything written; pace: how fast, as a share of what is usual; waits: share of
    its time that a job waits while it writes. lockstep: whether the GPUs of a job do the same.
    read_every_s: how often the exporter of a host reads its GPUs; meanwhile it repeats what it read.
    """
    engine, rng = Engine(CONFIG), np.random.default_rng(1)
    engine.add_facts(facts(apart))
    found: list[Finding] = []
    written, read = 0.0, dict[str, tuple[list[str], list[float]]]()
    target = {"device": "oss0", "system": "lustre", "fs": "scratch", "target": "OST0000", "side": "server"}
    for seq in range(END_S // INTERVAL_S):
        writing = [job for job in JOBS if writes(job, seq * INTERVAL_S)]
        written += 5e10 * bool(writing) * stored * pace(seq * INTERVAL_S)
        engine.observe(collection("oss0", [series_key("storage_written_bytes_total", target)], seq, [written]))
        for job, nodes in JOBS.items():
            busy = 1.0 - waits if job in writing else 1.0
            for node in nodes:
                if node in read and seq * INTERVAL_S % read_every_s:
                    engine.observe(collection(node, read[node][0], seq, read[node][1]))
                    continue
                gpus = [{"device": node, "gpu": f"GPU-{node}-{n}"} for n in range(GPUS)]
                metrics = ("gpu_tensor_active_ratio", "gpu_utilization_ratio", "gpu_energy_joules_total")
                keys = [series_key(metric, gpu) for gpu in gpus for metric in metrics]
                active = [0.4 * busy * rng.normal(1, 0.02) if lockstep else rng.uniform(0.1, 0.9) for _ in gpus]
                values = [v for share in active for v in (share, busy, 1e3 * seq)]
                read[node] = keys, values
                engine.observe(collection(node, keys, seq, values))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    return [finding for finding in found if finding.object.kind is objects.ObjectKind.JOB]


def usual(job: str, at_s: float) -> bool:
    return (at_s - OFFSET_S[job]) % PERIOD_S < LASTS_S and at_s >= OFFSET_S[job]


def one_takes_longer(job: str, at_s: float) -> bool:
    began_s = FAULT_S + OFFSET_S["7"]
    return usual(job, at_s) or (job == "7" and began_s <= at_s < began_s + 90)


def one_stops_writing(job: str, at_s: float) -> bool:
    return usual(job, at_s) and (job == "8" or at_s < FAULT_S)


def both_at_once(job: str, at_s: float) -> bool:
    if at_s < FAULT_S:
        return usual(job, at_s)
    return FAULT_S + 60 <= at_s < FAULT_S + 120


def test_regular_checkpoints_bring_no_finding() -> None:
    assert checkpoint_findings(usual) == []


def test_a_checkpoint_of_several_times_the_usual_length_is_late() -> None:
    found = checkpoint_findings(one_takes_longer)
    assert {(f.kind, f.object) for f in found} == {(FindingKind.CHECKPOINT_LATE, objects.job("7"))}
    began_s = FAULT_S + OFFSET_S["7"]
    assert found[0].onset_ns == START_NS + began_s * SECOND
    assert found[0].observed_ns <= START_NS + (began_s + 2 * LASTS_S + 30) * SECOND
    assert found[0].evidence[0].normal == LASTS_S
    assert found[-1].state is FindingState.CLEARED


def test_nobody_waits_for_a_checkpoint_where_every_gpu_works_for_itself() -> None:
    assert findings_of_jobs(one_takes_longer, lockstep=False) == []


def test_a_job_that_goes_on_working_is_not_late() -> None:
    assert checkpoint_findings(one_takes_longer, waits=0.4) == []


def brief(job: str, at_s: float) -> bool:
    """Ten seconds, which GPUs that are read every thirty seconds show for thirty."""
    return usual(job, at_s) and (at_s - OFFSET_S[job]) % PERIOD_S < LASTS_S / 2


def test_a_pause_is_no_longer_than_its_evidence_is_apart() -> None:
    assert checkpoint_findings(brief, read_every_s=30) == []


def one_takes_minutes(job: str, at_s: float) -> bool:
    began_s = FAULT_S + OFFSET_S["7"]
    return brief(job, at_s) or (job == "7" and began_s <= at_s < began_s + 180)


def test_a_checkpoint_that_is_late_by_more_than_that_is_found() -> None:
    found = checkpoint_findings(one_takes_minutes, read_every_s=30)
    assert {(f.kind, f.object) for f in found} == {(FindingKind.CHECKPOINT_LATE, objects.job("7"))}


def minutes_long(job: str, at_s: float) -> bool:
    """As to a file system of disks."""
    return job == "7" and at_s >= 100 and (at_s - 100) % 400 < 130


def test_a_checkpoint_of_the_usual_length_is_no_waiting_however_long_that_is() -> None:
    assert findings_of_jobs(minutes_long) == []


def stops_for_a_minute(job: str, at_s: float) -> bool:
    return usual(job, at_s) or (job == "7" and 865 <= at_s < 925)


def little_of_others(at_s: float) -> float:
    return 0.1 if 865 <= at_s < 925 else 1.0


def test_a_pause_in_which_others_write_a_little_is_no_checkpoint() -> None:
    """A tenth of what the job writes in its own checkpoints: so it waits for something, and shows that at once."""
    found = findings_of_jobs(stops_for_a_minute, pace=little_of_others)
    found = [finding for finding in found if finding.kind is FindingKind.JOB_IDLE]
    assert {(f.kind, f.object, f.confidence) for f in found} == {(FindingKind.JOB_IDLE, objects.job("7"), 0.2)}
    assert (found[0].onset_ns - START_NS) // SECOND in range(860, 880)
    assert found[0].observed_ns <= START_NS + 905 * SECOND
    assert found[0].evidence[0].value == pytest.approx(0.02)
    assert found[0].evidence[0].normal == pytest.approx(1.0)
    assert found[-1].state is FindingState.CLEARED


def test_the_first_checkpoint_of_a_job_is_late_when_only_a_trickle_is_still_written() -> None:
    began_s = 150

    def writes(job: str, at_s: float) -> bool:
        return job == "7" and began_s <= at_s < began_s + 100

    def trickle(at_s: float) -> float:
        return 1.0 if at_s <= began_s + 20 else 0.01

    assert checkpoint_findings(writes) == []
    found = checkpoint_findings(writes, pace=trickle)
    assert {(f.kind, f.object) for f in found} == {(FindingKind.CHECKPOINT_LATE, objects.job("7"))}
    assert found[0].onset_ns == START_NS + began_s * SECOND
    assert found[0].observed_ns <= START_NS + (began_s + 50) * SECOND
    assert found[-1].state is FindingState.CLEARED


def test_a_job_that_waits_for_a_trickle_is_late_also_while_another_writes_its_own() -> None:
    began_s = 150

    def writes(job: str, at_s: float) -> bool:
        late, other = began_s <= at_s < began_s + 60, began_s + 30 <= at_s < began_s + 60
        return late if job == "7" else other

    def trickle(at_s: float) -> float:
        return 1.0 if at_s <= began_s + 10 or began_s + 30 <= at_s <= began_s + 60 else 0.01

    found = checkpoint_findings(writes, pace=trickle)
    assert {(f.kind, f.object) for f in found} == {(FindingKind.CHECKPOINT_LATE, objects.job("7"))}
    assert [f.state for f in found].count(FindingState.CLEARED) == 1
    assert found[-1].observed_ns >= START_NS + (began_s + 60) * SECOND


def test_a_first_checkpoint_that_pauses_is_not_late_where_nobody_else_can_have_gone_on() -> None:
    began_s = 150

    def writes(job: str, at_s: float) -> bool:
        return job == "7" and began_s <= at_s < began_s + 60

    def lull(at_s: float) -> float:
        return 0.01 if began_s + 10 < at_s <= began_s + 20 else 1.0

    assert checkpoint_findings(writes, pace=lull, apart=True) == []
    assert checkpoint_findings(writes, pace=lull) != []


def test_a_usual_checkpoint_that_ends_in_a_trickle_is_not_waited_for_twice_as_long() -> None:
    began_s = FAULT_S + OFFSET_S["7"]

    def trickle(at_s: float) -> float:
        return 0.01 if began_s + 20 < at_s < began_s + 90 else 1.0

    late, sooner = checkpoint_findings(one_takes_longer), checkpoint_findings(one_takes_longer, pace=trickle)
    assert {f.object for f in sooner} == {objects.job("7")}
    assert sooner[0].observed_ns < late[0].observed_ns


def test_a_pause_without_writes_is_no_checkpoint() -> None:
    assert checkpoint_findings(one_takes_longer, stored=False) == []


def test_a_job_that_stops_writing_is_overdue_after_two_periods() -> None:
    found = checkpoint_findings(one_stops_writing)
    assert {(f.kind, f.object) for f in found} == {(FindingKind.CHECKPOINT_OVERDUE, objects.job("7"))}
    last_s = OFFSET_S["7"] + 4 * PERIOD_S
    assert found[0].observed_ns <= START_NS + (last_s + 2 * PERIOD_S + 40) * SECOND


def test_checkpoints_that_cost_little_are_not_missed() -> None:
    assert checkpoint_findings(one_stops_writing, waits=0.15) == []


def test_two_jobs_that_slow_each_other_collide() -> None:
    found = checkpoint_findings(both_at_once)
    colliding = {str(f.object) for f in found if f.kind is FindingKind.CHECKPOINT_COLLIDING}
    assert colliding == {"job:7", "job:8"}
