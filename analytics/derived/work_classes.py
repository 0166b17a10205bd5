"""The work class of each job, from telemetry alone: do its GPUs wait for each other, or does each work for itself?

Two things are shown apart. GPUs of one host are read at the same moment, so each collection is a round: their activity
moves together in lockstep, with the phase of the step at least. Hosts are read at different moments of a step; their
mean power between two collections, from the energy counter, does not depend on the moment.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.models.group_medians import group_medians
from analytics.models.jobs import coherence
from analytics.models.jobs.coherence import CLASS, LEVEL, ROUNDS, SIZE, WorkClass
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.derived import WorkClasses
from analytics.view.tick_view import Column, TickView
from telemetry.topology import Job

ACTIVITIES = ("gpu_sm_active_ratio", "gpu_tensor_active_ratio", "gpu_utilization_ratio")
ENERGY = "gpu_energy_joules_total"
COLUMNS = (
    MemoryColumn("tag"),
    MemoryColumn("lead"),
    MemoryColumn("usual"),
    MemoryColumn("host", coherence.WIDTH),
    MemoryColumn("across", coherence.WIDTH),
    MemoryColumn("held"),
    MemoryColumn("steady"),
)
_LEAD_WEIGHT = 0.3  # of the newest sample: the mean of the last three or so
_USUAL_WEIGHT = 1.0 / 360.0  # an hour at ten seconds: what lasts is how the work is divided, or becomes it
_LEVEL_MIN = 0.02  # of the time: less is no activity
_USUAL_ROUNDS = 12  # before that its level is no usual one: it may have been slow from the start
_NAMES_MAX = 4096
# Of its usual power: with less a job pauses as a whole (assumption). Hosts are read at different moments of that, so it
# is in the mean of some and not of others, also in the round before it and the one after: no contradiction.
_PAUSES_BELOW = 0.8
_STEADY_ROUNDS = 3.0  # this one, the one that is learned, and the one before that


class Names:
    """What the newest job of each user and name has shown: most tasks of a shared cluster run again and again (65 % at
    least five times: Weng et al., MLaaS in the wild, NSDI 2022), and a new job has shown nothing for a minute.
    """

    def __init__(self, shown: Mapping[str, Sequence[float]] | None = None) -> None:
        self.shown = {name: (int(known[0]), float(known[1])) for name, known in (shown or {}).items()}

    def update(
        self, jobs: Sequence[Job], classes: NDArray[np.int64], within: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
        """Classes and coherence of all jobs, with what earlier ones have shown, and whose are of earlier ones."""
        for at in np.flatnonzero((classes != WorkClass.UNKNOWN) & ~np.isnan(within)).tolist():
            name = _name(jobs[at])
            self.shown.pop(name, None)  # the newest is the last
            self.shown[name] = (int(classes[at]), round(float(within[at]), 3))
        while len(self.shown) > _NAMES_MAX:
            del self.shown[next(iter(self.shown))]
        classes, within, inherited = classes.copy(), within.copy(), np.zeros(classes.size, bool)
        for at in np.flatnonzero(classes == WorkClass.UNKNOWN).tolist():
            known = self.shown.get(_name(jobs[at]))
            if known is not None:
                (classes[at], within[at]), inherited[at] = known, True
        return classes, within, inherited


def _name(job: Job) -> str:
    """Jobs without user or name are known by their id alone."""
    return f"{job.user}/{job.name}" if job.user and job.name else f"/{job.job_id}"


def learn(view: TickView, memory: Memory, busy: Column, job: NDArray[np.int64]) -> None:
    """This tick's rounds. busy: utilisation, one series a GPU, whose sids are the rows of ``memory`` (``COLUMNS``).

    job: int64[len(busy)], position of the settled job that a GPU is in, else -1.
    """
    rows = memory.rows(busy.sids)
    tags = job_tags(view, job)
    moved = (job >= 0) & (memory["tag"][rows] != tags)  # what another job has shown says nothing about this one
    for name in ("host", "across", "lead", "usual", "held", "steady"):
        memory[name][rows[moved]] = 0.0
    memory["tag"][rows[moved]] = tags[moved]
    activity = _activity(view, busy)
    new = np.flatnonzero(busy.new & busy.fresh & (job >= 0) & ~np.isnan(activity))
    hosts = job[new] * (1 + len(view.index.targets)) + busy.targets[new]
    _learn(memory["host"], rows[new], hosts, activity[new])
    ahead, reported = activity[new] - group_medians(hosts, activity[new]), view.reported.take(busy.sids[new])
    _follow_lead(memory, rows[new], ahead, reported)
    if view.end_ns // view.config.interval_ns == (view.end_ns - view.config.tick_ns) // view.config.interval_ns:
        return
    energy = view.column(ENERGY)
    watts = energy.only(energy.fresh).about(busy.objects)
    memory["steady"][rows[np.isnan(watts)]] = 0.0
    known = np.flatnonzero((job >= 0) & ~np.isnan(watts))
    _learn_across(memory, rows[known], job[known], watts[known])


def _learn_across(memory: Memory, rows: NDArray[np.int64], job: NDArray[np.int64], watts: NDArray[np.float64]) -> None:
    """One round of the hosts of each job, one late: until it is known whether the job pauses in the next one.

    Of a job of which each host has one GPU, what its hosts do together is all that it shows: it never counts as paused.
    """
    held, state = memory["held"][rows], memory["across"][rows]
    with np.errstate(divide="ignore"):
        share = np.where(state[:, LEVEL] > 0.0, watts / state[:, LEVEL], 1.0)
    pauses = (memory["host"][rows, SIZE] >= 2) & (group_medians(job, share) < _PAUSES_BELOW)
    steady = np.where(pauses, 0.0, memory["steady"][rows] + 1.0)
    memory["held"][rows], memory["steady"][rows] = watts, steady
    shown, other = steady >= _STEADY_ROUNDS, (steady < _STEADY_ROUNDS) & (held > 0.0)
    passed = state[other]
    coherence.follow(passed, held[other])
    memory["across"][rows[other]] = passed
    _learn(memory["across"], rows[shown], job[shown], held[shown])


def classified(view: TickView, memory: Memory, busy: Column, names: Names) -> WorkClasses:
    """What is known after this tick. names: what was shown by earlier jobs; it learns what this tick shows."""
    rows = memory.rows(busy.sids)
    jobs, position = len(view.topology_index.jobs), view.topology_index.job[busy.objects]
    position = np.where(memory["tag"][rows] == job_tags(view, position), position, -1)
    of_job, job = np.flatnonzero(position >= 0), position[position >= 0]
    host, across = memory["host"][rows[of_job]], memory["across"][rows[of_job]]
    hosts = _by_class(job, host[:, CLASS], jobs)
    between = _by_class(job, np.where(_several(job, busy.targets[of_job], jobs)[job], across[:, CLASS], 0.0), jobs)
    alone = np.bincount(job, host[:, SIZE] < 2, jobs) == hosts.sum(axis=1)  # hosts with one GPU of the job each
    classes = _classes(hosts, between, alone)
    within = _medians(job, coherence.coherence(host), jobs)
    classes, within, inherited = names.update(view.topology_index.jobs, classes, within)
    size = view.topology_index.job.size
    lockstep, lead = np.full(size, -1, np.int64), np.full(size, np.nan)
    mine = (classes[job] == WorkClass.LOCKSTEP) & (host[:, CLASS] <= WorkClass.LOCKSTEP)
    lockstep[busy.objects[of_job[mine]]] = job[mine]
    compared = (host[:, SIZE] >= 2) & (host[:, ROUNDS] >= _USUAL_ROUNDS)
    lead[busy.objects[of_job[compared]]] = (memory["lead"] - memory["usual"])[rows[of_job[compared]]]
    between_hosts = _medians(job, coherence.coherence(across), jobs)
    apart = _medians(job, coherence.differs(host), jobs)
    return WorkClasses(classes, within, between_hosts, apart, inherited, lockstep, lead)


def job_tags(view: TickView, job: NDArray[np.int64]) -> NDArray[np.int64]:
    """Permanent number of each one's job, 0 without one."""
    return np.append(view.topology_index.groups["job"].tags, 0)[job]


def _activity(view: TickView, busy: Column) -> NDArray[np.float64]:
    """The best measure of activity that each GPU has now, NaN without one."""
    found = np.full(len(busy), np.nan)
    for metric in ACTIVITIES:
        column = view.column(metric)
        if len(column):
            found = np.where(np.isnan(found), column.only(column.fresh).about(busy.objects), found)
    return found


def _learn(
    states: NDArray[np.float64], rows: NDArray[np.int64], groups: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    """As ``coherence.learn``, of some rows."""
    state = states[rows]
    coherence.learn(state, groups, values)
    states[rows] = state


def _follow_lead(
    memory: Memory, rows: NDArray[np.int64], ahead: NDArray[np.float64], reported: NDArray[np.bool_]
) -> None:
    """Learns by how much more than the median of its host each GPU does, for now and as usual.

    reported: bool[k], those with a finding. What they do now is not usual, though a job may have begun under it.
    """
    host = memory["host"][rows]
    part = ahead / np.maximum(_LEVEL_MIN, host[:, LEVEL])
    memory["lead"][rows] += np.maximum(_LEAD_WEIGHT, 1.0 / host[:, ROUNDS]) * (part - memory["lead"][rows])
    weight = np.where(reported, 0.0, np.maximum(_USUAL_WEIGHT, 1.0 / host[:, ROUNDS]))
    memory["usual"][rows] += weight * (part - memory["usual"][rows])


def _by_class(job: NDArray[np.int64], classes: NDArray[np.float64], jobs: int) -> NDArray[np.int64]:
    """int64[jobs, classes]: GPUs of each job."""
    size = len(WorkClass)
    return np.bincount(job * size + classes.astype(np.int64), minlength=jobs * size).reshape(jobs, size)


def _several(job: NDArray[np.int64], targets: NDArray[np.int32], jobs: int) -> NDArray[np.bool_]:
    """bool[jobs]: whether more than one host works for it."""
    least, most = np.full(jobs, np.iinfo(np.int32).max), np.full(jobs, -1)
    np.minimum.at(least, job, targets)
    np.maximum.at(most, job, targets)
    return np.asarray(most > least)


def _classes(hosts: NDArray[np.int64], between: NDArray[np.int64], alone: NDArray[np.bool_]) -> NDArray[np.int64]:
    """What is shown of most GPUs of a job, unless its hosts show that they do not wait for each other.

    hosts, between: int64[jobs, classes], GPUs by what their host shows, and by what the hosts of the job show together.
    """
    members = hosts.sum(axis=1)
    most = 2 * hosts > members[:, None]
    apart = 2 * (between[:, WorkClass.INDEPENDENT] + between[:, WorkClass.MIXED]) > members
    known = 2 * hosts[:, WorkClass.LOCKSTEP :].sum(axis=1) > members
    together = most[:, WorkClass.LOCKSTEP] | (alone & (2 * between[:, WorkClass.LOCKSTEP] > members))
    shown = [together & ~apart, most[:, WorkClass.INDEPENDENT], known]
    return np.select(shown, [WorkClass.LOCKSTEP, WorkClass.INDEPENDENT, WorkClass.MIXED], WorkClass.UNKNOWN)


def _medians(job: NDArray[np.int64], values: NDArray[np.float64], jobs: int) -> NDArray[np.float64]:
    found = np.full(jobs, np.nan)
    found[job] = group_medians(job, values)
    return found
