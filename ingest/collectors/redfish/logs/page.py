"""Pages of a log, and in which order their entries stand. Pure."""

import hashlib
from collections.abc import Sequence
from functools import cached_property

import orjson

from common.errors import BadInput
from ingest.collectors.redfish.logs.entry import LogEntry, parse_entry
from ingest.collectors.redfish.parse import Document, path_of


class Member:
    """One entry of a page, of which nothing is read before it is asked for: of most pages only the newest entry is."""

    def __init__(self, listed: object) -> None:
        self._listed = listed

    @cached_property
    def path(self) -> str:
        """'' where there is none."""
        return path_of(self._listed)

    @property
    def is_link(self) -> bool:
        """Whether the page has no more of it than its path."""
        return isinstance(self._listed, dict) and len(self._listed) == 1 and bool(self.path)

    @cached_property
    def entry(self) -> LogEntry | None:
        """None for a link alone, and for what cannot be read."""
        try:
            return parse_entry(self._listed) if isinstance(self._listed, dict) and not self.is_link else None
        except BadInput:
            return None

    @cached_property
    def key(self) -> bytes:
        """The same whenever it is read."""
        if self.entry is not None:
            return _digest(_identity(self.entry))
        return _digest(self.path if self.is_link else orjson.dumps(self._listed))

    @property
    def at_ns(self) -> int:
        return self.entry.at_ns if self.entry is not None else 0

    @property
    def number(self) -> int:
        """By which entries are counted; -1 where they are not."""
        name = self.path.rstrip("/").rpartition("/")[2]
        return int(name) if name.isascii() and name.isdecimal() and len(name) < 19 else -1


def members_of(page: Document) -> list[Member]:
    """In the order of the page."""
    found = page.get("Members")
    return [Member(one) for one in found] if isinstance(found, list) else []


def is_rising(members: Sequence[Member]) -> bool | None:
    """Whether the newest entry stands last, by time, else by number; None where that cannot be seen."""
    if not members:
        return None
    first, last = members[0], members[-1]
    if first.at_ns and last.at_ns and first.at_ns != last.at_ns:
        return first.at_ns < last.at_ns
    if min(first.number, last.number) >= 0 and first.number != last.number:
        return first.number < last.number
    return None


def count_of(page: Document) -> int:
    """How many entries the log has, which may be more than the page; 0 where it does not say so."""
    count = page.get("Members@odata.count")
    return count if type(count) is int and 0 < count < 2**53 else 0


def can_skip(root: Document) -> bool:
    """Whether a collection can be asked for from some member on (DSP0266 7.3.2)."""
    features = root.get("ProtocolFeaturesSupported")
    return isinstance(features, dict) and features.get("TopSkipQuery") is True


def _identity(entry: LogEntry) -> str:
    """Without the Id where there is a time: some controllers number all entries again with each new one."""
    who = str(entry.at_ns) if entry.at_ns else f"id {entry.id}"
    return "\0".join((who, entry.severity, entry.message, entry.message_id, entry.sensor, entry.event))


def _digest(value: str | bytes) -> bytes:
    return hashlib.blake2b(value.encode() if isinstance(value, str) else value, digest_size=8).digest()
