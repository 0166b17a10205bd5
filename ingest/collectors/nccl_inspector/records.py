"""From lines of NCCL Inspector's files to columns of operations. Pure.

Sources, in ``plugins/profiler/inspector`` of NVIDIA/nccl: ``inspector_json.cc``, ``inspector_json_reader.py``, README;
``inspector.cc`` of ``ext-profiler/inspector``, where it was before. Up to v4.2 each record says whose it is: it has
``header`` and ``metadata``. Since v4.3 one marker (``dump_stats``) has them, for as many records as it announces.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from ingest.collectors.nccl_inspector.operation import Operation, Origin, range_of

_NAME_MAX = 256  # Inspector cuts names of hosts there
_COUNT_MAX = 10_000_000  # ranks, nodes
_BYTES_MAX = 1 << 50
_US_MAX = 1 << 52  # 2112
_LEFT = {"coll_perf": "coll_records", "p2p_perf": "p2p_records", "proxy_trace": "proxy_records"}
_KIND = {"coll_perf": "coll", "p2p_perf": "p2p"}
_BY_GPU = (None, "kernel_gpu")  # the first records of v4.0 do not say
_SHAPES_MAX = 1000
USED = frozenset(
    [
        *(
            "header",
            "comm_name",
            "rank",
            "n_ranks",
            "nnodes",
            "hostname",
            "dump_timestamp_us",
            "coll_algo",
            "coll_proto",
        ),
        *("coll_records", "p2p_records", "proxy_records", "event_trace_ts", "coll", "p2p"),
        *(
            f"{kind}_{name}"
            for kind in ("coll", "p2p")
            for name in ("msg_size_bytes", "exec_time_us", "timing_source", "busbw_gbs", "dropped_since_last_dump")
        ),
    ]
)
"""Fields that are read; what becomes of others the catalogue says."""
Number = Callable[[Operation], int]
"""The number of an operation; -1 where there is no room for another one."""


class Refusal(StrEnum):
    """Why a record is part of no sample; a label of our own metrics."""

    MALFORMED = "malformed"  # no JSON, or without what makes it one; also a line of which the end was never written
    NO_CONTEXT = "no_context"  # no marker before it says whose it is
    MISSING = "missing"  # a marker announced it, and it did not come
    CPU_TIMING = "cpu_timing"  # timed by the CPU, which Inspector itself leaves out since 2.29
    TOO_LONG = "too_long"
    QUOTA = "quota"  # of an operation beyond series_max
    HISTORY = "history"  # its marker was before the place from which its file is read


class Records(NamedTuple):
    """One row for each record.

    operation: int64[n], its number. dumped_ns: int64[n], when it was written. ended_ns: int64[n], when the operation
    ended if the record says so, else as dumped_ns. busbw: float64[n], GB/s, 0 for none. exec_us: float64[n].
    """

    operation: NDArray[np.int64]
    dumped_ns: NDArray[np.int64]
    ended_ns: NDArray[np.int64]
    busbw: NDArray[np.float64]
    exec_us: NDArray[np.float64]

    def only(self, rows: NDArray[np.bool_]) -> "Records":
        return Records(
            self.operation[rows], self.dumped_ns[rows], self.ended_ns[rows], self.busbw[rows], self.exec_us[rows]
        )


@dataclass(slots=True)
class Context:
    """What earlier lines of one file say about the next ones.

    left: records that the last marker announced and that have not come, by the name of their body. malformed: lines
    since then that may have been some of them. is_inside: no marker has been read, as the file is not read from its
    start. header, host: what ``origin`` was made of. known: numbers of operations by origin and fields, of one call.
    """

    job_id: str
    is_inside: bool = False
    origin: Origin | None = None
    dumped_us: int = 0
    left: dict[str, int] = field(default_factory=dict)
    malformed: int = 0
    header: dict[str, Any] = field(default_factory=dict)
    host: str = ""
    known: dict[Any, int] = field(default_factory=dict)


@dataclass(slots=True)
class Found:
    """What some lines hold. shapes: the fields of records, as often as they have them. written: records of operations.

    lost: operations that Inspector's rings lost.
    """

    columns: tuple[list[int], list[int], list[int], list[float], list[float]] = field(
        default_factory=lambda: ([], [], [], [], [])
    )
    refused: Counter[Refusal] = field(default_factory=Counter)
    shapes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    written: Counter[tuple[Origin, str]] = field(default_factory=Counter)
    lost: Counter[tuple[Origin, str]] = field(default_factory=Counter)

    def take(self) -> Records:
        """Those since the last call."""
        operation, dumped_us, ended_us, busbw, exec_us = self.columns
        taken = Records(
            np.array(operation, np.int64),
            np.array(dumped_us, np.int64) * 1000,
            np.array(ended_us, np.int64) * 1000,
            np.array(busbw, np.float64),
            np.array(exec_us, np.float64),
        )
        for column in self.columns:
            column.clear()
        return taken

    @property
    def read(self) -> int:
        """Records of operations."""
        return self.written.total()

    def shape(self, fields: tuple[str, ...]) -> None:
        if fields in self.shapes or len(self.shapes) < _SHAPES_MAX:
            self.shapes[fields] += 1


def read_lines(data: bytes, context: Context, number: Number, found: Found) -> None:
    """Whole lines of one file, in their order."""
    context.known.clear()
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            record = orjson.loads(line)
            refusal = _take(record, context, number, found) if type(record) is dict else Refusal.MALFORMED
        except (orjson.JSONDecodeError, _NoRecord):
            refusal = Refusal.MALFORMED
        if refusal is not None:
            context.malformed += refusal is Refusal.MALFORMED
            found.refused[refusal] += 1


class _NoRecord(Exception):
    """A field that makes a record is not there, or is something else."""


def _take(record: dict[str, Any], context: Context, number: Number, found: Found) -> Refusal | None:
    if "dump_stats" in record:
        _take_marker(record, context, found)
        return None
    for name in _LEFT:
        if name in record:
            break
    else:
        raise _NoRecord
    if "header" in record:
        _set_origin(record, context)
        found.shape(("header", *record["header"], *record["metadata"]))
        context.left[name] = context.left.get(name, 0) - 1
    elif context.left.get(name, 0) > 0:
        context.left[name] -= 1
    else:
        return Refusal.HISTORY if context.is_inside else Refusal.NO_CONTEXT
    kind, body = _KIND.get(name), record[name]
    if kind is None or context.origin is None:
        found.shape((name,))
        return None
    if type(body) is not dict:
        raise _NoRecord
    found.shape(tuple(body))
    found.written[context.origin, kind] += 1
    return _take_operation(body, kind, context, context.origin, number, found)


def _take_marker(record: dict[str, Any], context: Context, found: Found) -> None:
    """A record without an operation."""
    stats = record["dump_stats"]
    if type(stats) is not dict:
        raise _NoRecord
    end(context, found)
    origin = _set_origin(record, context)
    context.left = {name: _whole(stats.get(counted, 0), _BYTES_MAX) for name, counted in _LEFT.items()}
    context.is_inside = False
    found.shape(("header", *record["header"], *record["metadata"]))
    found.shape(tuple(stats))
    for kind in ("coll", "p2p"):
        found.lost[origin, kind] += _whole(stats.get(f"{kind}_dropped_since_last_dump", 0), _BYTES_MAX)


def end(context: Context, found: Found) -> None:
    """Of a marker's records, or of a file: counts those that did not come."""
    missing = sum(left for left in context.left.values() if left > 0) - context.malformed
    if missing > 0:
        found.refused[Refusal.MISSING] += missing
    context.origin, context.header, context.left, context.malformed = None, {}, {}, 0


def _take_operation(
    body: dict[str, Any], kind: str, context: Context, origin: Origin, number: Number, found: Found
) -> Refusal | None:
    if body.get(f"{kind}_timing_source") not in _BY_GPU:
        return Refusal.CPU_TIMING
    size = _whole(body.get(f"{kind}_msg_size_bytes"), _BYTES_MAX)
    busbw, exec_us = _number(body.get(f"{kind}_busbw_gbs")), _number(body.get(f"{kind}_exec_time_us"))
    name, algo, proto = _text(body.get(kind)), body.get("coll_algo"), body.get("coll_proto")
    algorithm = "" if algo is None else f"{_text(algo)}_{_text(proto)}"
    fields = origin, kind, name, size, algorithm
    at = context.known.get(fields)
    if at is None:
        at = context.known[fields] = number(Operation(origin, kind, name, range_of(size), algorithm))
    if at < 0:
        return Refusal.QUOTA
    operations, dumped_us, ended_us, bandwidths, times_us = found.columns
    operations.append(at)
    dumped_us.append(context.dumped_us)
    ended_us.append(_ended_us(body.get("event_trace_ts"), context.dumped_us))
    bandwidths.append(busbw)
    times_us.append(exec_us)
    return None


def _ended_us(trace: Any, dumped_us: int) -> int:
    """When the last kernel ended; of a record that is not verbose, or cannot be true, when it was written."""
    kernels = trace.get("kernel_events") if type(trace) is dict else None
    if type(kernels) is not list:
        return dumped_us
    ends = [each.get("kernel_stop_ts") for each in kernels if type(each) is dict]
    ended_us = max((each for each in ends if type(each) is int), default=0)
    return ended_us if 0 < ended_us <= dumped_us else dumped_us


def _set_origin(record: Mapping[str, Any], context: Context) -> Origin:
    """Whose records follow, and when they were written."""
    header, metadata = record.get("header"), record.get("metadata")
    if type(header) is not dict or type(metadata) is not dict:
        raise _NoRecord
    dumped_us, host = _whole(metadata.get("dump_timestamp_us"), _US_MAX), _text(metadata.get("hostname"))
    origin = context.origin
    if origin is None or header != context.header or host != context.host:
        ranks, nodes, rank = (_whole(header.get(name), _COUNT_MAX) for name in ("n_ranks", "nnodes", "rank"))
        name = _text(header["comm_name"]) if "comm_name" in header else ""
        origin = Origin(host, context.job_id, name, str(ranks), str(nodes), str(rank))
    context.origin, context.dumped_us, context.header, context.host = origin, dumped_us, header, host
    return origin


def _whole(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise _NoRecord
    return value


def _number(value: Any) -> float:
    """``nan`` is a text there: 0, which stands for none."""
    if value == "nan":
        return 0.0
    if (type(value) is not float and type(value) is not int) or not 0 <= value <= _US_MAX:
        raise _NoRecord
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str or not 0 < len(value) <= _NAME_MAX:
        raise _NoRecord
    return value
