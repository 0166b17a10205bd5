"""Reads RAS's answer in JSON, which NCCL has since 2.28.7 (``rasDumpCommsToJSON`` in ``src/ras/client_support.cc``).
Pure.

It lists each rank; what is a mismatch is worked out here, by the rules of RAS's answer in text.
"""

import re
from collections import defaultdict
from typing import Any

import orjson

from common.errors import BadInput
from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.report import Report, State, outliers

_NO_MEMBER, _INIT, _RUNNING, _FINALIZE, _ABORT = range(5)  # RAS's order: of as many ranks, the higher one is right
_COMMA_LEFT_OUT = re.compile(rb'("nvml_dev": \d{1,9})(?=\s+"status")')
"""By NCCL 2.28.9, of ranks that are missing."""
_FINE = frozenset({0, 7})  # ncclSuccess and ncclInProgress of ncclResult_t


def parse_json(body: bytes, limits: Limits) -> Report:
    """BadInput for what is no such answer, with the place, and for one beyond the limits."""
    document = _of(_document(body), dict, "answer")
    ras = _of(document.get("ras"), dict, "ras")
    report = Report(limits, is_whole=_of(ras.get("timeouts_count"), int, "ras.timeouts_count") == 0)
    left = limits.ranks_max
    for place, entry in enumerate(_of(document.get("communicators"), list, "communicators")):
        communicator = _of(entry, dict, at := f"communicators[{place}]")
        ranks = _of(communicator.get("ranks"), list, f"{at}.ranks")
        missing = _of(communicator.get("missing_ranks"), list, f"{at}.missing_ranks")
        left -= len(ranks) + len(missing)
        if left < 0:
            raise BadInput(f"nccl_ras: more than {limits.ranks_max} ranks", "too_large")
        _add(report, _of(communicator.get("size"), int, f"{at}.size"), ranks, missing, at)
    return report


def _document(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return orjson.loads(_COMMA_LEFT_OUT.sub(rb"\1,", body))
        except orjson.JSONDecodeError as error:
            raise BadInput(f"nccl_ras: {error}", "bad_format") from error


def _add(report: Report, size: int, ranks: list[Any], missing: list[Any], at: str) -> None:
    """One communicator."""
    report.add_communicators(size, 1)
    places: dict[int, tuple[str, int, int]] = {}
    statuses: dict[int, int] = {}
    operations: dict[str, dict[int, int]] = defaultdict(dict)
    for entry in ranks:
        number, place = _place(entry, f"{at}.ranks")
        places[number] = place
        report.see(place[0])
        status = _maybe(entry.get("status"), f"{at}.ranks.status")
        statuses[number] = _status(status)
        if {status.get("init_state", 0), status.get("async_error", 0)} - _FINE:
            report.mark(State.FAILED, *place)
        for operation, count in _maybe(entry.get("collective_counts"), f"{at}.ranks.collective_counts").items():
            operations[operation][number] = _of(count, int, f"{at}.ranks.collective_counts")
    for entry in missing:
        number, place = _place(entry, f"{at}.missing_ranks")
        report.see(place[0])
        status = _maybe(entry.get("status"), f"{at}.missing_ranks.status")
        if status.get("considered_dead"):
            report.mark(State.DEAD, *place)
        elif status.get("unresponsive"):
            report.mark(State.UNRESPONSIVE, *place)
        elif status:  # its process answers, and has left this communicator
            places[number], statuses[number] = place, _NO_MEMBER
    mismatched = outliers(statuses).union(*map(outliers, operations.values()))
    for number in mismatched:
        report.mark(State.MISMATCHED, *places[number])
    report.size(size).missing += len(missing)
    report.size(size).mismatched += len(mismatched)


def _status(status: dict[str, Any]) -> int:
    """Of a communicator that starts there may be none yet."""
    if status.get("abort_flag"):
        return _ABORT
    if status.get("finalize_called") or status.get("destroy_flag"):
        return _FINALIZE
    return _RUNNING if status.get("init_state") == 0 else _INIT


def _place(entry: Any, at: str) -> tuple[int, tuple[str, int, int]]:
    """Number of a rank, and its host, process and GPU."""
    fields = _of(entry, dict, at)
    pid, gpu = (_of(fields.get(name), int, f"{at}.{name}") for name in ("pid", "cuda_dev"))
    return _of(fields.get("rank"), int, f"{at}.rank"), (_of(fields.get("host"), str, f"{at}.host"), pid, gpu)


def _maybe(value: Any, at: str) -> dict[str, Any]:
    found: dict[str, Any] = {} if value is None else _of(value, dict, at)
    if any(isinstance(one, dict | list) for one in found.values()):
        raise BadInput(f"nccl_ras: {at}: expected numbers and true or false", "bad_format")
    return found


def _of(value: Any, kind: type[Any], at: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadInput(f"nccl_ras: {at}: expected {kind.__name__}, got {type(value).__name__}", "bad_format")
    return value
