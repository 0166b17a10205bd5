"""What Slurm reports of a job: hosts, GPUs and times as slurmrestd writes them."""

from typing import Any

import orjson
import pytest

from common.units import NS_PER_S
from simulator.compute.record import RunningJob
from simulator.config import SimulatorConfig
from simulator.counters.readings import blank_readings
from simulator.servers.pages.slurm import jobs_document
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=4, gpus_per_host=2))


def reported(*jobs: RunningJob, gpus_per_node: int = 8) -> dict[str, Any]:
    readings = blank_readings(LAYOUT, 1_795_000_000 * NS_PER_S + 999_999_999)
    readings.jobs.extend(jobs)
    found: dict[str, Any] = orjson.loads(jobs_document(readings, gpus_per_node))
    return found


def job(nodes: tuple[str, ...], gpus: tuple[int, ...] = (), job_id: str = "4711") -> RunningJob:
    found = RunningJob(job_id, "pretrain", "alice", "gpu", nodes, 1_700_000_000 * NS_PER_S, 1_700_003_600 * NS_PER_S)
    found.gpu_indices = gpus
    return found


def number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def test_times_are_whole_seconds() -> None:
    document = reported(job(("node1",)))
    assert document["last_update"] == number(1_795_000_000)
    (found,) = document["jobs"]
    assert (found["start_time"], found["end_time"]) == (number(1_700_000_000), number(1_700_003_600))


@pytest.mark.parametrize(
    ("gpus", "per_node", "detail", "count"),
    [
        ((), 8, "gpu:8(IDX:0-7)", 16),  # all of the host
        ((), 1, "gpu:1(IDX:0)", 2),
        ((0, 1, 2, 5), 8, "gpu:4(IDX:0-2,5)", 8),
    ],
)
def test_gpus_are_listed_by_index_for_each_host(gpus: tuple[int, ...], per_node: int, detail: str, count: int) -> None:
    (found,) = reported(job(("node1", "node2"), gpus), gpus_per_node=per_node)["jobs"]
    assert found["gres_detail"] == [detail, detail]
    assert found["tres_alloc_str"] == f"node=2,gres/gpu={count}"
    assert found["node_count"] == number(2)


@pytest.mark.parametrize(("job_id", "expected"), [("4711", 4711), ("4711_3", "4711_3")])
def test_an_id_is_a_number_where_it_can_be(job_id: str, expected: object) -> None:
    assert reported(job(("node1",), job_id=job_id))["jobs"][0]["job_id"] == expected


def test_a_job_without_hosts_and_no_jobs_at_all_are_valid() -> None:
    (found,) = reported(job(()))["jobs"]
    assert (found["batch_host"], found["nodes"], found["gres_detail"]) == ("", "", [])
    assert reported()["jobs"] == reported()["errors"] == []
