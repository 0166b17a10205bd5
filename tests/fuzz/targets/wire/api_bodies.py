"""Bodies that the API is sent: planned changes, as they are then on the bus."""

from pydantic import ValidationError

from common.errors import BadInput
from fabricscope.api import views
from fabricscope.api.change_event import ChangeEvent, describe_change
from telemetry.changes import Change
from telemetry.codec.records import decode_record, encode_record

_NOW = 1_760_000_000_000_000_000
SEEDS = (
    b'{"kind": "drain", "objects": ["device:node1", "rack:r1"], "starts": "2025-10-09T08:53:20Z",'
    b' "ends": "2025-10-09T10:53:20.5+02:00", "author": "ada", "summary": "new cable", "id": "c1"}',
    b'{"kind": "reboot", "objects": ["port:leaf1/Ethernet4"]}',
)


def target(data: bytes) -> None:
    try:
        change = ChangeEvent.model_validate_json(data).change(_NOW)
    except (ValidationError, BadInput):
        return
    assert decode_record(encode_record(change), Change) == change
    answered = views.Change.of(change).model_dump(mode="json")
    assert ChangeEvent.model_validate(answered).change(_NOW).id == change.id
    describe_change(change)
