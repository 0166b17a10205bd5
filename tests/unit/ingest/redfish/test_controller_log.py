"""What is new in a log, whatever order it has and however its controller hands it out."""

from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.units import NS_PER_S
from ingest.collectors.redfish.controller import NotRead, Scope
from ingest.collectors.redfish.logs.log import ControllerLog, NewEntries
from ingest.collectors.redfish.logs.position import Position
from ingest.collectors.redfish.parse import Document
from telemetry.samples import DownReason

ENTRIES = "/redfish/v1/Systems/1/LogServices/SEL/Entries"
NOW_NS = 1_760_000_000 * NS_PER_S
PAGES_MAX = 4


@dataclass
class Log:
    """A controller with one log, in memory. kept: entries, oldest first, as (number, text). page: entries of one page.

    renumbers: the newest entry is always the first. timed: entries have a time. max: older ones are overwritten.
    asked: requests. fails: all of them are refused, from that request on.
    """

    rising: bool = True
    page: int = 50
    skips: bool = False
    timed: bool = True
    renumbers: bool = False
    links: bool = False
    max: int = 1000
    kept: list[int] = field(default_factory=list)
    asked: int = 0
    fails_after: int = 10**9
    failures: list[NotRead] = field(default_factory=list)
    first_id: int = 0

    def add(self, *numbers: int) -> None:
        self.kept = [*self.kept, *numbers][-self.max :]

    def clear(self) -> None:
        self.first_id = max(self.kept, default=-1) + 1
        self.kept = []

    async def reading(self, path: str) -> Document:
        self.asked += 1
        if self.asked > self.fails_after:
            raise NotRead(DownReason.TIMEOUT, "gone")
        found = self._members()
        begin = int(parse_qs(urlsplit(path).query).get("$skip", ["0"])[0])
        if path.partition("?")[0] != ENTRIES or (begin and begin >= len(found)):
            raise NotRead(DownReason.HTTP_STATUS, path, Scope.ABSENT)
        end = begin + self.page
        following = {"Members@odata.nextLink": f"{ENTRIES}?$skip={end}"} if end < len(found) else {}
        return {"Members@odata.count": len(found), "Members": found[begin:end], **following}

    layout = reading

    def failed(self, error: NotRead) -> None:
        self.failures.append(error)

    def _members(self) -> list[dict[str, Any]]:
        listed = [self._entry(place, number) for place, number in enumerate(self.kept)]
        return listed if self.rising else listed[::-1]

    def _entry(self, place: int, number: int) -> dict[str, Any]:
        name = len(self.kept) - place if self.renumbers else number - self.first_id + 1
        path = {"@odata.id": f"{ENTRIES}/{name}"}
        if self.links:
            return path
        time = {"Created": _time(number)} if self.timed else {}
        return {**path, "Id": str(name), "Message": f"text {number}", **time}


def _time(number: int) -> str:
    at_s = NOW_NS // NS_PER_S - 7200 + number
    minutes, seconds = divmod(at_s - 1_759_968_000, 60)
    return f"2025-10-09T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z"


def log_of(controller: Log) -> ControllerLog:
    return ControllerLog("", Position(ENTRIES, controller.skips))


def finished(reading: Coroutine[Any, Any, NewEntries]) -> NewEntries:
    """Nothing of it has to wait."""
    with pytest.raises(StopIteration) as end:
        reading.send(None)
    return cast(NewEntries, end.value.value)


def read(log: ControllerLog, controller: Log) -> list[int]:
    """Numbers of the entries that are new, oldest first; none of those that were there at first."""
    new = finished(log.read(controller, PAGES_MAX, NOW_NS))
    log.accept(new)
    if new.are_past:
        return []
    found = [member.entry.message if member.entry else member.path for member in reversed(new.members)]
    return [int(text.rpartition("/" if controller.links else " ")[2]) for text in found]


controllers = st.builds(
    Log,
    rising=st.booleans(),
    page=st.sampled_from([7, 50, 1000]),
    skips=st.booleans(),
    timed=st.booleans(),
    max=st.sampled_from([40, 1000]),
    kept=st.sampled_from([0, 1, 30, 120, 180]).map(lambda n: list(range(n))),
)


@given(controllers, st.lists(st.integers(0, 6), min_size=1, max_size=12))
@settings(deadline=None, max_examples=60)
def test_each_new_entry_is_found_once(controller: Log, grows: list[int]) -> None:
    controller.kept = controller.kept[-controller.max :]
    log, number, found, added = log_of(controller), 180, list[int](), list[int]()
    for _ in range(8):  # to the end of what is there
        assert read(log, controller) == []
    for grown in grows:
        new = list(range(number, number + grown))
        number += grown
        controller.add(*new)
        added += new
        found += read(log, controller)
    assert found == added


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("timed", [True, False])
def test_a_log_that_is_cleared_begins_again(rising: bool, skips: bool, timed: bool) -> None:
    controller = Log(rising=rising, skips=skips, timed=timed, page=10, kept=list(range(30)))
    log = log_of(controller)
    read(log, controller)
    controller.clear()
    controller.add(30, 31)
    first = read(log, controller)
    controller.add(32)
    assert [*first, *read(log, controller)] in ([30, 31, 32], [32])


@pytest.mark.parametrize("rising", [True, False])
def test_the_first_entry_after_a_log_was_cleared_may_be_as_the_first_one_before(rising: bool) -> None:
    controller = Log(rising=rising, timed=False, kept=[0, 1])
    log = log_of(controller)
    read(log, controller)
    controller.kept = [0]
    assert read(log, controller) == [0]


@pytest.mark.parametrize("rising", [True, False])
def test_a_log_that_numbers_its_entries_again_has_the_new_ones_alone(rising: bool) -> None:
    controller = Log(rising=rising, renumbers=True, kept=list(range(5)))
    log = log_of(controller)
    read(log, controller)
    controller.add(5)
    assert read(log, controller) == [5]


@pytest.mark.parametrize("rising", [True, False])
def test_entries_that_are_deleted_leave_no_old_ones_as_new(rising: bool) -> None:
    controller = Log(rising=rising, page=10, kept=list(range(60)))
    log = log_of(controller)
    for _ in range(3):
        read(log, controller)
    controller.kept = [number for number in controller.kept if number not in (59, 58, 40)]
    controller.add(60)
    assert read(log, controller) == [60]


@pytest.mark.parametrize(("skips", "requests"), [(True, 2), (False, 4)])
def test_a_long_log_that_ends_with_the_newest_is_read_at_its_end(skips: bool, requests: int) -> None:
    controller = Log(skips=skips, kept=list(range(900)))
    log = log_of(controller)
    read(log, controller)
    assert controller.asked == requests
    for _ in range(5):
        read(log, controller)
    before = controller.asked
    controller.add(900, 901)
    assert (read(log, controller), controller.asked - before) == ([900, 901], 2 if skips else 3)


def test_a_log_that_begins_with_the_newest_is_read_as_far_as_it_is_new() -> None:
    controller = Log(rising=False, kept=list(range(900)))
    log = log_of(controller)
    read(log, controller)
    read(log, controller)
    assert controller.asked == 2
    controller.add(*range(900, 960))
    assert (read(log, controller), controller.asked) == (list(range(900, 960)), 4)


def test_more_new_entries_than_are_read_are_said() -> None:
    controller = Log(rising=False, page=10, kept=list(range(20)))
    log = log_of(controller)
    read(log, controller)
    controller.add(*range(20, 80))
    new = finished(log.read(controller, PAGES_MAX, NOW_NS))
    assert (len(new.members), new.is_cut) == (40, True)


@pytest.mark.parametrize("rising", [True, False])
def test_what_was_read_in_vain_is_new_the_next_time(rising: bool) -> None:
    controller = Log(rising=rising, page=10, kept=list(range(10)))
    log = log_of(controller)
    read(log, controller)
    controller.add(*range(10, 35))
    controller.fails_after = controller.asked + 1
    with pytest.raises(NotRead):
        read(log, controller)
    controller.fails_after = 10**9
    assert read(log, controller) == list(range(10, 35))


def test_links_alone_are_distinguished_by_their_number() -> None:
    controller = Log(links=True, kept=list(range(20)))
    log = log_of(controller)
    read(log, controller)
    controller.add(20, 21)
    assert read(log, controller) == [21, 22]


def test_a_controller_that_cannot_skip_as_it_says_is_read_page_by_page() -> None:
    class Lying(Log):
        async def reading(self, path: str) -> Document:
            page = await super().reading(path.replace("skip=870", "skip=0"))
            return {**page, "Members": []} if "skip=870" in path else page

    controller = Lying(skips=True, kept=list(range(920)))
    log = log_of(controller)
    for _ in range(8):
        read(log, controller)
    controller.add(920)
    assert read(log, controller) == [920]
