"""Reads the logs of one controller: those of its managers, systems and chassis."""

from collections.abc import Callable
from fnmatch import fnmatchcase

from common.errors import BadInput
from common.units import NS_PER_S, to_ns
from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.redfish.logs.config import Logs
from ingest.collectors.redfish.logs.entry import LogEntry, parse_entry
from ingest.collectors.redfish.logs.events import RECENT_NS, LogEvents, clock_error_ns
from ingest.collectors.redfish.logs.log import ControllerLog, NewEntries
from ingest.collectors.redfish.logs.metrics import Outcome
from ingest.collectors.redfish.logs.page import Member, can_skip
from ingest.collectors.redfish.logs.position import Position
from ingest.collectors.redfish.parse import ROOT, link
from ingest.collectors.redfish.walk import Reader, members_at, present

_OWNERS = ("Managers", "Systems", "Chassis")
_LOGS_MAX = 32  # of one controller
_EARLY_NS = NS_PER_S  # by which a collection may begin before its time

Count = Callable[[Outcome, int], None]


class LogReader:
    """count: is given what became of entries. clock: nanoseconds since 1970."""

    def __init__(self, config: Logs, clock: Callable[[], int], count: Count) -> None:
        self._config, self._clock, self._count = config, clock, count
        self._events = LogEvents(config.severity, config.events_max)
        self._logs: dict[str, ControllerLog] = {}  # by the path of their entries; the next one to read comes first
        self._read_ns = 0

    def is_due(self, now_ns: int) -> bool:
        return now_ns - self._read_ns >= to_ns(self._config.interval_s) - _EARLY_NS

    def samples(self, now_ns: int) -> list[SourceSample]:
        """Of what was logged lately."""
        return self._events.reading(now_ns)

    async def read(self, reader: Reader, now_ns: int) -> int:
        """Reads what is new, and returns how many logs were cut. NotRead where the controller answers nothing more."""
        self._read_ns = now_ns
        listed = await self._listed(reader)
        self._logs = {entries: log for entries, log in self._logs.items() if entries in listed}
        skips = can_skip(await reader.layout(f"{ROOT}/"))
        for entries, service in listed.items():
            position = Position(entries, skips and "?" not in entries)
            self._logs.setdefault(entries, ControllerLog(service, position))
        cut = 0
        for entries in list(self._logs):
            log = self._logs.pop(entries)
            self._logs[entries] = log  # last the next time, also where this one takes all the time there is
            new = await log.read(reader, self._config.pages_max, now_ns - RECENT_NS)
            await self._add(reader, log, new, now_ns)
            log.accept(new)
            cut += new.is_cut
        return cut

    async def _listed(self, reader: Reader) -> dict[str, str]:
        """Path of each log's entries, and of its LogService."""
        root = await reader.layout(f"{ROOT}/")
        found: dict[str, str] = {}
        for owner in _OWNERS:
            for path in await _paths(reader, link(root, owner)):
                services = link(await present(reader, reader.layout(path)), "LogServices")
                for service in await _paths(reader, services):
                    if self._is_left_out(service):
                        continue
                    document = await present(reader, reader.layout(service))
                    entries = link(document, "Entries")
                    if entries and document.get("ServiceEnabled") is not False and len(found) < _LOGS_MAX:
                        found[entries] = service
        return found

    def _is_left_out(self, service: str) -> bool:
        name = service.rstrip("/").rpartition("/")[2]
        return any(fnmatchcase(name, pattern) for pattern in self._config.leave_out)

    async def _add(self, reader: Reader, log: ControllerLog, new: NewEntries, now_ns: int) -> None:
        entries = await self._entries(reader, new, now_ns - RECENT_NS)
        rest = len(new.members) - len(entries)
        self._count(Outcome.PAST if new.are_past else Outcome.QUOTA, rest)
        error_ns = 0
        if any(entry is not None and entry.at_ns and self._events.wants(entry) for entry in entries):
            service = await present(reader, reader.reading(log.service))
            error_ns = clock_error_ns(service, self._clock())
        for entry in entries:
            if entry is None:
                self._count(Outcome.UNREADABLE, 1)
            else:
                self._count(self._events.add(entry, error_ns, now_ns, is_past=new.are_past), 1)

    async def _entries(self, reader: Reader, new: NewEntries, since_ns: int) -> list[LogEntry | None]:
        """Newest first, of the past the newest alone; None for one that cannot be read."""
        found: list[LogEntry | None] = []
        for member in new.members[: self._config.entries_max]:
            entry = await _linked(reader, member) if member.is_link else member.entry
            found.append(entry)
            if new.are_past and member.is_link and (entry is None or entry.at_ns < since_ns):
                break
        return found


async def _linked(reader: Reader, member: Member) -> LogEntry | None:
    try:
        return parse_entry(await present(reader, reader.reading(member.path)))
    except BadInput:
        return None


async def _paths(reader: Reader, path: str) -> list[str]:
    return [at for at, _ in await members_at(reader, path)] if path else []
