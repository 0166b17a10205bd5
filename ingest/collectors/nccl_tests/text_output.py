"""Reads what nccl-tests print (``writeDeviceReport``, ``writeResultHeader`` and ``writeBenchmarkLineBody`` in
``src/util.cu``; ``src/common.cu`` before 2.17). Pure.

A file may hold several tests, one after another, and lines of others between its own: of mpirun, srun and NCCL, which
are passed over. A row that such a line tears is counted as malformed. A program that was built without MPI and started
by mpirun writes one table for each process into one file: these are no results, as each process measures its own ranks
beside all others.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.errors import BadInput
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

_TAG = re.compile(r"(?:\[\d+,\d+\]<std(?:out|err)>: ?| *\d+: )")  # of mpirun --tag-output and srun --label
_BEGIN = re.compile(r"# *nThread \d{1,6} nGpus \d{1,6} ")
_PROGRAM = re.compile(r"# Collective test (?:starting|concluded): (\S{1,255})")
_ANY_PROGRAM = re.compile(r"(?<![a-z])([a-z][a-z_]{1,40}_perf)(?![a-z])")
_DEVICE = re.compile(r"# +Rank +(\d{1,7})(?: +Group +(\d{1,7}))? +Pid +\d+ on +(\S{1,255}) +device +\d+ ")
_COLUMNS = re.compile(r"# +size +count +type ")
_END = re.compile(r"# Out of bounds values *: *\d+ ")
_ROW = re.compile(r" *\d{1,18} +\d{1,18} ")
_TIMES = ("time", "cputime")


def parse_text(body: bytes, rows_max: int, name: str = "") -> list[Result | BadInput]:
    """The tests of one file in their order; in place of one that is not used, why. name: of the file."""
    parts: list[_Part] = []
    before = _ANY_PROGRAM.findall(name)[-1:]
    program = before[0] if before else ""
    for line in body.decode("utf-8", "replace").splitlines():
        tag = _TAG.match(line)
        line = line[tag.end() :] if tag else line
        if _BEGIN.match(line):
            parts.append(_Part(program))
        elif line.startswith("#") and (said := _PROGRAM.match(line)):
            program = said[1]
            if parts and "concluded" in line:
                parts[-1].program = program
        elif not line.startswith("#") and not _ROW.match(line) and (found := _ANY_PROGRAM.findall(line)):
            program = found[-1]  # the command, as scripts print it
        elif parts:
            parts[-1].line(line)
    if not parts:
        raise refused(Refusal.BAD_FORMAT, "expected a line '# nThread … nGpus …', as nccl-tests print first")
    if sum(len(part.lines) for part in parts) > rows_max:
        raise refused(Refusal.TOO_LARGE, f"more than {rows_max} rows")
    return [_result(part) for part in parts]


@dataclass(slots=True)
class _Part:
    """What is printed from one ``# nThread`` to the next. devices: group, rank and host of each."""

    program: str
    devices: list[tuple[int, int, str]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    ends: int = 0

    def line(self, line: str) -> None:
        if not line.startswith("#"):
            if _ROW.match(line):
                self.lines.append(line)
        elif device := _DEVICE.match(line):
            self.devices.append((int(device[2] or 0), int(device[1]), device[3]))
        elif _COLUMNS.match(line):
            self.columns = line[1:].split()
        elif _END.match(line):
            self.ends += 1


def _result(part: _Part) -> Result | BadInput:
    try:
        return _checked(part)
    except BadInput as error:
        return error


def _checked(part: _Part) -> Result:
    """BadInput with a reason of ``Refusal``."""
    places = [place[:2] for place in part.devices]
    if len(set(places)) < len(places) or part.ends > 1:
        raise refused(
            Refusal.INTERLEAVED, "several processes print their own table: was it built without MPI and run by mpirun?"
        )
    if not part.ends:
        raise refused(Refusal.TRUNCATED, "no line '# Out of bounds values', which ends a test")
    if not part.program:
        raise refused(
            Refusal.NO_OPERATION, "neither '# Collective test starting: …_perf' nor the file's name names one"
        )
    operation = operation_of(part.program)
    ranks, hosts = _ranks(part.devices)
    groups = _groups(part.columns)
    rows = [_row(line.split(), part.columns, groups) for line in part.lines]
    known = tuple(row for row in rows if row is not None)
    if not known:
        raise refused(Refusal.NO_ROWS, "a table without rows")
    empty = sum(int(line.split()[1]) == 0 for line in part.lines)
    return Result(operation, ranks, len(set(hosts)), hosts[0], known, len(rows) - len(known) - empty)


def _ranks(devices: Sequence[tuple[int, int, str]]) -> tuple[int, list[str]]:
    """How many ranks the communicator of the first device has, and the host of each."""
    own = [(rank, host) for group, rank, host in devices if group == devices[0][0]]
    if not own or {rank for rank, _ in own} != set(range(len(own))):
        raise refused(Refusal.NO_RANKS, f"expected a line '# Rank' for each rank, got {len(own)} that do not count up")
    return len(own), [host for _, host in sorted(own)]


def _groups(columns: Sequence[str]) -> list[int]:
    """Where the columns of each kind of buffers begin, out-of-place first."""
    found = [at for at, name in enumerate(columns) if name in _TIMES]
    if columns[:3] != ["size", "count", "type"] or len(found) != 2 or found[0] > 5:
        raise refused(
            Refusal.UNKNOWN_COLUMNS, f"expected size count type … time … time, got {' '.join(columns)[:120]!r}"
        )
    for begin, end in zip(found, [*found[1:], len(columns)], strict=True):
        if "busbw" not in columns[begin:end]:
            raise refused(Refusal.UNKNOWN_COLUMNS, f"no busbw among {' '.join(columns)[:120]!r}")
    return found


def _row(words: Sequence[str], columns: Sequence[str], groups: Sequence[int]) -> Row | None:
    """None for no row of this table. Old releases leave an operation blank that does not reduce, so what follows it is
    counted from the right; a time stamp has two words."""
    numbers = len(columns) - groups[0] + (columns[-1] == "timestamp")
    said = words[: len(words) - numbers]
    if not 3 <= len(said) <= groups[0]:
        return None
    names, values = columns[groups[0] :], words[len(said) :]
    begins = [begin - groups[0] for begin in groups]
    buffers: dict[str, Measured] = {}
    for kind, begin, end in zip(("out_of_place", "in_place"), begins, [*begins[1:], len(names)], strict=True):
        try:
            measured = _measured(dict(zip(names[begin:end], values[begin:end], strict=True)))
        except ValueError:
            return None
        if measured is not None:
            buffers[kind] = measured
    of_row = dict(zip(columns[3 : groups[0]], said[3:], strict=False))
    return row_of(int(said[1]), said[2], of_row.get("redop", ""), of_row.get("root", ""), buffers)


def _measured(values: dict[str, str]) -> Measured | None:
    """None for what was not run. ValueError for words that are no numbers. Old releases: ``error`` is a difference."""
    return measured_of(
        _number(values["busbw"]), _number(values.get("time", "N/A")), _number(values.get("#wrong", "N/A"))
    )


def _number(text: str) -> float | None:
    if text == "N/A":
        return None
    if not re.fullmatch(r"[0-9.e+-]{1,30}", text):  # float() also takes nan, inf and 1_0
        raise ValueError(text)
    return float(text)
