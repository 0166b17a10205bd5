"""What decoding Cisco's telemetry costs, beside protobuf's own classes on the same messages: bytes to samples.

The plain decoder reads a message with the official classes and keeps each number by its path and keys, which is what
telemetry pipelines do with it.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import Telemetry, TelemetryField
from ingest.collectors.gnmi.paths.naming import Naming

_ROUND_S = 2.0
_NOW_NS = 1_780_000_000 * NS_PER_S
_COUNTERS = (
    *("in-octets", "out-octets", "in-unicast-pkts", "out-unicast-pkts", "in-multicast-pkts", "out-multicast-pkts"),
    *("in-broadcast-pkts", "out-broadcast-pkts", "in-errors", "out-errors", "in-discards", "out-discards"),
)
_PORTS, _MESSAGES = 64, 50
SAMPLES = _PORTS * len(_COUNTERS) * _MESSAGES


def run() -> list[Row]:
    messages = [_message(n) for n in range(_MESSAGES)]
    decoder = Decoder("bench", "leaf1", Naming(("cisco", "openconfig")))
    assert decoder.decode(messages, _NOW_NS).values.size == SAMPLES, "each counter is a sample"
    ours = _best_per_s(lambda: decoder.decode(messages, _NOW_NS))
    assert _plain(messages) == SAMPLES
    return [row("cisco_mdt_decode_64_ports_a_message", ours, "samples/CPU-s", _best_per_s(lambda: _plain(messages)))]


def _message(number: int) -> bytes:
    """Counters of all ports as self-describing GPB, one row a port."""
    made = Telemetry(node_id_str="leaf1", subscription_id_str="1", msg_timestamp=_NOW_NS // 10**6 + number)
    made.encoding_path = "openconfig-interfaces:interfaces/interface/state/counters"
    for port in range(_PORTS):
        line = made.data_gpbkv.add(timestamp=made.msg_timestamp)
        line.fields.add(name="keys").fields.add(name="name", string_value=f"Ethernet1/{port}")
        content = line.fields.add(name="content")
        for name in _COUNTERS:
            content.fields.add(name=name, uint64_value=10**12 + number)
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
