"""SubscribeResponses: whatever was sent before, a message that can be read is counted, and its samples are numbers."""

import json

import numpy as np

from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES

_NOW = 1_700_000_000_000_000_000
_NAMING = Naming(("sonic", "openconfig", "arista"))
_COUNTERS = "/interfaces/interface[name=Ethernet1]/state/counters"


def _response(prefix: str, values: dict[str, object]) -> bytes:
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = _NOW
    made.update.prefix.CopyFrom(parse_path(prefix))
    for path, value in values.items():
        update = made.update.update.add(path=parse_path(path))
        match value:
            case bool():
                update.val.bool_val = value
            case int():
                update.val.uint_val = value
            case float():
                update.val.double_val = value
            case str():
                update.val.string_val = value
            case _:
                update.val.json_ietf_val = json.dumps(value).encode()
    return bytes(made.SerializeToString())


def _of_sonic(name: str) -> bytes:
    document = json.loads((SAMPLES / "sonic" / "gnmi" / f"{name}.json").read_text())
    return _response("/COUNTERS", {"Ethernet68": document})[:4000]


_DELETED = gnmi_pb2.SubscribeResponse()
_DELETED.update.delete.append(parse_path(_COUNTERS))
_GOOD = _response(_COUNTERS, {"in-octets": 1})
SEEDS = (
    _response(_COUNTERS, {"in-octets": 7, "in-errors": 0, "out-octets": 1.5, "x": "none"}),
    _response("/", {"interfaces/interface[name=Ethernet1]/state": {"counters": {"in-octets": "5"}}}),
    _response("/", {"components/component[name=Ethernet1]/state/temperature/instant": 31.5}),
    _response("TRANSCEIVER_DOM_SENSOR", {"Ethernet1": {"rx1power": "-3.2", "tx1power": "N/A"}}),
    _response("COUNTERS_PORT_ALIAS_MAP", {"Ethernet68": "etp18"}),
    bytes(_DELETED.SerializeToString()),
    bytes(gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()),
    _of_sonic("COUNTERS__Ethernet68"),
    _of_sonic("COUNTERS__Ethernet68__Queues"),
)


def target(data: bytes) -> None:
    decoder = Decoder("t", "d", _NAMING, 100)
    for _ in range(2):  # what was new the first time is known the second time
        decoded = decoder.decode([data, _GOOD], _NOW)
        assert decoded.updates >= 1
        assert np.isfinite(decoded.values).all()
        assert len(decoded.rows) == len(decoded.values)
