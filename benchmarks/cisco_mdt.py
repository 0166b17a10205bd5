"""What decoding Cisco's telemetry costs, beside protobuf's own classes on the same messages: bytes to samples.

The plain decoder reads a message with the official classes and keeps each number by its path and keys, which is what
telemetry pipelines do with it.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_MS, NS_PER_S
from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import Telemetry, TelemetryField
from ingest.collectors.gnmi.paths.naming import Naming

_ROUND_S = 2.0
_NOW_NS = 1_780_000_000 * NS_PER_S
_COUNTERS = (
    *("in-octets", "out-octets", "in-unicast-pkts", "out-unicast-pkts", "in-multicast-pkts", "out-multicast-pkts"),
    *("in-broadcast-pkts", "out-broadcast-pkts", "in-errors", "out-errors", "in-discards", "out-discards"),
)
SAMPLES_A_PORT = len(_COUNTERS)
# Of NX-OS' objects: class, rn, attributes that are read, and some of those that are not.
_OBJECTS = (
    (
        "rmonIfHCIn",
        "dbgIfHCIn",
        ("octets", "ucastPkts", "multicastPkts", "broadcastPkts"),
        ("broadcastPckts", "clearTs"),
    ),
    (
        "rmonIfHCOut",
        "dbgIfHCOut",
        ("octets", "ucastPkts", "multicastPkts", "broadcastPkts"),
        ("broadcastPckts", "clearTs"),
    ),
    ("rmonIfIn", "dbgIfIn", ("errors", "discards"), ("nUcastPkts", "octetRate", "packetRate", "rateInterval")),
    ("rmonIfOut", "dbgIfOut", ("errors", "discards"), ("nUcastPkts", "octetRate", "packetRate", "rateInterval")),
)
_PORTS, _MESSAGES = 64, 50
SAMPLES = _PORTS * SAMPLES_A_PORT * _MESSAGES


def run() -> list[Row]:
    messages = [message_of("leaf1", _PORTS, _NOW_NS + number * NS_PER_MS) for number in range(_MESSAGES)]
    decoder = Decoder("bench", "leaf1", Naming(("cisco", "openconfig")))
    assert decoder.decode(messages, _NOW_NS).values.size == SAMPLES, "each counter is a sample"
    ours = _best_per_s(lambda: decoder.decode(messages, _NOW_NS))
    assert _plain(messages) == SAMPLES
    rows = [row("cisco_mdt_decode_64_ports_a_message", ours, "samples/CPU-s", _best_per_s(lambda: _plain(messages)))]
    objects = [objects_of("leaf1", _PORTS, _NOW_NS + number * NS_PER_MS) for number in range(_MESSAGES)]
    assert decoder.decode(objects, _NOW_NS).values.size == SAMPLES, "and so it is as an attribute of an object"
    ours = _best_per_s(lambda: decoder.decode(objects, _NOW_NS))
    theirs = _best_per_s(lambda: _plain_objects(objects))
    return [*rows, row("cisco_mdt_decode_objects_of_64_ports_a_message", ours, "samples/CPU-s", theirs)]


def message_of(switch: str, ports: int, at_ns: int) -> bytes:
    """Counters of ports as self-describing GPB, one row a port; they rise with time."""
    made = Telemetry(node_id_str=switch, subscription_id_str="1", msg_timestamp=at_ns // NS_PER_MS)
    made.encoding_path = "openconfig-interfaces:interfaces/interface/state/counters"
    for port in range(ports):
        line = made.data_gpbkv.add(timestamp=made.msg_timestamp)
        line.fields.add(name="keys").fields.add(name="name", string_value=f"Ethernet1/{port}")
        content = line.fields.add(name="content")
        for name in _COUNTERS:
            content.fields.add(name=name, uint64_value=made.msg_timestamp)
    return bytes(made.SerializeToString())


def objects_of(switch: str, ports: int, at_ns: int) -> bytes:
    """The same counters as NX-OS sends a query of a subtree by class (``data-source DME``): one row, all objects."""
    made = Telemetry(node_id_str=switch, subscription_id_str="1", msg_timestamp=at_ns // NS_PER_MS)
    made.encoding_path = "sys/intf"
    line = made.data_gpbkv.add()
    line.fields.add(name="keys").fields.add(name="sys/intf", string_value="sys/intf")
    children = line.fields.add(name="content").fields.add().fields.add(name="children")
    for port in range(ports):
        for name, rn, read, others in _OBJECTS:
            attributes = (
                children.fields.add().fields.add(name=name).fields.add().fields.add(name="attributes").fields.add()
            )
            for each in (*others, *read):
                attributes.fields.add(name=each, uint64_value=made.msg_timestamp)
            attributes.fields.add(name="dn", string_value=f"sys/intf/phys-[eth2/{port}]/{rn}")
            attributes.fields.add(name="rn", string_value="")
    return bytes(made.SerializeToString())


def _plain(messages: Sequence[bytes]) -> int:
    values: dict[tuple[str, str, str], float] = {}
    read = 0
    for data in messages:
        message = Telemetry.FromString(data)
        for line in message.data_gpbkv:
            parts = {part.name: part.fields for part in line.fields}
            keys = ",".join(f"{key.name}={key.string_value}" for key in parts["keys"])
            for path, value in _leaves(message.encoding_path, parts["content"]):
                values[message.node_id_str, path, keys] = value
                read += 1
    return read


def _plain_objects(messages: Sequence[bytes]) -> int:
    """Keeps each number of an object by its dn and name."""
    values: dict[tuple[str, str, str], float] = {}
    for data in messages:
        message = Telemetry.FromString(data)
        for attributes in (one for line in message.data_gpbkv for one in _attributes(line.fields)):
            dn = next(field.string_value for field in attributes if field.name == "dn")
            for field in attributes:
                kind = field.WhichOneof("value_by_type")
                if kind and kind != "string_value":
                    values[message.node_id_str, dn, field.name] = float(getattr(field, kind))
    return len(values)


def _attributes(fields: Sequence[TelemetryField]) -> Iterator[Sequence[TelemetryField]]:
    for field in fields:
        if field.name == "attributes":
            yield field.fields[0].fields
        else:
            yield from _attributes(field.fields)


def _leaves(path: str, fields: Sequence[TelemetryField]) -> Iterator[tuple[str, float]]:
    for field in fields:
        if field.fields:
            yield from _leaves(f"{path}/{field.name}", field.fields)
        elif kind := field.WhichOneof("value_by_type"):
            yield f"{path}/{field.name}", float(getattr(field, kind))


def _best_per_s(work: Callable[[], object]) -> float:
    best, deadline = 0.0, time.monotonic() + _ROUND_S
    while time.monotonic() < deadline:
        began = time.process_time()
        work()
        best = max(best, SAMPLES / (time.process_time() - began))
    return best


if __name__ == "__main__":
    print_rows(run())
