import json

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from common.units import NS_PER_S
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.metadata import MetadataKind
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.ledger import DropReason
from telemetry.gnmi import gnmi_pb2

NOW = 1_700_000_000_000_000_000
NAMING = Naming(("sonic", "openconfig", "arista"))
COUNTERS = "/interfaces/interface[name=Ethernet1]/state/counters"
OCTETS = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'


def decoder(series_max: int = 1000) -> Decoder:
    return Decoder("gnmi/leaf1", "leaf1", NAMING, series_max)


def notification(prefix: str = COUNTERS, at_ns: int = NOW) -> gnmi_pb2.SubscribeResponse:
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = at_ns
    made.update.prefix.CopyFrom(parse_path(prefix))
    return made


def updates(prefix: str = COUNTERS, at_ns: int = NOW, **values: int) -> bytes:
    made = notification(prefix, at_ns)
    for leaf, value in values.items():
        made.update.update.add(path=parse_path(leaf.replace("_", "-"))).val.uint_val = value
    return made.SerializeToString()


def of_json(path: str, body: object, at_ns: int = NOW, *, ietf: bool = True) -> bytes:
    made = notification("/", at_ns)
    value = made.update.update.add(path=parse_path(path)).val
    data = json.dumps(body).encode()
    if ietf:
        value.json_ietf_val = data
    else:
        value.json_val = data
    return made.SerializeToString()


def samples(decoded: Decoded) -> dict[str, float]:
    return {decoded.table.keys[row]: value for row, value in zip(decoded.rows, decoded.values, strict=True)}


def test_the_table_stays_the_same_until_a_path_is_new() -> None:
    one = decoder()
    first = one.decode([updates(in_octets=1), updates(in_octets=2, in_errors=3)], NOW)
    again = one.decode([updates(in_octets=4)], NOW)
    assert first.rows.tolist() == [0, 0, 1]
    assert again.table is first.table
    assert one.decode([updates(out_octets=5)], NOW).table is not first.table


def test_the_boot_time_of_a_switch_is_in_seconds() -> None:
    decoded = decoder().decode([updates("/system/state", boot_time=NOW)], NOW)
    assert samples(decoded) == {
        'fabric_device_boot_time_seconds{device="leaf1"}': pytest.approx(NOW / NS_PER_S, abs=1e-3)
    }


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("uint_val", 2**63, 2.0**63),
        ("int_val", 5, 5.0),
        ("double_val", 1.25, 1.25),
        ("float_val", 0.5, 0.5),
        ("bool_val", True, 1.0),
        ("string_val", "77", 77.0),
        ("ascii_val", "78", 78.0),
        ("json_ietf_val", b'"79"', 79.0),
        ("json_val", b"80", 80.0),
        ("bytes_val", b"\x42\xa0\x00\x00", 80.0),
        ("decimal_val", gnmi_pb2.Decimal64(digits=815, precision=1), 81.5),
    ],
)
def test_every_type_that_can_hold_a_number(field: str, value: object, expected: float) -> None:
    made = notification()
    made.update.update.add(path=parse_path("in-octets"), val=gnmi_pb2.TypedValue(**{field: value}))  # type: ignore[arg-type]
    one = decoder()
    for _ in range(2):  # the first sight of a path takes another way than the second
        assert samples(one.decode([made.SerializeToString()], NOW)) == {OCTETS: expected}


def test_the_value_field_of_gnmi_before_0_4() -> None:
    made = notification()
    made.update.update.add(path=parse_path("in-octets"), value=gnmi_pb2.Value(value=b"12", type=gnmi_pb2.JSON))
    assert samples(decoder().decode([made.SerializeToString()], NOW)) == {OCTETS: 12.0}


@pytest.mark.parametrize("word", ["", "N/A", "[Not Supported]"])
def test_a_word_for_no_value_is_a_counted_drop_and_never_zero(word: str) -> None:
    made = notification()
    made.update.update.add(path=parse_path("in-octets")).val.string_val = word
    decoded = decoder().decode([made.SerializeToString()], NOW)
    assert (len(decoded.values), dict(decoded.drops)) == (0, {DropReason.NO_VALUE: 1})


def test_an_unreadable_value_is_a_counted_drop() -> None:
    decoded = decoder().decode([of_json(COUNTERS, {"in-octets": "many", "in-errors": "4"})], NOW)
    assert list(samples(decoded).values()) == [4.0]
    assert dict(decoded.drops) == {DropReason.BAD_FORMAT: 1}


@pytest.mark.parametrize(
    ("path", "body"),
    [(COUNTERS, {"in-octets": [1, 2]}), (COUNTERS + "/in-octets", [1, 2]), (COUNTERS, {"in-octets": []})],
)
def test_a_list_in_place_of_a_number_is_a_counted_drop(path: str, body: object) -> None:
    one = decoder()
    for _ in range(2):
        decoded = one.decode([of_json(path, body)], NOW)
        assert (len(decoded.values), dict(decoded.drops)) == (0, {DropReason.BAD_FORMAT: 1})


def test_a_counter_below_zero_is_no_sample() -> None:
    made = notification()
    made.update.update.add(path=parse_path("in-octets")).val.int_val = -5
    one = decoder()
    for _ in range(2):
        decoded = one.decode([made.SerializeToString()], NOW)
        assert (len(decoded.values), dict(decoded.drops)) == (0, {DropReason.OUT_OF_BOUNDS: 1})


def test_paths_that_nothing_maps_are_counted_once_and_named_without_their_objects() -> None:
    one = decoder()
    for port in ("Ethernet1", "Ethernet2"):
        body = {"in-octets": 1, "in-novelties": 2, "vendor": {"x": [1]}}
        for _ in range(2):
            one.decode([of_json(f"/interfaces/interface[name={port}]/state/counters", body)], NOW)
    one.decode([updates(in_curiosities=4)], NOW)
    counters = "interfaces/interface/state/counters"
    names = {f"{counters}/in-novelties", f"{counters}/vendor/x", f"{counters}/in-curiosities"}
    assert (one.unmapped.count, one.unmapped.names) == (5, names)


def test_paths_that_the_catalogue_leaves_out_on_purpose_are_counted_apart() -> None:
    one = decoder()
    one.decode([of_json("COUNTERS/Ethernet4", {"SAI_PORT_STAT_IP_IN_OCTETS": "4", "SAI_PORT_STAT_NOVELTY": "5"})], NOW)
    assert (one.unmapped.count, one.unmapped.count_left_out) == (1, 1)
    assert one.unmapped.names == {"COUNTERS/…/SAI_PORT_STAT_NOVELTY"}


def test_a_path_of_sonic_is_named_by_table_and_field() -> None:
    one = decoder()
    one.decode([of_json("COUNTERS/Ethernet4", {"SAI_PORT_STAT_NOVELTY": "4"})], NOW)
    assert one.unmapped.names == {"COUNTERS/…/SAI_PORT_STAT_NOVELTY"}


@pytest.mark.parametrize(("offset_s", "kept"), [(-3601, 0), (-3599, 1), (299, 1), (301, 0)])
def test_event_time_is_bounded(offset_s: int, kept: int) -> None:
    decoded = decoder().decode([updates(in_octets=1, at_ns=NOW + offset_s * NS_PER_S)], NOW)
    assert len(decoded.values) == kept
    assert decoded.drops[DropReason.EVENT_TIME] == 1 - kept
    assert decoded.received == 1


def test_values_that_the_catalogue_excludes_are_counted() -> None:
    path = "/interfaces/interface[name=Ethernet1]/ethernet/state/pre-fec-ber"
    decoded = decoder().decode([of_json(path, {"instant": 7.0})], NOW)
    assert dict(decoded.drops) == {DropReason.OUT_OF_BOUNDS: 1}


@pytest.mark.parametrize("ietf", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/", {"openconfig-interfaces:interfaces": {"interface": [{"name": "Ethernet1", "state": {"x": 1}}]}}),
        ("/interfaces", {"openconfig-interfaces:interfaces": {"interface": [{"name": "Ethernet1"}]}}),
        ("/interfaces", {"interface": [{"name": "Ethernet1"}]}),
        ("/interfaces/interface[name=Ethernet1]", {"openconfig-interfaces:interface": [{"name": "Ethernet1"}]}),
        ("/interfaces/interface[name=Ethernet1]", {"name": "Ethernet1"}),
    ],
)
def test_containers_of_all_shapes(path: str, body: dict[str, object], ietf: bool) -> None:
    def fill(value: object) -> object:
        if isinstance(value, dict):
            if value.get("name") == "Ethernet1":
                return {**value, "state": {"counters": {"openconfig-interfaces:in-octets": "5"}}}
            return {key: fill(inner) for key, inner in value.items()}
        return [fill(inner) for inner in value] if isinstance(value, list) else value

    one = decoder()
    for _ in range(2):
        assert samples(one.decode([of_json(path, fill(body), ietf=ietf)], NOW)) == {OCTETS: 5.0}


def test_json_of_great_depth_is_left_out() -> None:
    body: dict[str, object] = {"in-octets": 1}
    for _ in range(200):
        body = {"nested": body}
    one = decoder()
    assert len(one.decode([of_json(COUNTERS, body)], NOW).values) == 0
    assert one.refused > 0


def deleted(*paths: str) -> gnmi_pb2.SubscribeResponse:
    made = notification("/")
    made.update.delete.extend(parse_path(path) for path in paths)
    return made


def test_a_delete_removes_the_series_from_the_next_table() -> None:
    one = decoder()
    other = "/interfaces/interface[name=Ethernet2]/state/counters"
    one.decode([updates(in_octets=1, in_errors=2), updates(other, in_octets=3)], NOW)
    one.decode([deleted("/interfaces/interface[name=Ethernet1]").SerializeToString()], NOW)
    after = one.decode([updates(other, in_octets=4)], NOW)
    assert after.table.keys == (OCTETS.replace("Ethernet1", "Ethernet2"),)
    assert samples(after) == {OCTETS.replace("Ethernet1", "Ethernet2"): 4.0}
    back = one.decode([updates(in_octets=9)], NOW)
    assert samples(back) == {OCTETS: 9.0}
    assert len(back.table) == 2


def test_a_delete_followed_by_an_update_is_a_replacement() -> None:
    one = decoder()
    first = one.decode([updates(in_octets=1)], NOW)
    replace = deleted("/interfaces/interface[name=Ethernet1]")
    update = replace.update.update.add(path=parse_path(COUNTERS + "/in-octets"))
    update.val.uint_val = 2
    assert samples(one.decode([replace.SerializeToString()], NOW)) == {OCTETS: 2.0}
    assert one.decode([updates(in_octets=3)], NOW).table is first.table  # nothing ended


def test_samples_are_in_the_order_of_their_messages_however_each_is_read() -> None:
    """A message with a delete is read by protobuf, one value at a time; the one behind it as columns."""
    replaced = deleted("/interfaces/interface[name=Ethernet1]")
    replaced.update.timestamp = NOW
    replaced.update.update.extend(gnmi_pb2.SubscribeResponse.FromString(updates(in_octets=1)).update.update)
    for update in replaced.update.update:
        update.path.CopyFrom(parse_path(f"{COUNTERS}/in-octets"))
    one = decoder()
    found = one.decode([updates(in_octets=0), replaced.SerializeToString(), updates(at_ns=NOW + 1, in_octets=2)], NOW)
    assert found.values.tolist() == [0.0, 1.0, 2.0]
    assert found.times_ns.tolist() == [NOW, NOW, NOW + 1]


def test_a_delete_after_an_update_in_the_same_window_holds() -> None:
    one = decoder()
    gone = deleted("/interfaces").SerializeToString()
    first = one.decode([updates(in_octets=1), gone], NOW)
    assert samples(first) == {OCTETS: 1.0}
    assert one.decode([], NOW).table.keys == ()


def test_words_that_repeat_have_the_same_value_for_their_own_port() -> None:
    one, up = decoder(), 'fabric_port_up{device="leaf1",port="%s"}'

    def decoded(**words: str) -> dict[str, float]:
        messages = []
        for port, word in words.items():
            made = notification(f"/interfaces/interface[name={port}]/state")
            made.update.update.add(path=parse_path("oper-status")).val.string_val = word
            messages.append(made.SerializeToString())
        return samples(one.decode(messages, NOW))

    for first, second in (("UP", "DOWN"), ("UP", "UP"), ("DOWN", "UP"), ("UP", "DOWN")):
        expected = {up % "Ethernet1": float(first == "UP"), up % "Ethernet2": float(second == "UP")}
        assert decoded(Ethernet1=first, Ethernet2=second) == expected
    one.decode([deleted("/interfaces/interface[name=Ethernet1]").SerializeToString()], NOW)
    assert decoded(Ethernet2="UP") == {up % "Ethernet2": 1.0}, "on another row, now that the first is gone"
    assert decoded(Ethernet1="UP", Ethernet2="DOWN") == {up % "Ethernet1": 1.0, up % "Ethernet2": 0.0}


def test_a_word_after_a_delete_keeps_its_series() -> None:
    one = decoder()
    made = notification("/interfaces/interface[name=Ethernet1]/state")
    made.update.update.add(path=parse_path("oper-status")).val.string_val = "UP"
    first = one.decode([made.SerializeToString()], NOW)
    gone = deleted("/interfaces").SerializeToString()
    assert len(one.decode([gone, made.SerializeToString()], NOW).values) == 1
    assert one.decode([made.SerializeToString()], NOW).table is first.table


def test_series_above_the_limit_are_refused_and_the_others_kept() -> None:
    one = decoder(series_max=2)
    decoded = one.decode([updates(in_octets=1, out_octets=2, in_errors=3)], NOW)
    assert len(decoded.values) == 2
    assert one.refused == 1
    assert len(one.decode([updates(in_octets=1, in_errors=3)], NOW).values) == 1


def test_paths_outside_the_catalogue_make_no_series() -> None:
    decoded = decoder().decode([updates(in_octets=1, in_fantasies=2)], NOW)
    assert (decoded.updates, decoded.received, len(decoded.table)) == (2, 1, 1)


def test_more_updates_than_fit_the_columns_at_once() -> None:
    made = notification()
    for n in range(20_000):
        made.update.update.add(path=parse_path("in-octets")).val.uint_val = n
    decoded = decoder().decode([made.SerializeToString()], NOW)
    np.testing.assert_array_equal(decoded.values, np.arange(20_000.0))


def test_a_port_learns_its_alias_and_its_series_move_to_it() -> None:
    one = decoder()
    counters = of_json("COUNTERS/Ethernet*", {"etp1": {"SAI_PORT_STAT_IF_IN_OCTETS": "5"}})
    assert len(one.decode([counters], NOW).values) == 0
    decoded = one.decode([of_json("PORT_TABLE", {"Ethernet1": {"alias": "etp1"}})], NOW)
    assert [(update.path.kind, update.path.port, update.text) for update in decoded.metadata] == [
        (MetadataKind.ALIAS, "Ethernet1", "etp1")
    ]
    assert samples(one.decode([counters], NOW)) == {OCTETS: 5.0}


def test_optics_belong_to_the_component_until_the_interface_names_it() -> None:
    one = decoder()
    power = {"channel": [{"index": 0, "state": {"input-power": {"instant": "-3.5"}}}]}
    optics = of_json("/components/component[name=Xcvr7]/transceiver/physical-channels", power)
    one.decode([optics], NOW)
    one.decode([of_json("/interfaces/interface[name=Ethernet1]/state", {"transceiver": "Xcvr7"})], NOW)
    expected = 'fabric_port_optical_power_dbm{device="leaf1",direction="rx",lane="0",port="Ethernet1"}'
    assert samples(one.decode([optics], NOW)) == {expected: -3.5}


@pytest.mark.parametrize(
    ("power", "dropped"),
    [
        ("-39.98", {}),
        ("-40.0", {DropReason.OUT_OF_BOUNDS: 1}),
        (-60.0, {DropReason.OUT_OF_BOUNDS: 1}),
        ("-inf", {DropReason.NO_VALUE: 1}),
        ("-Infinity", {DropReason.NO_VALUE: 1}),
        ("N/A", {DropReason.NO_VALUE: 1}),
    ],
)
def test_no_light_is_no_sample(power: object, dropped: dict[DropReason, int]) -> None:
    decoded = decoder().decode([of_json("TRANSCEIVER_DOM_SENSOR", {"Ethernet1": {"rx1power": power}})], NOW)
    assert dict(decoded.drops) == dropped
    assert list(samples(decoded).values()) == ([] if dropped else [float(str(power))])


def test_a_message_that_is_cut_off_is_malformed_wherever_the_protobuf_runtime_refuses_it() -> None:
    good, behind = updates(in_octets=1, in_errors=2), updates(in_octets=3)
    one = decoder()
    for end in range(1, len(good)):
        try:
            gnmi_pb2.SubscribeResponse.FromString(good[:end])
        except DecodeError:
            decoded = one.decode([good[:end], behind], NOW)
            assert (decoded.malformed, list(samples(decoded).values())) == (1, [3.0]), end


def test_a_path_is_one_path_in_whatever_order_its_keys_are_written() -> None:
    """A map on the wire has no order: Go writes another one each time, protobuf in Python one for each process."""
    keys = [gnmi_pb2.PathElem(key={name: "main"}).SerializeToString() for name in ("identifier", "name")]
    one = decoder()
    for order in (keys, keys[::-1]):
        elem = gnmi_pb2.PathElem(name="protocol").SerializeToString() + b"".join(order)
        written = bytes([0x1A, len(elem)]) + elem
        made = notification("/network-instances")
        made.update.update.add(path=gnmi_pb2.Path.FromString(written)).val.uint_val = 1
        path = made.update.update[0].path.SerializeToString()
        one.decode([made.SerializeToString().replace(path, written)], NOW)
    assert one.unmapped.count == 1


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 120), st.integers(0, 255), st.booleans())
def test_a_damaged_message_never_breaks_the_decoder(place: int, byte: int, cut: bool) -> None:
    good = updates(in_octets=1, in_errors=2)
    place %= len(good)
    bad = good[:place] + (b"" if cut else bytes([byte]) + good[place + 1 :])
    one = decoder()
    assert samples(one.decode([bad, updates(in_octets=3)], NOW))[OCTETS] == 3.0


_VALUES = st.one_of(
    st.integers(0, 2**64 - 1).map(lambda n: gnmi_pb2.TypedValue(uint_val=n)),
    st.integers(-(2**63), 2**63 - 1).map(lambda n: gnmi_pb2.TypedValue(int_val=n)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: gnmi_pb2.TypedValue(double_val=x)),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda x: gnmi_pb2.TypedValue(float_val=x)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["in-octets", "out-octets", "in-errors", "x"]), _VALUES), max_size=20))
def test_the_scan_reads_what_the_protobuf_runtime_wrote(pairs: list[tuple[str, gnmi_pb2.TypedValue]]) -> None:
    made = notification()
    for leaf, value in pairs:
        made.update.update.add(path=parse_path(leaf), val=value)
    decoded = decoder().decode([made.SerializeToString()], NOW)
    sent = [float(getattr(value, value.WhichOneof("value") or "")) for leaf, value in pairs if leaf != "x"]
    assert decoded.values.tolist() == [value for value in sent if value >= 0]
    assert decoded.drops[DropReason.OUT_OF_BOUNDS] == sum(value < 0 for value in sent)
    assert decoded.updates == len(pairs)
