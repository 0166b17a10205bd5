"""From Slurm's job list as JSON, in the forms of its versions, to running jobs. Pure.

Versions differ: a number may be ``{"set": true, "infinite": false, "number": 5}`` (since 22.05, more fields each
release), a state may be a list (since 23.02), nodes may be text or an object.
"""

import re
from collections.abc import Mapping
from typing import Any

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.hostlist import expand, indices
from ingest.collectors.job_list import JobList
from ingest.collectors.slurm.document import entries
from telemetry.objects import EVENT_TIME_MAX, NAME_CHARS_MAX
from telemetry.topology import Job

_SECONDS_MAX = EVENT_TIME_MAX // NS_PER_S
_IDX = re.compile(r"\bgpu(?::[^(,]*)?\(IDX:([0-9,-]+)\)")


def parse_jobs(body: bytes, *, gpu_jobs_only: bool = True) -> JobList:
    """BadInput when the document is no job list. An entry that cannot be read is counted, the others are used."""
    running: dict[str, Job] = {}
    ended: dict[str, int] = {}
    malformed = 0
    for entry in entries(body, "jobs"):
        try:
            job, ended_ns = _job(entry), time_ns(entry.get("end_time"))
        except (BadInput, KeyError, TypeError, ValueError, AttributeError, OverflowError):
            malformed += 1
            continue
        if not _is_running(entry):
            if "PENDING" not in _states(entry):
                ended[job.job_id] = ended_ns
        elif job.nodes and not (gpu_jobs_only and _has_no_gpu(entry)):
            running[job.job_id] = job
    return JobList(running, ended, malformed)


def _job(entry: Mapping[str, Any]) -> Job:
    job_id = entry["job_id"]
    job = Job(
        job_id=str(_number(job_id) if isinstance(job_id, dict) else job_id),
        nodes=expand(_nodes(entry)),
        name=str(entry.get("name") or ""),
        user=str(entry.get("user_name") or ""),
        partition=str(entry.get("partition") or ""),
        gpu_indices=_gpus(entry),
        started_ns=time_ns(entry.get("start_time")),
    )
    if not all(0 < len(name) <= NAME_CHARS_MAX for name in (job.job_id, *job.nodes)):
        raise BadInput(f"job {job.job_id[:80]!r}: names of 1 to {NAME_CHARS_MAX} characters expected", "bad_format")
    return job


def _number(value: object) -> int:
    """A plain number or an object; 0 when it is not set or infinite."""
    if isinstance(value, dict):
        return int(value.get("number") or 0) if value.get("set", True) and not value.get("infinite") else 0
    return int(value) if isinstance(value, int | float | str) and value != "" else 0


def time_ns(value: object) -> int:
    """0 when it is not set. BadInput for what columns do not hold."""
    seconds = _number(value)
    if not 0 <= seconds <= _SECONDS_MAX:
        raise BadInput(f"time {seconds}: expected seconds since the Unix epoch", "bad_format")
    return seconds * NS_PER_S


def _states(entry: Mapping[str, Any]) -> set[str]:
    states = entry.get("job_state")
    return {str(state).upper() for state in states} if isinstance(states, list) else {str(states).upper()}


def _is_running(entry: Mapping[str, Any]) -> bool:
    states = _states(entry)
    return "RUNNING" in states and "COMPLETING" not in states


def _nodes(entry: Mapping[str, Any]) -> str:
    for nodes in (entry.get("nodes"), (entry.get("job_resources") or {}).get("nodes")):
        if isinstance(nodes, dict):
            nodes = nodes.get("list")
        if isinstance(nodes, str) and nodes not in ("", "(null)"):
            return nodes
    return ""


def _gpus(entry: Mapping[str, Any]) -> tuple[int, ...]:
    """GPU indices of the job on its nodes; where nodes differ, those of any node. () where Slurm does not list them."""
    found: set[int] = set()
    for text in entry.get("gres_detail") or ():
        for match in _IDX.finditer(str(text)):
            found.update(indices(match[1]))
    return tuple(sorted(found))


def _has_no_gpu(entry: Mapping[str, Any]) -> bool:
    """Whether Slurm lists the job's resources, and no GPU is among them."""
    resources = str(entry.get("tres_alloc_str") or "")
    return bool(resources) and "gres/gpu" not in resources and not _gpus(entry)
