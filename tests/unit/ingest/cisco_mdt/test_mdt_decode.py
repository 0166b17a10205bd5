"""Telemetry messages to canonical samples: rows of known and new shapes, lists, texts, JSON, and broken ones."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.cisco_mdt.config import DeviceFrom
from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.cisco_mdt.messages import Chunks, node_id
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import Telemetry
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.ledger import DropReason
from ingest.transport.grpc_messages import CallEnded
from tests.unit.ingest.cisco_mdt.telemetry import COUNTERS, NOW_NS, STATISTICS, args, as_json, message, microburst

NAMING = Naming(("cisco", "openconfig"))
S = 10**9
KEYS = {"name": "Eth1/1"}


def decoder(series_max: int = 1000) -> Decoder:
    return Decoder("mdt/leaf1", "leaf1", NAMING, series_max)


def samples(decoded: Decoded) -> list[tuple[str, int, float]]:
    """Series, seconds after NOW_NS, value."""
    columns = zip(decoded.rows.tolist(), decoded.times_ns.tolist(), decoded.values.tolist(), strict=True)
    return [(decoded.table.keys[row], (time_ns - NOW_NS) // S, value) for row, time_ns, value in columns]


def received(port: str = "Ethernet1/1") -> str:
    return f'fabric_port_receive_bytes_total{{device="leaf1",port="{port}"}}'


def test_rows_of_a_port_give_the_same_when_they_are_new_and_when_they_are_known() -> None:
    own = decoder()
    for at_s in range(3):
        rows = [({"name": f"Eth1/{n}"}, {"in-octets": 10 * n + at_s, "out-octets": 7}) for n in range(3)]
        found = own.decode([message(COUNTERS, *rows, at_ns=NOW_NS + at_s * S)], NOW_NS)
        octets = [sample for sample in samples(found) if "receive" in sample[0]]
        assert octets == [(received(f"Ethernet1/{n}"), at_s, 10.0 * n + at_s) for n in range(3)]
        assert found.values.size == found.updates == 6


@pytest.mark.parametrize("made", [message, as_json])
def test_what_nothing_maps_is_kept_where_a_job_asks(made: Callable[..., bytes]) -> None:
    own = Decoder("mdt/leaf1", "leaf1", Naming(("cisco", "openconfig"), kept_max=1))
    content = {"in-octets": 5, "in-word": "none", "in-novelties": 6, "in-curiosities": 7}
    for at_s in range(3):
        found = samples(own.decode([made(COUNTERS, (KEYS, content), at_ns=NOW_NS + at_s * S)], NOW_NS))
        assert found[0] == (received(), at_s, 5.0)
        name = 'interfaces_interface_state_counters_in_novelties{device="leaf1",interface_name="Eth1/1"}'
        assert found[1:] == [(name, at_s, 6.0)]
    assert {name.rpartition("/")[2] for name in own.unmapped.names} == {"in-word", "in-curiosities"}


def test_known_rows_never_reach_python(monkeypatch: pytest.MonkeyPatch) -> None:
    own = decoder()
    data = message(COUNTERS, (KEYS, {"in-octets": 5, "unknown": {"deep": {"leaf": 1}}, "text": "none"}))
    first = samples(own.decode([data], NOW_NS))

    def fail(*_: object) -> None:
        raise AssertionError("read by Python")

    monkeypatch.setattr(Decoder, "_read_row", fail)
    assert samples(own.decode([data], NOW_NS)) == first == [(received(), 0, 5.0)]


@pytest.mark.parametrize(
    ("path", "keys", "content", "series"),
    [
        ("openconfig-interfaces:interfaces/interface", KEYS, {"state": {"counters": {"in-octets": 9}}}, received()),
        (STATISTICS, KEYS, {"in-octets": 9}, received()),
        (COUNTERS, KEYS, {"in-octets": "9"}, received()),
        (COUNTERS, KEYS, {"in-octets": 9.0}, received()),
        (
            "openconfig-qos:qos/interfaces/interface/output/queues/queue/state",
            {"interface-id": "Eth1/1", "name": "3"},
            {"dropped-pkts": 9},
            'fabric_queue_dropped_packets_total{device="leaf1",port="Ethernet1/1",queue="3"}',
        ),
    ],
)
def test_paths_keys_and_values(path: str, keys: dict[str, str], content: dict[str, Any], series: str) -> None:
    own = decoder()
    for make in (message, message, as_json):
        assert samples(own.decode([make(path, (keys, content))], NOW_NS)) == [(series, 0, 9.0)]


def test_words_are_states() -> None:
    own = decoder()
    path = "openconfig-interfaces:interfaces/interface/state"
    for word, value in (("UP", 1.0), ("DOWN", 0.0), ("UP", 1.0)):
        found = own.decode([message(path, (KEYS, {"oper-status": word}))], NOW_NS)
        assert samples(found) == [('fabric_port_up{device="leaf1",port="Ethernet1/1"}', 0, value)]


def test_lists_in_a_row_have_the_keys_that_are_in_their_entries() -> None:
    """As a Nexus 9000 sent them: microbursts of ten queues."""
    own = decoder()
    for at_s in range(2):
        found = own.decode([microburst(NOW_NS + at_s * S)], NOW_NS)
        keys = [key for key, _, _ in samples(found)]
        assert (
            keys[0] == 'fabric_queue_occupancy_peak_bytes{device="leaf1",port="Ethernet0/0/0",queue="255",reset="read"}'
        )
        assert {value for _, _, value in samples(found)} == {500.0}
        assert {seconds for _, seconds, _ in samples(found)} == {at_s}
        assert len(set(keys)) == len(keys) > 5


@pytest.mark.parametrize("made", [message, as_json])
def test_queues_of_nx_os_own_model_count_pauses_and_marks(made: Callable[..., bytes]) -> None:
    own = decoder()
    path = "Cisco-NX-OS-device:System/ipqos-items/queuing-items/policy-items/out-items"
    queue = {"cmapName": "c-out-8q-q3", "pfcRxPpp": "200", "randEcnMarkedPackets": 42, "ucTxPackets": 1}
    ports = [{"name": f"eth1/{n}", "queCmap-items": {"QueuingStats-list": [queue]}} for n in (1, 2)]
    for at_s in range(2):
        data = made(path, ({}, {"intf-items": {"If-list": ports}}), at_ns=NOW_NS + at_s * S)
        place = 'device="leaf1"'
        assert samples(own.decode([data], NOW_NS)) == [
            each
            for n in (1, 2)
            for each in (
                (
                    f'fabric_port_pfc_pause_frames_total{{{place},direction="rx",port="Ethernet1/{n}",priority="3"}}',
                    at_s,
                    200.0,
                ),
                (f'fabric_queue_ecn_marked_packets_total{{{place},port="Ethernet1/{n}",queue="3"}}', at_s, 42.0),
            )
        ]


def test_a_name_that_is_repeated_is_a_list() -> None:
    own = decoder()
    made = Telemetry.FromString(message("openconfig-interfaces:interfaces", ({}, {})))
    content = made.data_gpbkv[0].fields[1]
    for port in ("Eth1/1", "Eth1/2"):
        entry = content.fields.add(name="interface")
        entry.fields.add(name="name", string_value=port)
        counters = entry.fields.add(name="state").fields.add(name="counters")
        counters.fields.add(name="in-octets", uint64_value=9)
    for _ in range(2):
        found = samples(own.decode([made.SerializeToString()], NOW_NS))
        assert found == [(received("Ethernet1/1"), 0, 9.0), (received("Ethernet1/2"), 0, 9.0)]


def test_the_time_of_a_row_is_its_own_where_it_has_one() -> None:
    own = decoder()
    for _ in range(2):
        data = message(COUNTERS, (KEYS, {"in-octets": 1}), row_ms=NOW_NS // 10**6 + 2000)
        assert samples(own.decode([data], NOW_NS)) == [(received(), 2, 1.0)]
    late = message(COUNTERS, (KEYS, {"in-octets": 1}), at_ns=NOW_NS - 7200 * S)
    assert own.decode([late], NOW_NS).drops == {DropReason.EVENT_TIME: 1}


def test_a_leaf_that_is_new_in_a_known_row_is_learnt() -> None:
    own = decoder()
    own.decode([message(COUNTERS, (KEYS, {"in-octets": 1}))], NOW_NS)
    for _ in range(2):
        found = own.decode([message(COUNTERS, (KEYS, {"in-octets": 2, "in-errors": 3}))], NOW_NS)
        assert [value for _, _, value in samples(found)] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("value", "reason"),
    [("N/A", DropReason.NO_VALUE), ("x", DropReason.BAD_FORMAT), (float("nan"), DropReason.NO_VALUE)],
)
def test_values_that_are_no_sample_are_counted(value: object, reason: DropReason) -> None:
    own = decoder()
    for _ in range(2):
        found = own.decode([message(COUNTERS, (KEYS, {"in-octets": value}))], NOW_NS)
        assert found.drops == {reason: 1}
        assert found.received == 1


def test_compact_gpb_is_refused_and_counted() -> None:
    own = decoder()
    made = Telemetry(node_id_str="leaf1", encoding_path=COUNTERS, msg_timestamp=NOW_NS // 10**6)
    made.data_gpb.row.add(content=b"\x08\x01")
    assert own.decode([made.SerializeToString()], NOW_NS).values.size == 0
    assert own.refused == 1


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x0a\x7f", b"{", b"[1]", b'{"data": 1}'])
def test_what_is_no_message_breaks_nothing(data: bytes) -> None:
    own = decoder()
    good = message(COUNTERS, (KEYS, {"in-octets": 1}))
    assert samples(own.decode([data, good], NOW_NS)) == [(received(), 0, 1.0)]


def test_messages_that_come_together_are_read_as_one_by_one() -> None:
    """Known ones before and after what is new, broken, compact, listed or JSON."""

    def octets(port: int, at_s: int, made: Callable[..., bytes] = message) -> bytes:
        return made(
            COUNTERS, ({"name": f"Eth1/{port}"}, {"in-octets": port, "out-octets": at_s}), at_ns=NOW_NS + at_s * S
        )

    compact = Telemetry(node_id_str="leaf1", encoding_path=COUNTERS, msg_timestamp=NOW_NS // 10**6)
    compact.data_gpb.row.add(content=b"\x08\x01")
    sent = [
        *(octets(1, 1), b"\xff\xff", octets(1, 2), octets(2, 2), octets(1, 3), octets(2, 3)),
        *(compact.SerializeToString(), octets(1, 4), octets(1, 5, as_json), octets(2, 5), b"\x0a\x7f", octets(1, 6)),
        *(microburst(NOW_NS + 6 * S), octets(1, 7), message(COUNTERS, *_many_rows(3000)), octets(1, 8)),
    ]
    together, one_by_one = decoder(10_000), decoder(10_000)
    for _ in range(2):
        found = together.decode(sent, NOW_NS)
        expected = [one_by_one.decode([data], NOW_NS) for data in sent]
        assert samples(found) == [sample for each in expected for sample in samples(each)]
        assert (found.malformed, found.updates) == (2, sum(each.updates for each in expected))
        assert together.refused == one_by_one.refused > 0


def _many_rows(count: int) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """More than the columns of a scan have room for."""
    return [({"name": f"Eth{n}/1"}, {"in-octets": n, "out-octets": n}) for n in range(count)]


def test_series_and_names_beyond_the_limit_are_counted() -> None:
    own = decoder(series_max=2)
    rows = [({"name": f"Eth1/{n}"}, {"in-octets": 1}) for n in range(50)]
    for _ in range(2):
        assert len(samples(own.decode([message(COUNTERS, *rows)], NOW_NS))) == 2
    assert own.refused > 40


@given(st.binary(max_size=100), st.integers(0, 120))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_counted(noise: bytes, at: int) -> None:
    own = decoder()
    good = message(COUNTERS, (KEYS, {"in-octets": 5, "state": {"x": 1}}))
    own.decode([good], NOW_NS)
    for data in (noise, good[:at] + noise + good[at + len(noise) :]):
        found = own.decode([data], NOW_NS)
        assert found.received == found.values.size + found.drops.total()


# ---- what a call carries


def test_the_device_is_the_node_or_the_sender() -> None:
    data = message(COUNTERS)
    assert Chunks(DeviceFrom.NODE_ID, 1000)(args(data)) == ("leaf1", data)
    assert Chunks(DeviceFrom.SENDER, 1000)(args(data)) == ("", data)
    assert node_id(as_json(COUNTERS)) == "leaf1"
    assert node_id(Telemetry(encoding_path="x").SerializeToString()) == ""


def test_chunks_are_joined() -> None:
    data, chunks = message(COUNTERS, (KEYS, {"in-octets": 1})), Chunks(DeviceFrom.SENDER, 1000)
    assert [chunks(args(data[at : at + 50], len(data))) for at in range(0, len(data), 50)][-1] == ("", data)
    assert chunks(args(data)) == ("", data)
    assert chunks(args(b"")) is None


def test_chunks_above_the_limit_and_other_messages_end_the_call() -> None:
    for broken in (args(b"x", 2000), args(b"x" * 20, 10), b"\xff"):
        with pytest.raises(CallEnded):
            Chunks(DeviceFrom.SENDER, 1000)(broken)
