"""Faults of the file system, of its servers, and of what writes to it."""

import math

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.faults.base import Fault
from simulator.layout import Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device, job, storage_target


class SlowStorageTarget(Fault):
    """A storage target serves a small part of its rated throughput (a RAID rebuild): striped files wait for it.

    6 %: assumption.
    """

    name = "slow-storage-target"
    kind = IncidentKind.SLOW_STORAGE
    target_form = "file system/target"
    SPEED = 0.06
    index = -1

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return [f"{layout.filesystem}/{t.name}" for t in layout.targets]

    @property
    def root(self) -> ObjectRef:
        layout = self.machine.layout
        return storage_target(layout.filesystem, layout.targets[self.index].name)

    def begin(self) -> None:
        names = self.targets(self.machine.layout)
        self.index = self.choose(range(len(names)), names)
        self.hold(self.machine.storage.speed, self.index, min(1.0, self.SPEED / self.strength), math.prod)

    def end(self) -> None:
        self.release()


class LateCheckpoint(Fault):
    """A checkpoint is due and one host writes its part very slowly (lock contention): the job waits for it.

    0.1 GB/s: assumption.
    """

    name = "late-checkpoint"
    kind = IncidentKind.LATE_CHECKPOINT
    target_form = "host with a running job that writes checkpoints"
    intermittent = False
    BYTES_PER_S = 0.1e9
    SOON_S = 5.0
    host = -1
    job_id = ""

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.hosts)

    @property
    def root(self) -> ObjectRef:
        return job(self.job_id)

    @property
    def reach(self) -> tuple[str, ...]:
        return (self.machine.layout.hosts[self.host],)

    def begin(self) -> None:
        hosts = self.machine.layout.hosts
        writing = [run for run in self.machine.jobs.running if run.next_checkpoint_ns]
        runs = {host: run for run in writing for host in sorted(run.members.hosts)}
        if not runs:
            raise ConfigError(f"{self.name}: no target {self.target!r}, expected a {self.target_form}")
        self.host = self.choose(list(runs), [hosts[host] for host in runs])
        self.hold(self.machine.storage.client_speed, self.host, self.BYTES_PER_S / self.strength, min)
        run = runs[self.host]
        self.job_id = run.record.job_id
        soon_ns = self.machine.now_ns + int(self.SOON_S * NS_PER_S)
        run.next_checkpoint_ns = min(run.next_checkpoint_ns, soon_ns)

    def end(self) -> None:
        self.release()


class StorageServerDown(Fault):
    """A storage server dies: its targets answer nobody, its NICs are dark. Files are striped over all targets, so
    everybody who reads or writes waits for it. There is no failover partner.
    """

    name = "storage-server-down"
    kind = IncidentKind.DEVICE_DOWN
    target_form = "storage server"
    server = ""

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.servers)

    @property
    def root(self) -> ObjectRef:
        return device(self.server)

    def begin(self) -> None:
        servers = self.machine.layout.servers
        self.server = self.choose(servers, servers)
        self.machine.power([self.server], False, "")

    def end(self) -> None:
        self.machine.power([self.server], True, "")
