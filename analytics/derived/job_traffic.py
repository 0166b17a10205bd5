"""What the hosts of each job send, against the job's own past: a slow job sends less, one that hangs sends nothing.

By the NICs' own counters of InfiniBand and RoCE; of a host without these by the ports of the switches that it is
connected to. The counters of the network driver say nothing, as RDMA bypasses it. A job on one host sends nothing at
any time, and of one with a host that nobody counts nothing is known.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.jobs.job_work import JobWork
from analytics.models.jobs.sending import Sending
from analytics.snapshot.stateful import State
from analytics.view.tick_view import Column, TickView
from telemetry.objects import ObjectKind, parse_object
from telemetry.topology import Link

SENT, RECEIVED = "ib_port_transmit_bytes_total", "fabric_port_receive_bytes_total"
_BUSY, _TENSOR, _SM = "gpu_utilization_ratio", "gpu_tensor_active_ratio", "gpu_sm_active_ratio"
_HOSTS_MIN = 2
_KNOWN_SHARE = 0.9  # of its NICs, and of its GPUs, must have fresh values; an assumption
# As for a hung GPU: a kernel that polls keeps an eighth of the SMs active, and no tensor core.
_BUSY_MIN, _TENSOR_MAX, _SM_MAX = 0.95, 0.02, 0.2
_PORT = f"{ObjectKind.PORT}:"
IMPOSED_BY = ("link_down", "target_silent", "target_cut_off", "gpu_lost", "gpu_hung", "pause_storm")
"""Detectors whose findings, about a host or a switch that it is connected to, say why a job may send nothing."""


class _Nics(NamedTuple):
    """Series of what the hosts of jobs send. sids, jobs: int64[k], a series once for each job of its host."""

    sids: NDArray[np.int64]
    jobs: NDArray[np.int64]


class JobTraffic:
    """What each running job sends, by its id."""

    def __init__(self) -> None:
        self._jobs: dict[str, Sending] = {}

    def update(
        self, view: TickView, work: Mapping[str, JobWork], faulty: Collection[str] = ()
    ) -> Mapping[str, Sending]:
        """One tick; those of the running jobs of which enough is known now. work: of the running jobs. faulty: objects
        with new findings of ``IMPOSED_BY``."""
        self._jobs = {name: sending for name, sending in self._jobs.items() if name in work}
        nics = view.per_topology(_nics)
        fresh = view.fresh[nics.sids]
        jobs, size = nics.jobs[fresh], len(view.topology_index.jobs)
        sent, times_ns = view.series["value"][nics.sids[fresh]], view.series["value_ns"][nics.sids[fresh]]
        known, all_nics = np.bincount(jobs, minlength=size), np.bincount(nics.jobs, minlength=size)
        mean = np.bincount(jobs, sent, size) / np.maximum(1, known)
        busiest, newest_ns = np.zeros(size), np.zeros(size, np.int64)
        oldest_ns = np.full(size, np.iinfo(np.int64).max)
        np.maximum.at(busiest, jobs, sent)
        np.maximum.at(newest_ns, jobs, times_ns)
        np.minimum.at(oldest_ns, jobs, times_ns)
        polls, near = _polls(view, size), _near(view, faulty)
        for position in np.flatnonzero((known > 0) & (known >= _KNOWN_SHARE * all_nics)).tolist():
            name = view.topology_index.jobs[position].job_id
            before = self._jobs.get(name, Sending())
            if name not in work or oldest_ns[position] <= before.newest_ns:
                continue  # some of its NICs have not been collected again
            usual = work[name].slump == 0 and work[name].pace.low == 0
            self._jobs[name] = before.updated(
                int(newest_ns[position]),
                float(mean[position]),
                float(busiest[position]),
                works=usual,
                polls=bool(polls[position]),
                imposed=not near.isdisjoint(view.topology_index.jobs[position].nodes),
            )
        return {name: sending for name, sending in self._jobs.items() if sending.known(view.end_ns)}

    def state(self) -> State:
        return State({name: sending.as_json() for name, sending in self._jobs.items()}, {})

    def restore(self, state: State) -> None:
        self._jobs = {name: Sending.from_json(sending) for name, sending in state.head.items()}


def from_format_1(state: State) -> State:
    """Of before it was known why a job was silent: what was learned until then stays."""
    return state


def _near(view: TickView, faulty: Collection[str]) -> Set[str]:
    """These devices, and those that they are connected to."""
    known = {parse_object(name).device for name in faulty} - {""}
    ends = ({port.device for port in link.ports} for link in view.topology.entities(Link)) if known else ()
    return known.union(*(pair for pair in ends if not known.isdisjoint(pair)))


def _polls(view: TickView, size: int) -> NDArray[np.bool_]:
    """bool[jobs]: whether all GPUs of a job run kernels and compute nothing."""
    busy = view.column(_BUSY)
    busy = busy.only(busy.fresh & (view.topology_index.job[busy.objects] >= 0))
    job = view.topology_index.job[busy.objects]
    tensor, sm = (_about(view.column(metric), busy) for metric in (_TENSOR, _SM))
    active = np.fmax(tensor / _TENSOR_MAX, sm / _SM_MAX)  # NaN where neither is known
    waits = (busy.values >= _BUSY_MIN) & (active < 1.0)
    members = np.bincount(view.topology_index.job[view.topology_index.job >= 0], minlength=size)
    known, polling = np.bincount(job, minlength=size), np.bincount(job, waits, size)
    return np.asarray((known > 0) & (known >= _KNOWN_SHARE * members) & (polling == known))


def _about(column: Column, gpus: Column) -> NDArray[np.float64]:
    return column.only(column.fresh).about(gpus.objects)


def _nics(view: TickView) -> _Nics:
    """Of jobs on several hosts, each with a series. By name: once for a topology."""
    sids_of = view.per_physical(series_of_hosts)
    sids: list[int] = []
    jobs: list[int] = []
    for position, job in enumerate(view.topology_index.jobs):
        hosts = sorted(set(job.nodes))
        if len(hosts) < _HOSTS_MIN or not all(host in sids_of for host in hosts):
            continue
        mine = [sid for host in hosts for sid in sids_of[host]]
        sids += mine
        jobs += [position] * len(mine)
    return _Nics(np.array(sids, np.int64), np.array(jobs, np.int64))


def series_of_hosts(view: TickView) -> Mapping[str, list[int]]:
    """By host: what it sends by its own NICs, else what its switches receive from it."""
    own, ports = view.column(SENT), view.column(RECEIVED)
    names = view.index.objects.names
    found: defaultdict[str, list[int]] = defaultdict(list)
    for sid, number in zip(own.sids.tolist(), own.objects.tolist(), strict=True):
        found[names[number].removeprefix(_PORT).partition("/")[0]].append(sid)
    switches: defaultdict[str, list[int]] = defaultdict(list)
    sid_of = dict(zip(ports.objects.tolist(), ports.sids.tolist(), strict=True))
    for link in view.topology.entities(Link):
        for here, there in (link.ports, link.ports[::-1]):
            sid = sid_of.get(view.index.objects.get(str(there)))
            if sid is not None:
                switches[here.device].append(sid)
    return {**switches, **found}
