"""Calls of Cisco switches: whatever was sent before, a message that can be read is counted, its samples are numbers."""

import numpy as np

from ingest.collectors.cisco_mdt.config import DeviceFrom
from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.cisco_mdt.messages import Chunks
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.transport.grpc_messages import CallEnded
from tests.unit.ingest.cisco_mdt.telemetry import (
    COUNTERS,
    NOW_NS,
    STATISTICS,
    args,
    as_json,
    managed,
    message,
    nxos,
    nxos_json,
)

_NAMING = Naming(("cisco", "openconfig"))
_KEYS = {"name": "Eth1/1"}
_PORT = managed(
    "l1PhysIf",
    {"dn": "sys/intf/phys-[eth1/1]", "mtu": 9216},
    managed("rmonIfHCIn", {"octets": "7", "rn": "dbgIfHCIn"}),
    managed("ethpmPhysIf", {"operSt": "up", "rn": "phys"}),
)
_SHOWN = {"TABLE_interface": [{"ROW_interface": [{"interface": "Ethernet1/1", "eth_inbytes": "7"}]}]}
SEEDS = (
    args(message(COUNTERS, (_KEYS, {"in-octets": 5, "out-octets": "7", "x": {"y": 1.5}}))),
    args(message(STATISTICS, (_KEYS, {"in-errors": -1, "list": [{"a": 1}, {"a": 2}]}))),
    args(as_json(COUNTERS, (_KEYS, {"in-octets": 5}))),
    args(b"{}", 4),
    args(nxos("sys/intf", _PORT)),
    args(nxos_json("sys/intf", _PORT)),
    args(nxos("show interface", _SHOWN)),
)


def target(data: bytes) -> None:
    decoder, chunks = Decoder("t", "d", _NAMING, 20), Chunks(DeviceFrom.NODE_ID, 4096)
    for sent in (data, SEEDS[0], SEEDS[4], data, data):
        try:
            found = chunks(sent)
        except CallEnded:
            continue
        if found is not None:
            decoded = decoder.decode([found[1]], NOW_NS)
            assert decoded.received == decoded.values.size + decoded.drops.total()
            assert np.isfinite(decoded.values).all()
