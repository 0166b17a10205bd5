"""Records other than samples on the wire: JSON, one schema for each topic; fields of a newer version are ignored.

Fields keep the order of the dataclass, so that equal values give equal bytes.
"""

from typing import TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from common.errors import BadInput
from telemetry.changes import Change
from telemetry.events import Event
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.ledger import StageReport
from telemetry.owner import Owner
from telemetry.starvation import HostLosses
from telemetry.topology import TopologyFact
from telemetry.trends import DeviceTrends

RecordValue = Change | DeviceTrends | Event | Finding | HostLosses | Incident | Owner | StageReport | TopologyFact
V = TypeVar("V", Change, DeviceTrends, Event, Finding, HostLosses, Incident, Owner, StageReport, TopologyFact)


def encode_record(value: RecordValue) -> bytes:
    """Compact JSON, the same bytes for equal values."""
    return orjson.dumps(value)


def decode_record(value: bytes, of: type[V]) -> V:
    """The value, or BadInput (reason ``schema``) that names the first field that is wrong."""
    adapter: TypeAdapter[V] = _adapters[of]  # type: ignore[assignment]  # the key decides the value's type
    try:
        return adapter.validate_json(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "record"
        raise BadInput(f"{of.__name__}: {where}: {first['msg']}", "schema") from error


_adapters = {
    of: TypeAdapter(of)
    for of in (Change, DeviceTrends, Event, Finding, HostLosses, Incident, Owner, StageReport, TopologyFact)
}
