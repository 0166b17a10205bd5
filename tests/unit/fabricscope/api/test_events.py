"""Events through the API's read model, filters and pages."""

import pytest
from starlette.datastructures import MutableHeaders, QueryParams

from bus.base import Record
from fabricscope.api import read_model
from fabricscope.api.history import History
from fabricscope.api.metrics import EVENTS_FORGOTTEN
from fabricscope.api.paging import Pager
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.events import EventFilter, list_events
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.events import Event, EventKind, EventState
from telemetry.objects import port


def event(number: int, kind: EventKind = EventKind.PFC_PAUSE, *, ended: bool = True) -> Event:
    begin, end = number * 10**9, (number + 5) * 10**9 if ended else 0
    state = EventState.ENDED if ended else EventState.OPEN
    of = port("leaf1", f"Ethernet{number}")
    return Event(f"e{number}", kind, state, of, "metric", "gnmi/leaf1", begin, begin, begin + 10**9, end, end)


def model_with(*events: Event) -> ReadModel:
    model = ReadModel(History(1, 1))
    key = topics.EVENTS.name
    model.apply([Record(key, 0, n, 0, each.id.encode(), encode_record(each), {}) for n, each in enumerate(events)])
    return model


async def test_events_are_listed_latest_first_and_chosen() -> None:
    model = model_with(event(1), event(50, EventKind.XID), event(20, ended=False))

    async def ids(**chosen: object) -> list[str]:
        pager = Pager("/", QueryParams(), MutableHeaders())
        return [one.id for one in await list_events(model, pager, EventFilter.model_validate(chosen))]

    assert await ids() == ["e50", "e20", "e1"]
    assert await ids(kind="xid") == ["e50"]
    assert await ids(object="port:leaf1/Ethernet20") == ["e20"]
    assert await ids(object="leaf1", since="30") == ["e50", "e20"]
    assert await ids(until="10") == ["e1"]
    assert await ids(state="open") == ["e20"]
    assert await ids(limit=1) == ["e50"]


def test_the_oldest_that_ended_makes_room_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_model, "EVENTS_MAX", 3)
    before = {state: EVENTS_FORGOTTEN.labels(state)._value.get() for state in EventState}
    model = model_with(
        event(1, ended=False), event(2), event(3), event(4), event(5, ended=False), event(6, ended=False)
    )
    assert list(model.events) == ["e1", "e5", "e6"]
    model = model_with(*(event(n, ended=False) for n in (1, 2, 3, 1, 4)))  # the first is published once more
    assert list(model.events) == ["e3", "e1", "e4"]
    gone = {state: EVENTS_FORGOTTEN.labels(state)._value.get() - before[state] for state in EventState}
    assert gone == {EventState.ENDED: 3, EventState.OPEN: 1}
