"""Objects of NX-OS' own model (``data-source DME``), in GPB and JSON, when they are new and when they are known.

No message of a switch is at hand: trees, dn and rn, envelopes and EVENT-LIST are as Telegraf's tests and Cisco's labs
show them, attributes as Cisco-NX-OS-device and published answers of switches do.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from common.units import NS_PER_S
from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.cisco_mdt.decode.objects import Managed, elements_of, objects_in
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.ledger import DropReason
from telemetry.topology import Link
from tests.unit.ingest.cisco_mdt.telemetry import COUNTERS, NOW_NS, managed, message, nxos, nxos_json

NAMING = Naming(("cisco", "openconfig"))
PORT = 'device="leaf1",port="Ethernet1/1"'
both_encodings = pytest.mark.parametrize("made", [nxos, nxos_json])


def decoder(kept_max: int = 0) -> Decoder:
    return Decoder("mdt/leaf1", "leaf1", Naming(("cisco", "openconfig"), kept_max) if kept_max else NAMING)


def values(decoded: Decoded) -> dict[str, float]:
    """By series; a series that comes twice is a mistake."""
    keys = [decoded.table.keys[row] for row in decoded.rows.tolist()]
    assert len(keys) == len(set(keys))
    return dict(zip(keys, decoded.values.tolist(), strict=True))


def no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("read by Python")

    monkeypatch.setattr(Decoder, "_read_row", fail)


@both_encodings
@pytest.mark.parametrize(
    ("path", "tree"),
    [
        (
            "sys/intf/phys-[eth1/1]/dbgIfHCIn",
            managed("rmonIfHCIn", {"dn": "sys/intf/phys-[eth1/1]/dbgIfHCIn", "octets": 9}),
        ),
        ("sys/intf/phys-[eth1/1]/dbgIfHCIn", managed("rmonIfHCIn", {"octets": 9, "rn": "dbgIfHCIn"})),
        ("sys/intf/phys-[eth1/1]/dbgIfHCIn", managed("rmonIfHCIn", {"octets": "9"})),
        (
            "sys/intf",
            {"children": [managed("rmonIfHCIn", {"dn": "sys/intf/phys-[eth1/1]/dbgIfHCIn", "octets": 9, "rn": ""})]},
        ),
        (
            "interface:sys/intf",
            managed(
                "interfaceEntity",
                {"dn": "sys/intf"},
                managed("l1PhysIf", {"rn": "phys-[eth1/1]"}, managed("rmonIfHCIn", {"octets": 9, "rn": "dbgIfHCIn"})),
            ),
        ),
        (
            "EVENT-LIST",
            {
                "children": [
                    {
                        "imdata": [managed("rmonIfHCIn", {"dn": "sys/intf/phys-[eth1/1]/dbgIfHCIn", "octets": 9})],
                        "subscriptionId": 18379759394883829764,
                    }
                ]
            },
        ),
    ],
    ids=["dn", "rn below the path", "path alone", "query of a subtree", "tree below an alias", "event"],
)
def test_an_object_is_what_its_dn_says(
    made: Callable[..., bytes], path: str, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, data = decoder(), made(path, tree)
    first = own.decode([data], NOW_NS)
    assert values(first) == {f"fabric_port_receive_bytes_total{{{PORT}}}": 9.0}
    if made is nxos:
        no_python(monkeypatch)
    again = own.decode([data], NOW_NS)
    assert values(again) == values(first)
    assert again.updates == first.updates


def test_events_in_json_are_rows() -> None:
    event = {"imdata": [{"ethpmPhysIf": {"attributes": {"dn": "sys/intf/phys-[eth1/1]/phys", "operSt": "down"}}}]}
    data = nxos_json("EVENT-LIST", [{**event, "subscriptionId": ["18379196448718716937"]}])
    assert values(decoder().decode([data], NOW_NS)) == {f"fabric_port_up{{{PORT}}}": 0.0}


@both_encodings
def test_what_is_read_of_a_port(made: Callable[..., bytes]) -> None:
    tree = managed(
        "l1PhysIf",
        {"adminSt": "up", "dn": "sys/intf/phys-[eth1/1]", "id": "eth1/1", "mtu": 9216},
        managed("ethpmPhysIf", {"operSpeed": "400G", "operSt": "up", "rn": "phys"}),
        managed(
            "rmonIfHCIn", {"broadcastPkts": 1, "multicastPkts": 2, "octets": 1000, "rn": "dbgIfHCIn", "ucastPkts": 3}
        ),
        managed(
            "rmonIfHCOut", {"broadcastPkts": 4, "multicastPkts": 5, "octets": 2000, "rn": "dbgIfHCOut", "ucastPkts": 6}
        ),
        managed("rmonIfIn", {"discards": 7, "errors": 8, "octets": 999, "rn": "dbgIfIn", "unknownProtos": 9}),
        managed("rmonIfOut", {"discards": 10, "errors": 11, "octets": 1999, "rn": "dbgIfOut"}),
        managed("rmonEtherStats", {"cRCAlignErrors": 12, "jabbers": 13, "rn": "dbgEtherStats", "rxPkts64Octets": 14}),
        managed("rmonDot3Stats", {"inPauseFrames": 15, "outPauseFrames": 16, "rn": "dbgDot3Stats"}),
    )
    expected: dict[str, Mapping[str, float]] = {
        "fabric_port_admin_up": {PORT: 1},
        "fabric_port_mtu_bytes": {PORT: 9216},
        "fabric_port_up": {PORT: 1},
        "fabric_port_speed_bits_per_second": {PORT: 400e9},
        "fabric_port_receive_bytes_total": {PORT: 1000},
        "fabric_port_transmit_bytes_total": {PORT: 2000},
        "fabric_port_packets_total": {
            f'cast="{cast}",device="leaf1",direction="{direction}",port="Ethernet1/1"': value
            for direction, cast, value in (
                *(("rx", "broadcast", 1), ("rx", "multicast", 2), ("rx", "unicast", 3)),
                *(("tx", "broadcast", 4), ("tx", "multicast", 5), ("tx", "unicast", 6)),
            )
        },
        "fabric_port_discards_total": _directed(7, 10),
        "fabric_port_errors_total": _directed(8, 11),
        "fabric_port_pause_frames_total": _directed(15, 16),
        "fabric_port_fcs_errors_total": {PORT: 12},
        "fabric_port_frame_errors_total": {
            f'device="leaf1",direction="rx",kind="{kind}",port="Ethernet1/1"': value
            for kind, value in (("unknown_protocol", 9), ("jabber", 13))
        },
        "fabric_port_packets_by_size_total": {'device="leaf1",direction="rx",port="Ethernet1/1",size="64"': 14},
    }
    own = decoder()
    for _ in range(2):
        found = own.decode([made("sys/intf/phys-[eth1/1]", tree)], NOW_NS)
        assert values(found) == _series(expected)
    assert own.unmapped.names == {"l1PhysIf/id"}


def _directed(rx: float, tx: float) -> dict[str, float]:
    return {f'device="leaf1",direction="{way}",port="Ethernet1/1"': value for way, value in (("rx", rx), ("tx", tx))}


def _series(expected: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {f"{name}{{{labels}}}": value for name, found in expected.items() for labels, value in found.items()}


@both_encodings
@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (
            managed(
                "ipqosQueuingStats",
                {
                    "cmapName": "c-out-8q-q3",
                    "currQueueDepth": 4096,
                    "dn": "sys/ipqos/queuing/policy/out/intf-[eth1/1]/queCmap-[c-out-8q-q3]",
                    "dropPackets": 5,
                    "pfcRxPpp": 200,
                    "randEcnMarkedPackets": 42,
                    "txBytes": 7000,
                    "ucTxBytes": 7000,
                },
            ),
            {
                "fabric_queue_occupancy_bytes": {PORT + ',queue="3"': 4096},
                "fabric_queue_dropped_packets_total": {PORT + ',queue="3"': 5},
                "fabric_port_pfc_pause_frames_total": {
                    'device="leaf1",direction="rx",port="Ethernet1/1",priority="3"': 200,
                },
                "fabric_queue_ecn_marked_packets_total": {PORT + ',queue="3"': 42},
                "fabric_queue_transmit_bytes_total": {PORT + ',queue="3"': 7000},
            },
        ),
        (
            managed(
                "bgpPeerEntry",
                {"connEst": 4, "dn": "sys/bgp/inst/dom-default/peer-[10.0.0.1]/ent-[10.0.0.1]", "operSt": "open-sent"},
            ),
            {
                "fabric_bgp_session_up": {'device="leaf1",peer="10.0.0.1"': 0},
                "fabric_bgp_session_transitions_total": {'device="leaf1",peer="10.0.0.1"': 4},
            },
        ),
        (
            managed(
                "eqptCh",
                {"dn": "sys/ch"},
                managed(
                    "eqptSupCSlot",
                    {"rn": "supslot-1"},
                    managed(
                        "eqptSupC",
                        {"rn": "sup"},
                        managed("eqptSensor", {"rn": "sensor-3", "tempValue": 41}),
                    ),
                ),
                managed(
                    "eqptPsuSlot",
                    {"rn": "psuslot-2"},
                    managed("eqptPsu", {"operSt": "fail", "pOut": "0.00", "rn": "psu"}),
                ),
                managed(
                    "eqptFtSlot",
                    {"rn": "ftslot-1"},
                    managed("eqptFt", {"rn": "ft"}, managed("eqptFan", {"operSt": "ok", "rn": "fan-2"})),
                ),
            ),
            {
                "fabric_device_temperature_celsius": {'device="leaf1",sensor="supslot-1 sensor-3"': 41},
                "fabric_device_psu_watts": {'device="leaf1",sensor="psuslot-2"': 0},
                "fabric_device_part_ok": {
                    'device="leaf1",kind="psu",sensor="psuslot-2"': 0,
                    'device="leaf1",kind="fan",sensor="ftslot-1 fan-2"': 1,
                },
            },
        ),
        (
            managed(
                "procSystem",
                {"dn": "sys/procsys"},
                managed(
                    "procSysCpuSummary",
                    {"idle": "90.00", "rn": "syscpusummary"},
                    managed("procSysCpuHistory", {"rn": "syscpuhistory-last60seconds", "usageAvg": "12.5"}),
                ),
                managed(
                    "procSysMem",
                    {"rn": "sysmem", "total": 1000},
                    managed("procSysMemUsed", {"curr": 400, "rn": "sysmemused"}),
                ),
            ),
            {
                "fabric_device_cpu_ratio": {'device="leaf1",part="ALL"': 0.125},
                "fabric_device_memory_bytes": {
                    'device="leaf1",part="system",state="total"': 1000 * 1024,
                    'device="leaf1",part="system",state="used"': 400 * 1024,
                },
            },
        ),
    ],
    ids=["queue", "session", "chassis", "processors and memory"],
)
def test_what_is_read_of_other_objects(
    made: Callable[..., bytes], tree: dict[str, Any], expected: dict[str, dict[str, float]]
) -> None:
    own = decoder()
    for _ in range(2):
        assert values(own.decode([made("sys", tree)], NOW_NS)) == _series(expected)


@both_encodings
def test_neighbours_are_links_between_ports_of_one_name(made: Callable[..., bytes]) -> None:
    """LLDP says Ethernet1/1 of the far end, the model eth1/1 of the near one."""
    links, facts = LinkTable(), []
    for device, port, neighbour, far in (
        ("leaf1", "eth1/1", "spine1.dc", "Ethernet1/2"),
        ("spine1", "eth1/2", "leaf1", "Ethernet1/1"),
    ):
        dn = f"sys/lldp/inst/if-[{port}]/adj-1"
        data = made("sys/lldp", managed("lldpAdjEp", {"dn": dn, "portIdV": far, "sysName": neighbour}))
        own = Decoder(f"mdt/{device}", device, NAMING)
        for _ in range(2):  # new, and known
            facts += links.update(device, own.decode([data], NOW_NS).metadata)
    assert [fact.entity for fact in facts] == [Link("leaf1", "Ethernet1/1", "spine1", "Ethernet1/2")]


@both_encodings
def test_of_two_objects_that_count_the_same_the_first_one_is_read(made: Callable[..., bytes]) -> None:
    own = decoder()
    for at_s, octets in ((0, 100), (1, 200)):
        for name, rn, more in (("rmonIfIn", "dbgIfIn", 1), ("rmonIfHCIn", "dbgIfHCIn", 0)):
            dn = f"sys/intf/phys-[eth1/1]/{rn}"
            data = made(dn, managed(name, {"dn": dn, "octets": octets + more}), at_ns=NOW_NS + at_s * 10**9)
            expected = {f"fabric_port_receive_bytes_total{{{PORT}}}": octets + 1.0} if more else {}
            assert values(own.decode([data], NOW_NS)) == expected
    assert "rmonIfHCIn/octets" in own.unmapped.names_left_out


@both_encodings
def test_where_the_first_one_is_not_sent_any_more_the_other_one_is_read(made: Callable[..., bytes]) -> None:
    """Ten minutes later, and no sooner, as what is sent every few minutes is not silent."""
    own, series = decoder(kept_max=1), f"fabric_port_receive_bytes_total{{{PORT}}}"

    def read(name: str, rn: str, at_s: int) -> dict[str, float]:
        dn, now_ns = f"sys/intf/phys-[eth1/1]/{rn}", NOW_NS + at_s * NS_PER_S
        return values(own.decode([made(dn, managed(name, {"dn": dn, "octets": at_s}), at_ns=now_ns)], now_ns))

    first, other = ("rmonIfIn", "dbgIfIn"), ("rmonIfHCIn", "dbgIfHCIn")
    for at_s in range(0, 1260, 60):
        assert read(*first, at_s) == {series: at_s}
        assert read(*other, at_s + 1) == {}
    own.decode([made("sys/eps", managed("nvoCounters", {"dn": "sys/eps/epId-1/cntrs", "rxMcastbytes": 5}))], NOW_NS)
    found = [at_s for at_s in range(1260, 2700, 60) if read(*other, at_s) == {series: at_s}]
    assert 1800 <= found[0] <= 2460
    assert found == [*range(found[0], 2700, 60)]


@both_encodings
def test_what_nothing_maps_is_counted_and_kept_where_a_job_asks(made: Callable[..., bytes]) -> None:
    tree = managed("nvoCounters", {"dn": "sys/eps/epId-1/cntrs", "rxMcastbytes": 5, "state": "Up"})
    own, keeping = decoder(), decoder(kept_max=10)
    for _ in range(2):
        found = own.decode([made("vxlan:sys/eps", tree)], NOW_NS)
        assert (found.values.size, found.updates) == (0, 3)
        kept = keeping.decode([made("vxlan:sys/eps", tree)], NOW_NS)
        assert values(kept) == {'nvoCounters_rxMcastbytes{device="leaf1",nvoCounters_epId="1"}': 5.0}
    assert own.unmapped.names == {"nvoCounters/rxMcastbytes", "nvoCounters/state"}
    assert own.unmapped.names_left_out == {"nvoCounters/dn"}


@both_encodings
@pytest.mark.parametrize(
    ("value", "drops"),
    [("auto", {DropReason.NO_VALUE: 1}), ("warp", {DropReason.BAD_FORMAT: 1}), ("100G", {})],
)
def test_a_speed_that_is_none_is_no_sample(
    made: Callable[..., bytes], value: str, drops: dict[DropReason, int]
) -> None:
    own = decoder()
    for _ in range(2):
        data = made("sys/intf", managed("ethpmPhysIf", {"dn": "sys/intf/phys-[eth1/1]/phys", "operSpeed": value}))
        assert own.decode([data], NOW_NS).drops == drops


def test_what_is_no_object_in_a_message_of_objects_is_counted() -> None:
    own = decoder()
    data = nxos("sys/intf", {"children": [{"foo": [{"bar": 1}]}], "more": {"x": 2}, "empty": []})
    for _ in range(2):
        assert own.decode([data], NOW_NS).updates == 3
    assert own.unmapped.names == {"sys/intf/foo/bar", "sys/intf/more/x", "sys/intf/empty"}


def test_an_object_and_an_attribute_that_are_new_are_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    def port(number: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return managed("rmonIfHCIn", {"dn": f"sys/intf/phys-[eth1/{number}]/dbgIfHCIn", **attributes})

    own = decoder()
    sent = [
        [port(1, {"octets": 1})],
        [port(1, {"octets": 2}), port(2, {"octets": 3})],
        [port(1, {"octets": 4, "ucastPkts": 5}), port(2, {"octets": 6, "novelties": 7})],
        [managed("rmonIfHCIn", {"dn": "sys/intf/aggr-[po1]/dbgIfHCIn", "octets": 8})],
    ]
    for trees in sent:
        own.decode([nxos("sys/intf", {"children": trees})], NOW_NS)
    no_python(monkeypatch)
    for trees, expected in zip(sent, ([1], [2, 3], [4, 5, 6], []), strict=True):
        assert own.decode([nxos("sys/intf", {"children": trees})], NOW_NS).values.tolist() == expected


def test_objects_beyond_the_limit_are_read_by_python_and_counted() -> None:
    own = Decoder("t", "leaf1", NAMING, series_max=3)
    trees = [managed("rmonIfHCIn", {"dn": f"sys/intf/phys-[eth1/{n}]/dbgIfHCIn", "octets": n}) for n in range(40)]
    for _ in range(3):
        assert own.decode([nxos("sys/intf", {"children": trees})], NOW_NS).values.tolist() == [0, 1, 2]
    assert own.refused > 30


def test_one_port_in_three_spellings_is_one_series() -> None:
    own = decoder()
    for name in ("eth1/1", "Eth1/1", "Ethernet1/1"):
        own.decode([message(COUNTERS, ({"name": name}, {"in-octets": 1}))], NOW_NS)
    assert own.table.keys == (f"fabric_port_receive_bytes_total{{{PORT}}}",)


@pytest.mark.parametrize(
    ("dn", "keys"),
    [
        ("sys/intf/phys-[eth1/1]/dbgIfIn", {"phys": "eth1/1"}),
        (
            "sys/bgp/inst/dom-default/peer-[10.0.0.0/24]/ent-[10.0.0.7]",
            {"dom": "default", "peer": "10.0.0.0/24", "ent": "10.0.0.7"},
        ),
        ("sys/a-[sys/intf/phys-[eth1/1]]/a-2", {"a": "sys/intf/phys-[eth1/1]", "a2": "2"}),
        ("sys/bgp/inst/dom-default/af-l2vpn-evpn", {"dom": "default", "af": "l2vpn-evpn"}),
        ("sys/x-[", {"x": "["}),
        ("", {}),
    ],
)
def test_the_keys_of_a_dn(dn: str, keys: dict[str, str]) -> None:
    assert elements_of(Managed("c", dn, "", -1, dn, {}), {}) == (("c", tuple(sorted(keys.items()))),)


def test_an_object_without_names_has_that_of_its_parent() -> None:
    found = objects_in(managed("a", {"rn": "x-1"}, managed("b", {}, managed("c", {"rn": "y"}))), "sys")
    assert [one.dn for one in found.objects] == ["sys/x-1", "sys/x-1", "sys/x-1/y"]


# ---- the scan and Python agree
