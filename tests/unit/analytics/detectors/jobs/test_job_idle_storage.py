"""A job that stands still beside a slow storage target or a server that is gone: else it is an ordinary checkpoint."""

from collections.abc import Callable

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry import objects
from telemetry.findings import Finding, FindingKind
from telemetry.series import series_key
from telemetry.topology import StorageTarget, TopologyFact
from tests.unit.analytics.models.jobs.test_checkpoints_engine import GPUS, JOBS, collection, facts, usual
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, down

TARGETS, SLOW_S, END_S = 4, 780, 870
Seconds = Callable[[int, int], float]  # (target, seconds since the start) -> of one operation


def idle_findings(seconds: Seconds, apart: bool = False, gone_s: int = END_S) -> list[Finding]:
    """What is found of jobs without kernels. They write to all targets for 20 s every two minutes.

    gone_s: from when on the server of all targets answers nobody.
    """
    engine, rng, found = Engine(CONFIG), np.random.default_rng(1), list[Finding]()
    served = [StorageTarget("scratch", f"OST000{target}", "oss0") for target in range(TARGETS)]
    engine.add_facts([*facts(apart), *(TopologyFact(one, START_NS - SECOND, "inventory") for one in served)])
    counters = np.zeros((TARGETS, 3))
    names = ("written_bytes_total", "operation_duration_seconds_sum", "operation_duration_seconds_count")
    keys = [
        series_key(
            f"storage_{name}",
            {"device": "oss0", "system": "lustre", "fs": "scratch", "target": f"OST000{target}", "side": "server"}
            | ({} if name == names[0] else {"op": "write"}),
        )
        for target in range(TARGETS)
        for name in names
    ]
    for seq in range(END_S // INTERVAL_S):
        at_s = seq * INTERVAL_S
        writing = [job for job in JOBS if usual(job, at_s)]
        for target in range(TARGETS):
            done = 6000.0 if writing else 300.0
            if seconds(target, at_s) > 0.1:
                done /= 16.0
            counters[target] += (done * 2**20, done * seconds(target, at_s), done)
        answer = collection("oss0", keys, seq, counters.ravel().tolist())
        engine.observe(answer if at_s < gone_s else down(answer.table, seq))
        for job, nodes in JOBS.items():
            busy = 0.02 if job in writing else 1.0
            for node in nodes:
                gpus = [{"device": node, "gpu": f"GPU-{node}-{n}"} for n in range(GPUS)]
                metrics = ("gpu_tensor_active_ratio", "gpu_utilization_ratio", "gpu_energy_joules_total")
                own = [series_key(metric, gpu) for gpu in gpus for metric in metrics]
                active = [0.4 * busy * rng.normal(1, 0.02) for _ in gpus]
                engine.observe(collection(node, own, seq, [v for share in active for v in (share, busy, 1e3 * seq)]))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    return [each for each in found if each.kind in (FindingKind.JOB_IDLE, FindingKind.STORAGE_SLOW)]


def one_gets_slow(target: int, at_s: int) -> float:
    return 0.4 if target == 2 and at_s >= SLOW_S - 20 else 0.02


def test_a_job_that_stands_still_beside_a_slow_target_waits_for_it_at_once() -> None:
    """It has written for one sample, and its checkpoints take two."""
    found = idle_findings(one_gets_slow)
    slow = next(each for each in found if each.kind is FindingKind.STORAGE_SLOW)
    idle = [each for each in found if each.kind is FindingKind.JOB_IDLE]
    assert {each.object for each in idle} == {objects.job("7"), objects.job("8")}
    assert idle[0].onset_ns == START_NS + SLOW_S * SECOND
    assert idle[0].observed_ns <= max(idle[0].onset_ns, slow.observed_ns) + INTERVAL_S * SECOND


@pytest.mark.parametrize(("apart", "waiting"), [(False, {"7", "8"}), (True, {"7"})])
def test_a_job_that_stands_still_while_a_server_of_its_files_is_gone_waits_for_it(
    apart: bool, waiting: set[str]
) -> None:
    found = idle_findings(lambda target, at_s: 0.02, apart, gone_s=SLOW_S - 60)
    assert {str(each.object).removeprefix("job:") for each in found if each.kind is FindingKind.JOB_IDLE} == waiting
    assert min(each.onset_ns for each in found) == START_NS + SLOW_S * SECOND


def test_who_writes_to_another_file_system_goes_on_as_always() -> None:
    found = idle_findings(one_gets_slow, apart=True)
    assert {each.object for each in found if each.kind is FindingKind.JOB_IDLE} == {objects.job("7")}


def test_a_checkpoint_of_the_usual_length_to_targets_that_are_well_is_no_waiting() -> None:
    assert idle_findings(lambda target, at_s: 0.02) == []
