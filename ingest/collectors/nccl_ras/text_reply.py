"""Reads RAS's answer in text to ``VERBOSE STATUS``, which NCCL has since 2.24 (``rasClientRunInit`` and
``rasClientRunComms`` in ``src/ras/client_support.cc``). Pure.

It groups communicators in a table, and then names those with errors and the ranks that stand out, not all ranks. Where
half of the ranks differ from the other half, it names none.
"""

import re
from dataclasses import dataclass, field

from common.errors import BadInput
from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.report import Report, State

_ROW = re.compile(r" *(\d{1,9}) +(\d{1,9}) +\d+ +\d+(?:-\d+)? +(\d{1,9}) +\d+ +[A-Z]+ +[A-Z,]+ *")
_BLOCK = re.compile(r"#(\d{1,9})-\d+ \([0-9a-f]+\) (INCOMPLETE|ERROR|MISMATCH)")
_MISSING = re.compile(r"  Missing communicator data from (\d{1,9}) ranks?")
_GROUP = re.compile(r"  (\d{1,9}) ranks (have|reported) (.+)")
_RANK = re.compile(r"  Rank (\d{1,9})(?: ([^-]+))? -- (.+)")
_GPU = re.compile(r"GPU (\d{1,9})(?: \(NVML \d+\))? managed by process (\d{1,9}) on node (\S+)")
_PROCESS = re.compile(r"  Process (\d{1,9}) on node (\S+) managing GPUs? ([0-9,]{1,400})(?: .*)?")
_PARTS = {"INCOMPLETE": State.UNRESPONSIVE, "DEAD": State.DEAD}


def parse_text(body: bytes, limits: Limits) -> Report:
    """BadInput for what is no such answer, for one without its end, and for one beyond the limits."""
    lines = body.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0].startswith("NCCL version "):
        raise BadInput("nccl_ras: expected 'NCCL version' in the first line", "bad_format")
    if "Warnings" not in lines:  # its last part, which is there when it is empty, too
        raise BadInput("nccl_ras: no part 'Warnings'", "truncated")
    reader = _Reader(Report(limits))
    for line in lines:
        reader.line(line)
    reader.end_block()
    return reader.report


@dataclass(slots=True)
class _Block:
    """What is said of one communicator. groups: sets of ranks that agree, of the quantity that is listed now."""

    size: int
    kind: str
    groups: int = 0
    outliers: int = 0  # of this quantity
    outliers_max: int = 0
    mismatched: set[int] = field(default_factory=set)


class _Reader:
    def __init__(self, report: Report) -> None:
        self.report = report
        self._sizes: dict[int, int] = {}  # ranks of a communicator, by number of its group
        self._part: State | None = None
        self._block: _Block | None = None

    def line(self, line: str) -> None:
        if line.startswith("#") and (block := _BLOCK.fullmatch(line)):
            self._start(None)
            self._block = _Block(self._sizes.get(int(block[1]), 0), block[2])
        elif line in _PARTS:
            self._start(_PARTS[line])
        elif line == "TIMEOUT":
            self._start(None)
            self.report.is_whole = False
        elif self._part is not None and (process := _PROCESS.fullmatch(line)):
            for gpu in filter(None, process[3].split(",")):
                self.report.mark(self._part, process[2], int(process[1]), int(gpu[:9]))
        elif self._block is not None:
            self._in_block(self._block, line)
        elif row := _ROW.fullmatch(line):
            self._sizes[int(row[1])] = int(row[3])
            self.report.add_communicators(int(row[3]), int(row[2]))

    def end_block(self) -> None:
        if self._block is not None and self._block.kind == "MISMATCH":
            block = self._block
            found = max(len(block.mismatched), block.outliers_max, block.outliers)
            self.report.size(block.size).mismatched += found

    def _start(self, part: State | None) -> None:
        self.end_block()
        self._part, self._block = part, None

    def _in_block(self, block: _Block, line: str) -> None:
        if missing := _MISSING.fullmatch(line):
            self.report.size(block.size).missing += int(missing[1])
        elif line.startswith("  Communicator ranks have different "):
            block.outliers_max = max(block.outliers_max, block.outliers)
            block.groups = block.outliers = 0
        elif group := _GROUP.fullmatch(line):
            self._group(block, int(group[1]), group[3])
        elif rank := _RANK.fullmatch(line):
            if rank[2]:  # a group of this one alone
                self._group(block, 1, rank[2])
            self._rank(block, int(rank[1]), rank[3])

    def _group(self, block: _Block, ranks: int, said: str) -> None:
        """The first group is the largest one: those that are right."""
        block.groups += 1
        if block.groups > 1:
            block.outliers += ranks
        if said.endswith("status NOCOMM"):
            self.report.size(block.size).missing += ranks

    def _rank(self, block: _Block, number: int, said: str) -> None:
        gpu = _GPU.fullmatch(said)
        if block.kind == "ERROR" and gpu:
            self.report.mark(State.FAILED, gpu[3], int(gpu[2]), int(gpu[1]))
        if block.kind == "MISMATCH" and block.groups > 1:
            block.mismatched.add(number)
            if gpu:
                self.report.mark(State.MISMATCHED, gpu[3], int(gpu[2]), int(gpu[1]))
