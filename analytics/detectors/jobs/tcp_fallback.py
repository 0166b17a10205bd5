"""A host whose collectives go over TCP, through its kernel, while the others of its job use RDMA.

NCCL takes sockets, without an error, where it finds no RDMA device that it can use. RDMA bypasses the kernel, so what
the kernel carries is counted by the network interfaces, and what RDMA carries by the RDMA ports alone. Both ends of a
connection over sockets carry it in their kernels. So the host at fault is the one that has no RDMA left, and its
neighbours keep theirs with everybody else.

All interfaces count, also those that manage the host: sockets go over the one that NCCL_SOCKET_IFNAME names, which is
often no NIC of the fabric. That storage, images and shells use TCP too does no harm, as such a host goes on with RDMA.
The premises: the others of its job use RDMA at this moment, and its kernel carries about as much as a member of this
job does. A job that uses TCP everywhere has no host unlike the others.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.jobs.lockstep import lockstep_jobs
from analytics.detectors.spec import NO_VERDICTS, Detector, EvidenceColumns, Scope, Verdicts, computed_evidence
from analytics.models import baseline
from analytics.models.group_medians import group_medians
from analytics.state.memory import Memory
from analytics.view.quality import Quality
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind
from telemetry.series import series_key

RDMA = ("ib_port_receive_bytes_total", "ib_port_transmit_bytes_total")
KERNEL = ("nic_receive_bytes_total", "nic_transmit_bytes_total")
_HOSTS_MIN = 3  # of two hosts both ends carry everything in their kernels, and nothing distinguishes them
# A neighbour in a ring has one of its two connections over sockets, so half of its bytes; the host at fault has all. In
# the middle between them: three quarters of its bytes in the kernel, and of the others a quarter by RDMA.
_KERNEL_TIMES, _OTHERS_SHARE = 3.0, 0.25
# Of the bytes that a member of the job moves at this moment. In a collective all of them move about as many (ring
# all-reduce: 2(n-1)/n of the data each; Patarasuk and Yuan, 2009), in a tree a leaf moves a third of an inner node.
_BYTES_SHARE = 0.25
_RDMA_SHARE = 0.25  # of the others' RDMA: files may still be read over it
# By RDMA, of each of the others: what a job exchanges is gigabytes, what daemons of a host send tens of megabytes.
_BYTES_PER_SECOND_MIN = 100e6
_SETTLE_INTERVALS = 2.0  # after the start of a job: its hosts do not begin at once
_SCORE_MAX = 4.0
# In lockstep the others wait for it. Elsewhere it may be a host with work of its own, as one that generates for those
# that train.
CONFIDENCE, UNPROVED_CONFIDENCE = 0.85, 0.5
_LOOPBACK = "lo"
_PORT = f"{ObjectKind.PORT}:"
_MISSING = (Quality.STALE, Quality.FROZEN, Quality.RESET)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Series(NamedTuple):
    """sids: int64[k]; of: int64[k], the row of each one's host."""

    sids: Ints
    of: Ints


class _Members(NamedTuple):
    """Hosts that work for one job alone; h rows.

    numbers: int64[h], of their objects; jobs: int64[h], position of each one's in ``TopologyIndex.jobs``.
    """

    names: tuple[str, ...]
    numbers: Ints
    jobs: Ints
    rdma: _Series
    kernel: _Series


@dataclass(frozen=True, kw_only=True)
class TcpFallback(Detector):
    """Judges each host by what its kernel and its RDMA ports carry, beside the other hosts of its job."""

    name: str = "tcp_fallback"
    kind: FindingKind = FindingKind.TCP_FALLBACK
    metrics: tuple[str, ...] = (*KERNEL, *RDMA)
    scope: Scope = Scope.CLUSTER
    persist: int = 2
    fire_immediately_score: float = 2.0  # its kernel carries half of what a member moves

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        members = view.per_topology(_members)
        if not members.names:
            return [NO_VERDICTS]
        rdma, kernel = _carried(view, members, members.rdma), _carried(view, members, members.kernel, some=True)
        known = ~np.isnan(rdma + kernel)
        compared = np.bincount(members.jobs, known)[members.jobs]
        usual = group_medians(members.jobs, rdma)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = group_medians(members.jobs, rdma / (rdma + kernel))
            most = np.minimum(kernel / (_BYTES_SHARE * group_medians(members.jobs, rdma + kernel)), _SCORE_MAX)
            unlike = np.minimum(kernel / (_KERNEL_TIMES * rdma), _RDMA_SHARE * usual / rdma)
        judged = known & (compared >= _HOSTS_MIN) & _works(view, members)
        judged &= (usual >= _BYTES_PER_SECOND_MIN) & (others >= _OTHERS_SHARE)
        rows = np.flatnonzero(judged)
        if not rows.size:
            return [NO_VERDICTS]
        # The more of a job's bytes its kernel carries, the less it is only the neighbour at the end of a chain.
        score = np.where(unlike[rows] >= 1.0, most[rows], np.minimum(unlike[rows], most[rows]))
        score = np.nan_to_num(score)
        evidence = (
            _shown("kernel_network_bytes", members, rows, kernel, _levels(view, members, members.kernel)),
            _shown("rdma_bytes", members, rows, rdma, usual),
        )
        times_ns, cadence_s = _newest_ns(view, members)[rows], _cadence_s(view, members)[rows]
        numbers, breached = members.numbers[rows], score >= 1.0
        confidence = np.where(lockstep_jobs(view)[members.jobs[rows]], CONFIDENCE, UNPROVED_CONFIDENCE)
        return [Verdicts(numbers, times_ns, breached, score, evidence, confidence, cadence_s=cadence_s)]


def _carried(view: TickView, members: _Members, series: _Series, *, some: bool = False) -> Floats:
    """float64[h]: bytes a second, both ways; NaN where some of it is not known now.

    some: whether it is enough to know a part, as interfaces of containers come and go.
    """
    size = len(members.names)
    missing = np.isin(view.quality[series.sids], _MISSING)
    total = np.bincount(series.of, np.where(missing, 0.0, view.series["value"][series.sids]), size)
    known, needed = np.bincount(series.of, ~missing, size), 1 if some else np.bincount(series.of, minlength=size)
    return np.where(known >= needed, total, np.nan)


def _levels(view: TickView, members: _Members, series: _Series) -> Floats:
    """float64[h]: what is usual for the host itself; NaN while nothing was learned."""
    levels, size = baseline.levels(view.series["baseline"][series.sids]), len(members.names)
    learned = np.bincount(series.of, ~np.isnan(levels), size)
    return np.where(learned > 0, np.bincount(series.of, np.nan_to_num(levels), size), np.nan)


def _newest_ns(view: TickView, members: _Members) -> Ints:
    newest_ns = np.zeros(len(members.names), np.int64)
    for sids, of in (members.kernel, members.rdma):
        np.maximum.at(newest_ns, of, view.series["value_ns"][sids])
    return newest_ns


def _cadence_s(view: TickView, members: _Members) -> Floats:
    cadence_s = np.zeros(len(members.names))
    for sids, of in (members.kernel, members.rdma):
        np.fmax.at(cadence_s, of, view.cadence_s[sids])
    return cadence_s


def _works(view: TickView, members: _Members) -> NDArray[np.bool_]:
    """bool[h]: whether its job has begun to work and makes no pause: then what is moved are files."""
    works = np.zeros(len(view.topology_index.jobs), np.bool_)
    settled_ns = view.end_ns - round(_SETTLE_INTERVALS * view.config.interval_ns)
    for position in np.unique(members.jobs).tolist():
        job = view.topology_index.jobs[position]
        work = view.derived.jobs.get(job.job_id)
        works[position] = job.started_ns <= settled_ns and (work is None or not work.checkpoints.pause_ns)
    return works[members.jobs]


def _shown(name: str, members: _Members, rows: Ints, values: Floats, normals: Floats) -> EvidenceColumns:
    def key(row: int) -> str:
        return series_key(name, {"device": members.names[rows[row]]})

    return computed_evidence(values[rows], normals[rows], "bytes/s", key)


def _members(view: TickView) -> _Members:
    """By name: once for a topology."""
    rdma_of, kernel_of = view.per_physical(_rdma_of_hosts), view.per_physical(_kernel_of_hosts)
    jobs = view.topology_index.jobs
    users = Counter(host for job in jobs for host in set(job.nodes))
    number_of = view.index.objects.get
    found = [
        (position, host, number)
        for position, job in enumerate(jobs)
        for host in sorted(set(job.nodes))
        if host in rdma_of and host in kernel_of and users[host] == 1
        if (number := number_of(str(objects.device(host)))) is not None
    ]
    names = tuple(host for _, host, _ in found)
    numbers = np.array([number for _, _, number in found], np.int64)
    positions = np.array([position for position, _, _ in found], np.int64)
    return _Members(names, numbers, positions, _series(names, rdma_of), _series(names, kernel_of))


def _series(names: tuple[str, ...], sids_of: Mapping[str, list[int]]) -> _Series:
    sids = np.array([sid for name in names for sid in sids_of[name]], np.int64)
    return _Series(sids, np.repeat(np.arange(len(names)), [len(sids_of[name]) for name in names]))


def _rdma_of_hosts(view: TickView) -> Mapping[str, list[int]]:
    return _by_host(view, RDMA)


def _kernel_of_hosts(view: TickView) -> Mapping[str, list[int]]:
    return _by_host(view, KERNEL)


def _by_host(view: TickView, metrics: tuple[str, ...]) -> Mapping[str, list[int]]:
    names, found = view.index.objects.names, defaultdict[str, list[int]](list)
    for metric in metrics:
        column = view.column(metric)
        for sid, number in zip(column.sids.tolist(), column.objects.tolist(), strict=True):
            host, _, interface = names[number].removeprefix(_PORT).partition("/")
            if interface != _LOOPBACK:
                found[host].append(sid)
    return dict(found)
