"""Which program ran on a GPU when something happened there. For rare events: it looks through all jobs."""

from telemetry.objects import ObjectRef
from telemetry.topology import Gpu, Job, Topology


def job_at(topology: Topology, gpu: ObjectRef, since_ns: int, at_ns: int) -> Job | None:
    """The job on a GPU at an event between two samples; one that ended then comes before one that went on.

    The end of a job is known as often as somebody asks for it, so it may seem to end later than it did. None where no
    job is known, or where several share the host and nothing says which GPU is whose.
    """
    device, (_, _, uuid) = gpu.device, gpu.name.partition("/")
    index = next((one.index for one in topology.entities(Gpu) if one.uuid == uuid and one.device == device), None)
    there: list[tuple[bool, int, str, Job]] = []
    for job, fact in topology.jobs:
        if device not in job.nodes or job.started_ns > at_ns:
            continue
        if fact.gone and fact.observed_ns < since_ns:
            continue
        if job.gpu_indices and (index is None or index not in job.gpu_indices):
            continue
        there.append((fact.gone and fact.observed_ns <= at_ns, job.started_ns, job.job_id, job))
    ended = [one for one in there if one[0]]
    if ended:
        return max(ended, key=lambda one: one[:3])[3]
    return there[0][3] if len(there) == 1 else None


def program_of(job: Job) -> str:
    """What two jobs have in common that fail for the same reason: their user, else their name."""
    return job.user or job.name or job.job_id
