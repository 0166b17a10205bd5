"""What is known about jobs and changes: Slurm is polled, people announce maintenance or do not."""

from dataclasses import replace

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from telemetry.changes import Change, ChangeKind
from telemetry.topology import Job, TopologyFact

_JOB_KINDS = (ChangeKind.JOB_START, ChangeKind.JOB_END)


class ChangeFeed:
    """The facts and changes that are new since the last call.

    polled: whether jobs are known by polls of Slurm alone. Else everything is known at once. jobs_known: False where
    nobody says anything about jobs.
    """

    def __init__(
        self, cluster: SimulatedCluster, polled: bool, maintenance_announced: bool, jobs_known: bool = True
    ) -> None:
        self._cluster, self._polled, self._announced = cluster, polled, maintenance_announced
        self._jobs_known = jobs_known
        self._known: set[tuple[str, bool]] = set()
        self._running: dict[str, TopologyFact] = {}
        self._changes_seen = self._cables_seen = 0
        self._of_jobs: list[Change] = []

    def changes(self) -> list[Change]:
        """Changes that nobody has to be asked for."""
        new = self._cluster.changes[self._changes_seen :]
        self._changes_seen += len(new)
        if not self._announced:
            new = [change for change in new if change.kind is not ChangeKind.MAINTENANCE]
        if not self._jobs_known:
            return [change for change in new if change.kind not in _JOB_KINDS]
        if not self._polled:
            return new
        self._of_jobs += [change for change in new if change.kind in _JOB_KINDS]
        return [change for change in new if change.kind not in _JOB_KINDS]

    def cables(self) -> list[TopologyFact]:
        """Links that LLDP has seen come and go: switches and hosts tell them without an inventory."""
        new = self._cluster.cable_facts[self._cables_seen :]
        self._cables_seen += len(new)
        return new

    def facts(self) -> list[TopologyFact]:
        """Of jobs that started or ended, where all is known at once."""
        if not self._jobs_known:
            return []
        new = [fact for fact in self._cluster.job_facts() if (fact.entity.key, fact.gone) not in self._known]
        self._known.update((fact.entity.key, fact.gone) for fact in new)
        return new

    def poll(self) -> tuple[list[TopologyFact], list[Change]]:
        """What a poll of the running jobs finds, as ingest/collectors/slurm does.

        A job that started and ended since the last poll is never seen. Facts have the time of the poll; changes those
        of Slurm's list, which are whole seconds.
        """
        now_ns = self._cluster.now_ns
        running = {fact.entity.key: fact for fact in self._cluster.job_facts() if not fact.gone}
        started = [fact for key, fact in running.items() if key not in self._running]
        ended = [
            replace(fact, observed_ns=now_ns, gone=True) for key, fact in self._running.items() if key not in running
        ]
        seen = {(ChangeKind.JOB_START, _job_id(fact)) for fact in started}
        seen |= {(ChangeKind.JOB_END, _job_id(fact)) for fact in ended}
        changes = [
            replace(change, starts_ns=change.starts_ns - change.starts_ns % NS_PER_S)
            for change in self._of_jobs
            if (change.kind, change.objects[0].name) in seen
        ]
        self._running, self._of_jobs = running, []
        return [*ended, *started], changes


def _job_id(fact: TopologyFact) -> str:
    assert isinstance(fact.entity, Job)
    return fact.entity.job_id
