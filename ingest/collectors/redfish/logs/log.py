"""One log of a controller."""

from dataclasses import dataclass, replace

from ingest.collectors.redfish.logs.page import Member, count_of, members_of
from ingest.collectors.redfish.logs.position import OVERLAP, Position
from ingest.collectors.redfish.parse import next_page
from ingest.collectors.redfish.walk import Reader, present


@dataclass(frozen=True, slots=True)
class NewEntries:
    """members: newest first. are_past: they were there when the log was first seen. is_cut: there are further new ones,
    which nobody reads. after: the position, once they were processed.
    """

    members: list[Member]
    are_past: bool
    is_cut: bool
    after: Position


class ControllerLog:
    """service: path of the LogService.

    A log that begins with its newest entry is read from its first page to one that is known; one that ends with it from
    its last two pages on, or from its last entries where the controller can skip.
    """

    def __init__(self, service: str, position: Position) -> None:
        self.service, self._position = service, position

    def accept(self, new: NewEntries) -> None:
        """They were processed. Without that they are new again."""
        self._position = new.after

    async def read(self, reader: Reader, pages_max: int, since_ns: int) -> NewEntries:
        """since_ns: of what was there when the log is first seen, nothing older matters. NotRead where the controller
        answers nothing more."""
        at = replace(self._position)
        path, number, left = at.begins, at.number, pages_max
        found: list[Member] = []
        pages: list[tuple[str, int]] = []  # path of each, and the number of entries before it
        while path and left:
            left -= 1
            page = await present(reader, reader.reading(path))
            members, following = members_of(page), next_page(page)
            if is_gone := not members and path != at.entries:  # cleared, or its pages lie elsewhere now
                at.begin_again()
            if not page:
                return NewEntries([], are_past=False, is_cut=False, after=at)
            if is_gone:
                found, number, path, pages = [], 0, at.entries, []
                continue
            pages.append((path, number + len(found)))
            found += members
            at.see(path, members, count_of(page))
            if not at.rising:
                path = "" if at.is_read(members, since_ns) else following
            elif following and at.skips and at.are_past and at.count > number + len(found) + OVERLAP:
                at.begin_before(at.count)
                found, number, path, pages = [], at.number, at.begins, []
            else:
                path = following
        if at.rising and pages:  # the last page of a full log may have new ones alone, so with the one before it
            at.begins, at.number = pages[-1] if path else pages[-2:][0]
            if not path and at.skips:
                at.begin_before(number + len(found))
        are_past, at.are_past = at.are_past, at.are_past and bool(at.rising and path)
        is_cut = bool(path) and not at.rising and not are_past
        return NewEntries(at.newer(found), are_past, is_cut, at)
