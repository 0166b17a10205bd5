"""Faults of a job's software."""

from common.errors import ConfigError
from simulator.compute.jobs import JobRun
from simulator.faults.base import Fault
from simulator.layout import Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, job


class NcclHang(Fault):
    """A collective never completes (ranks disagree about its order or size): every rank polls, GPUs look busy, and no
    counter of any hardware shows anything. Its end is NCCL's watchdog, which kills the job.

    NCCL watchdog timeouts without another cause were 1.7 % of the interruptions of Llama 3 (2024, table 5); MegaScale
    (Jiang et al., NSDI 2024) finds which ranks hang by their own events, as counters do not tell.
    """

    name = "nccl-hang"
    kind = IncidentKind.JOB_HANG
    target_form = "host with a running job that trains"
    intermittent = False
    host = -1
    run: JobRun

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.hosts)

    @property
    def root(self) -> ObjectRef:
        return job(self.run.record.job_id)

    @property
    def reach(self) -> tuple[str, ...]:
        return self.run.record.nodes

    def begin(self) -> None:
        hosts = self.machine.layout.hosts
        training = [run for run in self.machine.jobs.running if isinstance(run, JobRun)]
        runs = {host: run for run in training for host in sorted(run.members.hosts)}
        if not runs:
            raise ConfigError(f"{self.name}: no target {self.target!r}, expected a {self.target_form}")
        self.host = self.choose(list(runs), [hosts[host] for host in runs])
        self.run = runs[self.host]
        self.run.hung = True

    def end(self) -> None:
        for slot in self.machine.jobs.slots:
            if slot.job is self.run:
                self.machine.jobs.end(slot, self.machine.now_ns, "was killed by NCCL's watchdog")
