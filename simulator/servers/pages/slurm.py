"""Slurm's jobs: slurmrestd's ``/slurm/v0.0.41/jobs``, the shape that ``squeue --json`` has too."""

import re
from typing import Any

import orjson

from common.units import NS_PER_S
from simulator.compute.record import RunningJob
from simulator.counters.readings import Readings

PATH = "/slurm/v0.0.41/jobs"
_TRAILING_NUMBER = re.compile(r"(.*?)(\d+)")


def jobs_document(readings: Readings, gpus_per_node: int = 8) -> str:
    """The JSON body, all running jobs; numbers are ``{set, infinite, number}`` objects as since data parser 0.0.40."""
    body = {
        "jobs": [_job(job, gpus_per_node) for job in readings.jobs],
        "last_backfill": _number(0),
        "last_update": _number(readings.now_ns // NS_PER_S),
        "meta": {
            "plugin": {
                "type": "openapi/slurmctld",
                "name": "Slurm OpenAPI slurmctld",
                "data_parser": "data_parser/v0.0.41",
            },
            "slurm": {"version": {"major": "24", "micro": "5", "minor": "05"}, "release": "24.05.5", "cluster": "sim"},
        },
        "errors": [],
        "warnings": [],
    }
    return orjson.dumps(body).decode()


def _job(job: RunningJob, gpus_per_node: int) -> dict[str, Any]:
    indices = job.gpu_indices or tuple(range(gpus_per_node))
    count = len(indices) if job.uses_gpus else 0
    hosts = len(job.nodes)
    return {
        "account": "research",
        "batch_host": job.nodes[0] if job.nodes else "",
        "cluster": "sim",
        "end_time": _number(job.ends_ns // NS_PER_S),
        "gres_detail": [f"gpu:{count}(IDX:{_ranges(indices)})"] * hosts if job.uses_gpus else [],
        "job_id": int(job.job_id) if job.job_id.isdigit() else job.job_id,
        "job_resources": {"nodes": {"count": hosts, "list": compressed(job.nodes)}},
        "job_state": ["RUNNING"],
        "name": job.name,
        "node_count": _number(hosts),
        "nodes": compressed(job.nodes),
        "partition": job.partition,
        "start_time": _number(job.started_ns // NS_PER_S),
        "submit_time": _number(job.started_ns // NS_PER_S),
        "tres_alloc_str": f"node={hosts}" + (f",gres/gpu={hosts * count}" if job.uses_gpus else ""),
        "user_id": 1000,
        "user_name": job.user,
    }


def _number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def compressed(nodes: tuple[str, ...]) -> str:
    """Node names as Slurm writes them.

    >>> compressed(("node1", "node2", "node3", "node7", "oss1"))
    'node[1-3,7],oss1'
    """
    by_stem: dict[str, list[int]] = {}
    for node in nodes:
        found = _TRAILING_NUMBER.fullmatch(node)
        by_stem.setdefault(found[1] if found else node, []).extend([int(found[2])] if found else [])
    parts = []
    for stem, numbers in by_stem.items():
        text = _ranges(tuple(sorted(numbers)))
        parts.append(stem + (f"[{text}]" if len(numbers) > 1 else text))
    return ",".join(parts)


def _ranges(numbers: tuple[int, ...]) -> str:
    """
    >>> _ranges((0, 1, 2, 5))
    '0-2,5'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
