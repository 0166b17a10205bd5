"""A change event as people write it, validated, as a Change on the bus: for the API and the command line alike."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from bus.base import Bus, Message
from common.errors import BadInput
from common.units import NS_PER_S
from fabricscope.api.instants import RFC_3339
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.objects import ObjectKind, parse_object
from telemetry.refusals import CHANGE_LASTS_NS_MAX, CHANGE_OBJECTS_MAX

LASTS_MAX = timedelta(seconds=CHANGE_LASTS_NS_MAX // NS_PER_S)
AHEAD_MAX = timedelta(days=366)
CHARS_MAX = 500
_OBJECTS_SHOWN = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(2200, 1, 1, tzinfo=UTC)  # nanoseconds since the epoch fit into 64 bits until 2262
_MICROSECOND = timedelta(microseconds=1)


def _rfc3339_text(value: object) -> object:
    """Pydantic alone would also accept 1700000000 as a time."""
    if not isinstance(value, str) or not RFC_3339.fullmatch(value):
        raise ValueError("expected a time as in RFC 3339, 2026-01-31T22:00:00Z")
    return value


def _parsed(text: str) -> str:
    try:
        return str(parse_object(text))
    except BadInput as error:
        raise ValueError(str(error)) from error


Text = Annotated[str, Field(max_length=CHARS_MAX)]
Object = Annotated[
    Text, AfterValidator(_parsed), Field(json_schema_extra={"pattern": f"^({'|'.join(ObjectKind)}):.+$"})
]
Moment = Annotated[AwareDatetime, Field(ge=_EPOCH, lt=_END), BeforeValidator(_rfc3339_text)]


_EXAMPLE: JsonDict = {
    "kind": "maintenance",
    "objects": ["device:node1", "rack:r2"],
    "starts": "2026-01-31T22:00:00Z",
    "ends": "2026-02-01T00:00:00Z",
    "author": "carol",
    "summary": "new PSUs",
}


class ChangeEvent(BaseModel):
    """One change as people write and read it. Times are event times, RFC 3339 with microseconds.

    starts: now, if absent; at most 366 days ahead. ends: absent for what happens at a moment; at most 30 days after
    the start.
    id: a change of the same id replaces the one before; '' for one made of kind, objects and start.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    kind: ChangeKind
    objects: tuple[Object, ...] = Field(min_length=1, max_length=CHANGE_OBJECTS_MAX)
    starts: Moment | None = None
    ends: Moment | None = None
    author: Text = ""
    summary: Text = ""
    id: Text = ""

    def change(self, now_ns: int) -> Change:
        """now_ns: event time, for a change without a start. BadInput for times that make no plan."""
        now = moment(now_ns)
        starts = self.starts or now
        if starts > now + AHEAD_MAX:
            raise BadInput(
                f"starts: {rfc3339(starts)} is more than {AHEAD_MAX.days} days ahead, "
                f"expected at most {rfc3339(now + AHEAD_MAX)}"
            )
        if self.ends is not None and self.ends < starts:
            raise BadInput(f"ends: {rfc3339(self.ends)} is before the start, expected a time after {rfc3339(starts)}")
        if self.ends is not None and self.ends > starts + LASTS_MAX:
            raise BadInput(
                f"ends: {rfc3339(self.ends)} is more than {LASTS_MAX.days} days after the start, "
                f"expected at most {rfc3339(starts + LASTS_MAX)}"
            )
        objects = tuple(sorted({parse_object(text) for text in self.objects}))
        ends_ns = _nanoseconds(self.ends) if self.ends is not None else 0
        digest = hashlib.sha256("\0".join(map(str, objects)).encode()).hexdigest()[:12]
        identity = self.id or f"{self.kind}/{rfc3339(starts)}/{digest}"
        return Change(identity, self.kind, objects, _nanoseconds(starts), ends_ns, self.author, self.summary)


async def publish_change(bus: Bus, change: Change) -> None:
    """Returns once it is durable; Unavailable when it is not."""
    await bus.publish(topics.CHANGES, [Message(change.id.encode(), encode_record(change))])


def moment(time_ns: int) -> datetime:
    """In UTC, cut to microseconds and to the years that a calendar can show."""
    return min(_EPOCH + timedelta(microseconds=min(max(time_ns, 0), 2**63) // 1000), _END)


def rfc3339(when: datetime) -> str:
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def describe_change(change: Change) -> str:
    """
    >>> describe_change(Change("c1", ChangeKind.DRAIN, (parse_object("device:node1"),), 0, 3600 * 10**9))
    'drain of device:node1 from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z'
    """
    shown = ", ".join(map(str, change.objects[:_OBJECTS_SHOWN]))
    more = len(change.objects) - _OBJECTS_SHOWN
    what = f"{change.kind} of {shown}" + (f" and {more} more" if more > 0 else "")
    starts = rfc3339(moment(change.starts_ns))
    return f"{what} from {starts} to {rfc3339(moment(change.ends_ns))}" if change.ends_ns else f"{what} at {starts}"


def audited(change: Change) -> dict[str, str]:
    """What the audit log says of it."""
    return {"change": describe_change(change), "id": change.id, "author": change.author}


def _nanoseconds(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND * 1000
