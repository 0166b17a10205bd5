"""The JSON records of all topics: what can be read is the same after another round."""

from typing import Any

from common.errors import BadInput
from telemetry.codec.records import _adapters, decode_record, encode_record
from tests.unit.alerts.incident_factory import incident
from tests.unit.telemetry.test_records import RECORDS

_TYPES = tuple(_adapters)
SEEDS = tuple(bytes([_TYPES.index(type(record))]) + encode_record(record) for record in (*RECORDS, incident()))


def target(data: bytes) -> None:
    """The first byte says of which type the record is."""
    of: Any = _TYPES[(data[0] if data else 0) % len(_TYPES)]
    try:
        record = decode_record(data[1:], of)
    except BadInput:
        return
    again = encode_record(record)
    assert encode_record(decode_record(again, of)) == again
