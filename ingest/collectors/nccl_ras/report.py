"""What RAS says of a job, whichever format it says it in, and the samples of that. Pure."""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from common.errors import BadInput
from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.nccl_ras.config import Limits


class State(StrEnum):
    """What is wrong with a rank."""

    UNRESPONSIVE = "unresponsive"  # its process does not answer RAS
    DEAD = "dead"  # RAS has given its process up
    FAILED = "failed"  # it reports an error of NCCL
    MISMATCHED = "mismatched"  # its status or count of operations is not that of most others


@dataclass(slots=True)
class Size:
    """The communicators with one number of ranks, and how many of these ranks are missing or mismatched."""

    communicators: int = 0
    missing: int = 0
    mismatched: int = 0


@dataclass(slots=True)
class Report:
    """is_whole: RAS waited for nobody in vain. sizes: by number of ranks."""

    limits: Limits
    is_whole: bool = True
    sizes: dict[int, Size] = field(default_factory=dict)
    _hosts: set[str] = field(default_factory=set)
    _gpus: set[tuple[State, str, int, int]] = field(default_factory=set)
    _communicators: int = 0

    def size(self, ranks: int) -> Size:
        return self.sizes.setdefault(ranks, Size())

    def add_communicators(self, ranks: int, count: int) -> None:
        """BadInput for more than there may be, or a number that is none of ranks."""
        self._communicators += count
        if count < 0 or not 0 <= ranks <= self.limits.ranks_max:
            raise BadInput(f"nccl_ras: {count} communicators of {ranks} ranks", "too_large")
        if self._communicators > self.limits.communicators_max:
            raise BadInput(f"nccl_ras: more than {self.limits.communicators_max} communicators", "too_large")
        self.size(ranks).communicators += count

    def see(self, host: str) -> bool:
        """Whether this is a host: RAS writes addresses, and ``unknown`` where it knows none."""
        if host in self._hosts:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        if len(self._hosts) >= self.limits.hosts_max:
            raise BadInput(f"nccl_ras: more than {self.limits.hosts_max} hosts", "too_many_series")
        self._hosts.add(host)
        return True

    def mark(self, state: State, host: str, pid: int, gpu: int) -> None:
        """A GPU counts once, however many communicators it is in."""
        if self.see(host):
            self._gpus.add((state, host, pid, gpu))

    def samples(self, job_id: str, hosts: Mapping[str, str]) -> Iterator[SourceSample]:
        """hosts: devices by address."""
        job = {"job_id": job_id} if job_id else {}
        yield SourceSample("up", job, float(self.is_whole))
        for ranks, size in self.sizes.items():
            labels = {**job, "ranks": str(ranks)}
            yield SourceSample("communicators", labels, float(size.communicators))
            yield SourceSample("missing_ranks", labels, float(size.missing))
            yield SourceSample("mismatched_ranks", labels, float(size.mismatched))
        counts = Counter((hosts.get(host, host), state) for state, host, _, _ in self._gpus)
        for device in sorted({hosts.get(host, host) for host in self._hosts}):
            for state in State:
                labels = {**job, "host": device, "state": state.value}
                yield SourceSample("host_ranks", labels, float(counts[device, state]))


def outliers(values: Mapping[int, int]) -> set[int]:
    """The ranks whose value most others do not have; of as many, the higher value is right, as for RAS itself.

    >>> outliers({0: 641, 1: 640, 2: 641}), outliers({0: 640, 1: 641})
    ({1}, {0})
    """
    counts = Counter(values.values())
    usual = max(counts, key=lambda value: (counts[value], value), default=0)
    return {rank for rank, value in values.items() if value != usual}
