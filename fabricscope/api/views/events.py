"""Events as the API answers them."""

from dataclasses import fields

from pydantic import Field

from fabricscope.api.instants import Instant, MaybeInstant
from fabricscope.api.views.view import View
from telemetry import events
from telemetry.events import EventKind, EventState


class Event(View):
    """What happened to an object, as of ``observed``, in event time.

    It began after ``began_after`` and by ``began_by``, and ended between the other two, which are null while it is
    open. Where both are equal the time is exact. at_least_s, at_most_s: its duration, null while it is open. count:
    how many were merged into it. amount: growth of the counter in it, in ``unit``. source: the metric that shows it.
    where: the object as people call it, a GPU by its index and serial.
    """

    id: str = Field(examples=["pfc_pause/1769896800000000000/0f3c2a9b1d7e4455"])
    kind: EventKind
    state: EventState
    object: str = Field(examples=["port:leaf1/Ethernet4"])
    source: str = Field(examples=["fabric_port_pfc_pause_seconds_total"])
    target: str = Field(examples=["gnmi/leaf1"])
    observed: Instant
    began_after: Instant
    began_by: Instant
    ended_after: MaybeInstant
    ended_by: MaybeInstant
    at_least_s: float | None = Field(examples=[4.2])
    at_most_s: float | None = Field(examples=[20.0])
    count: int = Field(examples=[1])
    amount: float = Field(examples=[4.2])
    unit: str = Field(examples=["seconds"])
    priority: str = Field(examples=["3"])
    queue: str = Field(examples=[""])
    direction: str = Field(examples=["rx"])
    detail: str = Field(examples=[""])
    where: str = Field(examples=["leaf1/Ethernet4"])

    @classmethod
    def of(cls, event: events.Event) -> "Event":
        record = {field.name: getattr(event, field.name) for field in fields(event)}
        durations = {"at_least_s": event.at_least_s, "at_most_s": event.at_most_s}
        return cls.model_validate(record | durations | {"object": str(event.object)})
