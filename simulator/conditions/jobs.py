"""application-xids, user-crashes, cancelled-jobs: jobs that end early for reasons that no operator can repair."""

from abc import abstractmethod

import numpy as np

from simulator.compute.scheduler import Slot
from simulator.compute.work.base import Work
from simulator.conditions.base import Condition
from simulator.machine import Machine


class ApplicationXids(Condition):
    """A process makes an error on a GPU: the driver logs an XID and ends it, and so the job; the GPU is healthy.

    DCGM's field is the last code, so it stays until the driver is loaded again or another error comes. Codes that
    NVIDIA's XID catalogue ascribes to applications: 13 graphics engine exception, 31 memory page fault, 43 GPU stopped
    processing (the channel was reset), 45 preemptive cleanup (the process was killed with work on the GPU).
    """

    name = "application-xids"
    CODES, SHARES = (13, 31, 43, 45), (0.2, 0.4, 0.2, 0.2)  # assumption: 31 is the most frequent one in public logs
    CLEANUP, CLEANUP_SHARE = 45, 0.3  # the launcher kills the other ranks: assumption for how many were at work
    PER_HOST_HOUR = (
        0.4  # assumption: three in an hour of 8 busy hosts, many times the usual, so that campaigns see them
    )

    def step(self) -> None:
        if not self.every(1.0):
            return
        layout = self.machine.layout
        gpus_per_host = len(layout.gpus) // len(layout.hosts)
        for slot in self.machine.jobs.slots:
            if slot.job is None or not slot.job.members.gpus.size:
                continue
            hosts = slot.job.members.gpus.size / gpus_per_host  # jobs may share them
            odds = self.PER_HOST_HOUR * self.strength * hosts / 3600.0
            if self.rng.random() < odds:
                self._fail(slot, slot.job)

    def _fail(self, slot: Slot, job: Work) -> None:
        gpus = np.unique(job.members.gpus)
        killed = gpus[self.rng.random(gpus.size) < self.CLEANUP_SHARE]
        self.machine.gpus.xid[killed] = self.CLEANUP
        self.machine.gpus.xid[self.rng.choice(gpus)] = self.rng.choice(self.CODES, p=self.SHARES)
        self.machine.jobs.end(slot, self.machine.now_ns, "failed")


class _EndsEarly(Condition):
    """Decides for each job when it starts whether and when it will end before its time."""

    reason: str
    share: float  # of all jobs

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        self._ends_ns: dict[str, int] = {}  # by job that runs; 0: in its own time

    def step(self) -> None:
        if not self.every(1.0):
            return
        now_ns, known = self.machine.now_ns, self._ends_ns
        self._ends_ns = {}
        for slot in self.machine.jobs.slots:
            if slot.job is None:
                continue
            record = slot.job.record
            ends_ns = known.get(record.job_id, -1)
            if ends_ns < 0:
                ends_ns = record.started_ns + self._after_ns(slot.ends_ns - record.started_ns)
            if record.started_ns < ends_ns <= now_ns:
                self.machine.jobs.end(slot, now_ns, self.reason)
            else:
                self._ends_ns[record.job_id] = ends_ns

    def _after_ns(self, planned_ns: int) -> int:
        """Time after which a job of this planned length ends early, 0 if it does not."""
        if self.rng.random() >= self.share * self.strength:
            return 0
        return min(planned_ns, int(self.part() * planned_ns))

    @abstractmethod
    def part(self) -> float:
        """Part of the planned time after which the job ends."""


class UserCrashes(_EndsEarly):
    """Bugs, wrong settings, out of memory: about a quarter of the jobs fail, most of them soon.

    Unsuccessful jobs: 17 % in Philly (Jeon et al., ATC 2019), about a quarter in Meta's RSC-1 (Kokolis et al., HPCA
    2025), about 40 % in Acme (Hu et al., NSDI 2024). Times to failure span orders of magnitude, and user errors come
    early (Jeon et al., section 4.2): log-uniform from a hundredth of the planned time on (assumption).
    """

    name = "user-crashes"
    reason, share = "failed", 0.24
    EARLIEST = 0.01

    def part(self) -> float:
        return float(self.EARLIEST ** self.rng.random())


class CancelledJobs(_EndsEarly):
    """Somebody has seen enough: 13.5 % of the jobs are killed (Jeon et al.), at any time (uniform: assumption)."""

    name = "cancelled-jobs"
    reason, share = "cancelled", 0.135

    def part(self) -> float:
        return float(self.rng.random())
