"""The XIDs of one host: which one each GPU has now, and how often there was each. Pure: time goes in.

Of a burst, and of errors that follow from one another, the gravest is the last XID: a GPU that falls off the bus (79)
is followed within the second by the end of every process on it (45), which must not hide it. After ``hold_ns`` without
any there is none, so that the same one is an event again.

What appears after the start begins with 0 in one reading, and has its value in the next: a series that begins with a
code would be taken for history, and one that begins with a count shows no increase.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.kernel_log.records import Xid
from telemetry.xid_codes import CLEANUP, classify

GPUS_MAX = 64  # of one host
CODES_MAX = 64  # of one GPU, its MIG instances counted each
_GRAVITY = {"hardware": 3, "other": 2, "application": 1}


@dataclass(slots=True)
class _Gpu:
    """shown: whether a reading had it. last_ns: when each code came last; counts: how often, by code and instance.

    counted: codes that a reading had.
    """

    shown: bool
    last_ns: dict[int, int] = field(default_factory=dict)
    counts: dict[tuple[int, str], int] = field(default_factory=dict)
    counted: set[tuple[int, str]] = field(default_factory=set)


class HostXids:
    """uuids: of GPUs by PCI address. source: label of all series."""

    def __init__(self, uuids: Mapping[str, str], hold_ns: int, source: str = "kernel_log") -> None:
        self._hold_ns, self._source = hold_ns, source
        self._uuids: dict[str, str] = {}
        self._gpus: dict[str, _Gpu] = {}
        for address, uuid in uuids.items():
            self.know(address, uuid)

    def know(self, address: str, uuid: str) -> None:
        """A GPU that has no XID before its first one."""
        self.name(address, uuid)
        self._gpus.setdefault(address, _Gpu(shown=True))

    def name(self, address: str, uuid: str) -> None:
        """Which GPU is at an address; a further address beyond the limit is passed over."""
        if address in self._uuids or len(self._uuids) < GPUS_MAX:
            self._uuids[address] = uuid

    def add(self, xid: Xid, at_ns: int, *, before_start: bool = False) -> bool:
        """Whether there is room for it. before_start: it stood in the log before anybody read it."""
        gpu = self._gpus.get(xid.address)
        key = xid.code, xid.instance
        if gpu is None:
            if len(self._gpus) >= GPUS_MAX:
                return False
            gpu = self._gpus[xid.address] = _Gpu(shown=before_start)
        if key not in gpu.counts and len(gpu.counts) >= CODES_MAX:
            return False
        gpu.counts[key] = gpu.counts.get(key, 0) + 1
        gpu.last_ns[xid.code] = max(at_ns, gpu.last_ns.get(xid.code, 0))
        if before_start:
            gpu.counted.add(key)
        return True

    def reading(self, now_ns: int) -> Iterable[SourceSample]:
        """The state of all GPUs now."""
        for address, gpu in self._gpus.items():
            labels = {"gpu": self._uuids.get(address, f"PCI:{address}"), "source": self._source}
            yield SourceSample("xid_last", labels, float(self._last(gpu, now_ns)) if gpu.shown else 0.0)
            gpu.shown = True
            for (code, instance), count in gpu.counts.items():
                of_code = labels | {"xid": str(code), "instance": instance}
                yield SourceSample("xid_errors_total", of_code, float(count if (code, instance) in gpu.counted else 0))
                gpu.counted.add((code, instance))

    def _last(self, gpu: _Gpu, now_ns: int) -> int:
        held = [(gravity(code), at_ns, code) for code, at_ns in gpu.last_ns.items() if now_ns - at_ns < self._hold_ns]
        return max(held)[2] if held else 0


def gravity(code: int) -> int:
    """Whose fault comes first: the GPU's, an unknown one's, the program's, that of neither.

    >>> gravity(79) > gravity(8) > gravity(31) > gravity(45)
    True
    """
    return 0 if code == CLEANUP else _GRAVITY[classify(code)]
