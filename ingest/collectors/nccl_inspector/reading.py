"""One look at a folder: what its files say since the last one, as columns of samples. Of one thread at a time."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from common.units import NS_PER_S, to_ns
from ingest.collectors.base import SourceSeries
from ingest.collectors.event_time import FUTURE_NS, PAST_NS
from ingest.collectors.nccl_inspector.config import Config
from ingest.collectors.nccl_inspector.folder import Folder, Lost
from ingest.collectors.nccl_inspector.operation import KINDS, Origin
from ingest.collectors.nccl_inspector.records import USED, Found, Refusal, end, read_lines
from ingest.collectors.nccl_inspector.series import OperationSeries, Samples
from ingest.collectors.nccl_inspector.windows import Windows, add_up, windows_of
from ingest.ledger import DropReason

_WRITTEN_NS = 5 * NS_PER_S  # from the time of a record until its file has it
_FORGET_NS = PAST_NS
_KIND_WORDS = dict(zip(KINDS, ("collective", "p2p"), strict=True))
_BAD = (Refusal.MALFORMED, Refusal.NO_CONTEXT, Refusal.TOO_LONG)
_READ_AT_ONCE = 100_000  # records that are summed up together
_Total = tuple[str, str, str]
"""Host, job and kind of operations."""


class Look(NamedTuple):
    """dropped: records and samples that the ledger counts as such. refused: records that are part of no sample.

    records: of operations, that were read. unmapped, left_out: fields of records.
    """

    samples: Samples
    dropped: Counter[DropReason]
    refused: Counter[Refusal]
    lost: Lost
    records: int
    unmapped: int
    left_out: int


class Reading:
    """Of one folder."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._width_ns, self._age_ns = to_ns(config.interval_s), to_ns(config.age_max_s)
        self._folder = Folder(config)
        self._series = OperationSeries(config.job_name, config.device, config.hosts, config.limits.series_max)
        self._open = windows_of(Found().take(), self._width_ns)
        self._first_ns = 0  # what was written before is history
        self._totals: dict[_Total, list[int]] = {}  # written, lost, and when it was written last

    @property
    def unmapped(self) -> set[str]:
        """Fields of records that nothing maps."""
        return self._series.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """What becomes of each field."""
        return self._series.source_series()

    def look(self, now_ns: int) -> Look:
        """NoAnswer where the folder cannot be listed."""
        self._folder.look(now_ns)
        self._first_ns = self._first_ns or now_ns - self._age_ns
        self._open = self._series.forget(now_ns - _FORGET_NS, self._open)
        dropped: Counter[DropReason] = Counter()
        found, parts = Found(), [self._open]
        for context, lines in self._folder.chunks():
            read_lines(lines, context, self._series.number, found)
            if len(found.columns[0]) >= _READ_AT_ONCE:
                parts = [add_up([*parts, self._windows(found, now_ns, dropped)])]
        every = add_up([*parts, self._windows(found, now_ns, dropped)])
        is_over = (every.window + 1) * self._width_ns + _WRITTEN_NS <= now_ns
        self._open = every.only(~is_over)
        lost = self._folder.lost()
        for context in lost.ended:
            end(context, found)
        found.refused[Refusal.TOO_LONG] += lost.too_long
        found.refused[Refusal.MALFORMED] += lost.cut_off
        self._count(found, now_ns)
        samples = self._series.samples(every.only(is_over), self._stated(now_ns), now_ns)
        dropped.update(samples.dropped)
        dropped[DropReason.BAD_FORMAT] += sum(found.refused[each] for each in _BAD)
        dropped[DropReason.NEW_SERIES] += found.refused[Refusal.QUOTA]
        fields = {name for names in found.shapes for name in names} - USED
        return Look(samples, +dropped, +found.refused, lost, found.read, *self._series.fields(fields))

    def _windows(self, found: Found, now_ns: int, dropped: Counter[DropReason]) -> Windows:
        """Of the records that were found since the last call, are news, and are of no time that cannot be."""
        records = found.take()
        is_news = (records.dumped_ns >= now_ns - self._age_ns) & (records.dumped_ns <= now_ns + FUTURE_NS)
        is_news &= records.ended_ns >= now_ns - PAST_NS
        history = int((records.dumped_ns < self._first_ns).sum())
        found.refused[Refusal.HISTORY] += history
        dropped[DropReason.EVENT_TIME] += int((~is_news).sum()) - history
        return windows_of(records.only(is_news), self._width_ns)

    def _count(self, found: Found, now_ns: int) -> None:
        """Adds to the totals of each host and job; those of jobs that write nothing any more are forgotten."""
        for place, counted in enumerate((found.written, found.lost)):
            for (origin, kind), count in (+counted).items():
                total = self._totals.setdefault(_total_of(origin, kind), [0, 0, 0])
                total[place] += count
                total[2] = now_ns
        kept_ns = now_ns - _FORGET_NS
        self._totals = {key: total for key, total in self._totals.items() if total[2] >= kept_ns}

    def _stated(self, now_ns: int) -> dict[int, float]:
        """Counts of files, and the totals that grew, by row: counters that stop would be those of a frozen target."""
        found = {}
        for state, count in self._folder.states.items():
            found[self._series.key_row("files", {"state": state, "node": self._config.device})] = float(count)
        for (node, job_id, kind), (written, lost, at_ns) in self._totals.items():
            if at_ns != now_ns:
                continue
            labels = {"node": node, "slurm_job_id": job_id, "kind": _KIND_WORDS[kind]}
            found[self._series.key_row("operations", labels)] = float(written + lost)
            found[self._series.key_row("operations_lost", labels)] = float(lost)
        return found


def _total_of(origin: Origin, kind: str) -> _Total:
    return origin.node, origin.job_id, kind
