"""How far one log was read, and what is new in it. Pure.

What is new follows from the order of the entries: those newer than the newest that were read. So nothing of a log is
kept but its last entries, and a log may be cleared, begin again at the first number, or overwrite its oldest ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ingest.collectors.redfish.logs.page import Member, is_rising

_LAST_MAX = 32  # entries that are kept: some of them may be deleted one by one
OVERLAP = 50  # entries that are read again where a log is read from the middle: a page of most controllers


@dataclass(slots=True)
class Position:
    """entries: path of the log. skips: whether the controller can skip entries.

    begins: path of the page with which a reading begins, number: of entries before it. rising: whether the newest entry
    stands last, None while that was not seen. are_past: the log was not read to its end yet, so what is there was there
    when it was first seen. count: of all entries, when the first page was last read. last: keys of the newest entries
    that were read, and whether each has a time.
    """

    entries: str
    skips: bool
    begins: str = ""
    number: int = 0
    rising: bool | None = None
    are_past: bool = True
    count: int = 0
    last: Mapping[bytes, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begins = self.begins or self.entries

    def begin_again(self) -> None:
        """A page is gone. A controller that says it can skip and gives nothing then is not asked for that again."""
        self.skips = self.skips and not self.are_past
        self.are_past, self.begins, self.number = True, self.entries, 0

    def begin_before(self, number: int) -> None:
        """With the last entries before that one, where the page with them is longer."""
        if number > self.number + OVERLAP:
            self.begins, self.number = f"{self.entries}?$skip={number - OVERLAP}", number - OVERLAP

    def see(self, path: str, members: Sequence[Member], count: int) -> None:
        """What a page says of the whole log."""
        direction = is_rising(members)
        self.rising = self.rising if direction is None else direction
        if path != self.entries:
            return
        if count < self.count:  # cleared, and numbers may begin again
            self.last = {key: has_time for key, has_time in self.last.items() if has_time}
            self.are_past = False
        self.count = count

    def is_read(self, members: Sequence[Member], since_ns: int) -> bool:
        """Of a log that begins with its newest entry: whether all further ones are known, or do not matter."""
        is_past = self.are_past and bool(members) and members[-1].at_ns < since_ns
        return is_past or any(member.key in self.last for member in members)

    def newer(self, found: Sequence[Member]) -> list[Member]:
        """Those that are new, newest first; they are known then. Some before stay, as newer ones may be deleted."""
        newest_first = found if self.rising is False else found[::-1]
        new = list(takewhile(lambda member: member.key not in self.last, newest_first))
        last = {member.key: member.at_ns > 0 for member in new[:_LAST_MAX]}
        self.last = dict([*last.items(), *self.last.items()][:_LAST_MAX])
        return new
