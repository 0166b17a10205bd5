"""What one test of nccl-tests found, whichever form it was written in, and the samples of that. Pure.

Sizes are spelled as NCCL Inspector spells them, so that a job's series and its baseline have the same label. Inspector
means what one rank gives to a call: the count times the size of an element. That of nccl-tests is of all ranks together
for some operations (``ReduceScatter``, ``AllGather``, ``AlltoAll``), so its ``size`` is not used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from common.errors import BadInput
from ingest.collectors.canonical_samples import SourceSample

_OPERATIONS = {
    "all_gather": "AllGather",
    "all_reduce": "AllReduce",
    "alltoall": "AlltoAll",
    "broadcast": "Broadcast",
    "gather": "Gather",
    "reduce": "Reduce",
    "reduce_scatter": "ReduceScatter",
    "scatter": "Scatter",
    "sendrecv": "Send",  # each rank sends to the next one; Inspector has Send and Recv
}
_P2P = "Send"
_ELEMENT_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("int", "int32", "uint32", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
_UNITS = ("B", "KB", "MB", "GB", "TB")
_COUNT_MAX = 1 << 50
_NUMBER_MAX = 1e12  # GB/s, microseconds, elements: beyond any machine
_GB = 1e9


class Refusal(StrEnum):
    """Why a result is not used; a label of our own metrics."""

    TRUNCATED = "truncated"  # no summary at its end: the test was killed, or hangs
    INTERLEAVED = "interleaved"  # several processes wrote their own result into one file
    NO_OPERATION = "no_operation"  # neither the output nor the file's name says which test it was
    NO_RANKS = "no_ranks"  # the list of devices is missing, or is not whole
    UNKNOWN_COLUMNS = "unknown_columns"  # the table has no busbw where it is expected
    NO_ROWS = "no_rows"
    BAD_FORMAT = "bad_format"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one size, and of one kind of buffers. None: not stated; wrong is None where nothing was checked."""

    bus_bytes_per_second: float
    duration_s: float | None
    wrong: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One size. count: elements of one rank. buffers: what was measured, by ``out_of_place`` and ``in_place``."""

    count: int
    element: str
    reduction: str
    root: str
    buffers: Mapping[str, Measured]

    @property
    def message_bytes(self) -> int:
        return self.count * _ELEMENT_BYTES[self.element]


@dataclass(frozen=True, slots=True)
class Result:
    """One test. host: of its first rank. malformed: rows that are none, such as torn ones."""

    operation: str
    ranks: int
    nodes: int
    host: str
    rows: tuple[Row, ...]
    malformed: int = 0

    def samples(self, hosts: Mapping[str, str]) -> Iterator[SourceSample]:
        """hosts: devices by the name of a host."""
        of_test = {
            "host": hosts.get(self.host, self.host),
            "op": self.operation,
            "ranks": str(self.ranks),
            "nodes": str(self.nodes),
        }
        kind = "p2p_" if self.operation == _P2P else ""
        for row in self.rows:
            of_row = of_test | {
                "size": size_range(row.message_bytes),
                "bytes": str(row.message_bytes),
                "element": row.element,
                "reduction": row.reduction,
                "root": row.root,
            }
            for buffers, measured in row.buffers.items():
                labels = of_row | {"buffers": buffers}
                yield SourceSample(f"{kind}bus_bandwidth", labels, measured.bus_bytes_per_second)
                if measured.duration_s is not None:
                    yield SourceSample(f"{kind}duration", labels, measured.duration_s)
                if measured.wrong is not None:
                    yield SourceSample("wrong_elements", labels, measured.wrong)


def row_of(count: int, element: str, reduction: str, root: str, buffers: Mapping[str, Measured]) -> Row | None:
    """None where nothing is said of a message: of no bytes, of an unknown type, or without any bandwidth."""
    if not 0 < count < _COUNT_MAX or element not in _ELEMENT_BYTES or not buffers:
        return None
    return Row(count, element, "" if reduction == "none" else reduction, "" if root == "-1" else root, buffers)


def measured_of(busbw: float | None, time: float | None, wrong: float | None) -> Measured | None:
    """busbw in GB/s, time in microseconds, as nccl-tests state them; None without a bandwidth: it was not run.

    ValueError for what nothing can measure: negative, not finite, or beyond any machine.
    """
    for number in (busbw, time, wrong):
        if number is not None and not 0 <= number <= _NUMBER_MAX:
            raise ValueError(f"expected 0 to {_NUMBER_MAX:g}, got {number:g}")
    if busbw is None:
        return None
    return Measured(float(round(busbw * _GB)), None if time is None else time / 1e6, wrong)


def operation_of(program: str) -> str:
    """As Inspector calls what a test calls; BadInput for a test of something else.

    >>> operation_of("/opt/nccl-tests/build/all_reduce_perf_mpi"), operation_of("sendrecv_perf")
    ('AllReduce', 'Send')
    """
    name = PurePath(program).name.partition("_perf")[0]
    if name not in _OPERATIONS:
        raise refused(Refusal.NO_OPERATION, f"{name[:40]!r}: expected one of {', '.join(_OPERATIONS)}")
    return _OPERATIONS[name]


def size_range(size_bytes: int) -> str:
    """As ``inspectorPromFormatMessageSizeRange`` of NCCL Inspector does.

    >>> size_range(1), size_range(1536), size_range(128 << 20), size_range((4 << 30) + 5)
    ('1-2B', '1-2KB', '128-129MB', '4-5GB')
    """
    unit = min((size_bytes.bit_length() - 1) // 10, len(_UNITS) - 1)
    lower = size_bytes >> (10 * unit)
    return f"{lower}-{lower + 1}{_UNITS[unit]}"


def refused(reason: Refusal, message: str) -> BadInput:
    """What is raised for a result that is not used."""
    return BadInput(f"nccl_tests: {message}", reason.value)
