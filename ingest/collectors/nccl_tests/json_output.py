"""Reads the JSON that nccl-tests 2.17 and newer write with ``-J`` (``src/util.cu``). Pure.

Each process of a test lists its first device alone, so how many ranks there are follows from the devices of a process.
"""

from typing import Any

import orjson

from ingest.collectors.nccl_tests.result import (
    Measured,
    Refusal,
    Result,
    Row,
    measured_of,
    operation_of,
    refused,
    row_of,
)

_RANKS_MAX = 10_000_000


def parse_json(body: bytes, rows_max: int) -> Result:
    """BadInput with a reason of ``Refusal``, and the place where something else was expected."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        reason = Refusal.BAD_FORMAT if body.rstrip().endswith(b"}") else Refusal.TRUNCATED
        raise refused(reason, str(error)) from error
    document = _of(document, dict, "result")
    if "end_time" not in document or "out_of_bounds" not in document:  # what was open was closed as it was
        raise refused(Refusal.TRUNCATED, "no end_time and out_of_bounds, which end a test")
    arguments = _of(document.get("args"), list, "args")
    operation = operation_of(_of(arguments[0] if arguments else None, str, "args[0]"))
    ranks, hosts = _ranks(_of(document.get("config"), dict, "config"))
    entries = _of(document.get("results"), list, "results")
    if len(entries) > rows_max:
        raise refused(Refusal.TOO_LARGE, f"more than {rows_max} rows")
    rows = [_row(_of(entry, dict, f"results[{at}]"), f"results[{at}]") for at, entry in enumerate(entries)]
    known = tuple(row for row in rows if row is not None)
    if not known:
        raise refused(Refusal.NO_ROWS, "results: empty")
    empty = sum(entry["count"] == 0 for entry in entries)
    return Result(operation, ranks, len(set(hosts)), hosts[0], known, len(rows) - len(known) - empty)


def _ranks(config: dict[str, Any]) -> tuple[int, list[str]]:
    """How many ranks the communicator of the first device has, and the host of each process of it."""
    of_process = _of(config.get("nthreads"), int, "config.nthreads") * _of(config.get("ngpus"), int, "config.ngpus")
    devices = [_of(each, dict, "config.devices") for each in _of(config.get("devices"), list, "config.devices")]
    own = [each for each in devices if each.get("group") == devices[0].get("group")]
    numbers = [_of(each.get("rank"), int, "config.devices.rank") for each in own]
    ranks = max(numbers, default=-1) + of_process
    if not 0 < of_process <= ranks <= _RANKS_MAX or sorted(numbers) != list(range(0, ranks, of_process)):
        raise refused(Refusal.NO_RANKS, f"config.devices: expected one each {of_process} ranks from 0 on")
    named = sorted(
        (number, _of(each.get("hostname"), str, "hostname")) for number, each in zip(numbers, own, strict=True)
    )
    return ranks, [host for _, host in named]


def _row(entry: dict[str, Any], at: str) -> Row | None:
    buffers: dict[str, Measured] = {}
    for kind in ("out_of_place", "in_place"):
        if (found := entry.get(kind)) is not None:
            measured = _measured(_of(found, dict, f"{at}.{kind}"), f"{at}.{kind}")
            buffers |= {} if measured is None else {kind: measured}
    texts = [_of(entry.get(name), str, f"{at}.{name}").strip() for name in ("type", "redop", "root")]
    return row_of(_of(entry.get("count"), int, f"{at}.count"), texts[0], texts[1], texts[2], buffers)


def _measured(values: dict[str, Any], at: str) -> Measured | None:
    busbw, time, wrong = (_number(values.get(name), f"{at}.{name}") for name in ("bus_bw", "time", "nwrong"))
    try:
        return measured_of(busbw, time, wrong)
    except ValueError as error:
        raise refused(Refusal.BAD_FORMAT, f"{at}: {error}") from error


def _number(value: Any, at: str) -> float | None:
    """``nan`` is a text there, and what was not checked null."""
    if value is None or value == "nan":
        return None
    return float(_of(value, (int, float), at))


def _of(value: Any, kind: Any, at: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise refused(
            Refusal.BAD_FORMAT, f"{at}: expected {getattr(kind, '__name__', 'number')}, got {type(value).__name__}"
        )
    return value
