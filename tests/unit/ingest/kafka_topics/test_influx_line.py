"""Telegraf's lines become samples under canonical names; what cannot be read costs its own line."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.admitted import Admitted
from ingest.collectors.kafka_topics.config import Config, TopicRule
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.pushed_series import PushedSeries
from ingest.ledger import DropReason
from telemetry.series import series_key
from tests.samples import SAMPLES

NOW = 1_700_000_000_000_000_000
RULE = TopicRule(source="telegraf")


class Shown(PushedSeries):
    """Remembers which series it was shown."""

    def __init__(self, *rules: TopicRule, series_max: int = 10_000) -> None:
        super().__init__("kafka", rules or (RULE,), NOW, series_max=series_max, targets_max=100)
        self.found: list[tuple[str, dict[str, str]]] = []

    def add(self, metric: str, labels: dict[str, str]) -> int:  # type: ignore[override]  # always called with one
        self.found.append((metric, labels))
        return super().add(metric, labels)


def read(*messages: bytes, shown: Shown | None = None) -> tuple[list[tuple[str, dict[str, str]]], Lines]:
    shown, lines = shown or Shown(), Lines()
    reader = LineReader(shown)
    for message in messages:
        reader.read(message, lines)
    return shown.found, lines


def admitted(*messages: bytes, rules: tuple[TopicRule, ...] = ()) -> Admitted:
    reader, lines = LineReader(Shown(*rules)), Lines()
    for message in messages:
        reader.read(message, lines)
    return reader.admit(lines, NOW)


def values(found: Admitted) -> dict[str, list[float]]:
    result: dict[str, list[float]] = {}
    for batch in found.batches:
        for row, value in zip(batch.series.tolist(), batch.values.tolist(), strict=True):
            result.setdefault(batch.table.keys[row], []).append(value)
    return result


def recorded(name: str) -> bytes:
    """As of now: all lines of a recording have one time."""
    lines = (SAMPLES / "telegraf" / f"{name}.influx").read_bytes().splitlines()
    return b"\n".join(line.rpartition(b" ")[0] + b" %d" % NOW for line in lines)


def test_recorded_rdma_counters_have_canonical_names() -> None:
    found = admitted(recorded("infiniband"))
    assert not found.dropped
    series = values(found)
    assert len(series) == 49
    labels = 'device="hop-r640-12",port="mlx5_bond_0"'
    assert series[f"ib_port_transmit_bytes_total{{{labels}}}"] == [4 * 85378896588.0]
    assert series[f"rdma_out_of_buffer_total{{{labels}}}"] == [0.0]
    assert {batch.table.target for batch in found.batches} == {"kafka/hop-r640-12"}


def test_a_recorded_driver_of_a_simple_interface_gives_its_link_and_pauses() -> None:
    """What else it counts is left out on purpose: the input net has it, and both would be one series."""
    found = admitted(recorded("ethtool"))
    port = 'port="mgmt0"'
    assert values(found) == {
        series: [value]
        for device in ("test01", "test02")
        for series, value in (
            (f'nic_up{{device="{device}",{port}}}', 1.0),
            (f'nic_speed_bits_per_second{{device="{device}",{port}}}', 1e9),
            (f'nic_pause_frames_total{{device="{device}",direction="rx",{port}}}', 0.0),
            (f'nic_pause_frames_total{{device="{device}",direction="tx",{port}}}', 0.0),
        )
    }
    assert (found.unmapped, {batch.collection.left_out for batch in found.batches}) == (0, {115})


def test_points_of_beegfs_mon_are_rates_and_states_of_its_servers() -> None:
    """In the form of mon/source/misc/InfluxDB.cpp; Telegraf's listener writes the times of points that have none."""
    points = (
        b"storage,nodeID=s1,nodeNumID=1 isResponding=true,indirectWorkListSize=0,directWorkListSize=0,diskSpaceTotal=9,"
        b"diskSpaceFree=4",
        b"meta,nodeID=m1,nodeNumID=2 isResponding=false",
        b"highResStorage,nodeID=s1,nodeNumID=1 workRequests=7,queuedRequests=3,diskWriteBytes=20,diskReadBytes=10,"
        b"netSendBytes=5,netRecvBytes=6",
        b"highResMeta,nodeID=m1,nodeNumID=2 workRequests=8,queuedRequests=1,netSendBytes=5,netRecvBytes=6",
        b"storageTargets,nodeID=s1,nodeNumID=1,storageTargetID=101 diskSpaceTotal=9,diskSpaceFree=4,inodesTotal=6,"
        b'inodesFree=5,targetConsistencyState="GOOD"',
        b"storageClientOpsByNode,node=10.0.0.1 sum=4,storInf=4",
    )
    rule = TopicRule(source="beegfs", device_from=("nodeID",))
    found = admitted(b"\n".join(point + b" %d" % NOW for point in points), rules=(rule,))

    def key(metric: str, device: str, target: str, **other: str) -> str:
        known = {"device": device, "target": target, "fs": "beegfs", "side": "server", "system": "beegfs"}
        return series_key(metric, {**known, **other})

    assert values(found) == {
        key("storage_up", "s1", "s1/storage"): [1.0],
        key("storage_up", "m1", "m1/meta"): [0.0],
        key("storage_read_bytes_per_second", "s1", "s1"): [10.0],
        key("storage_written_bytes_per_second", "s1", "s1"): [20.0],
        key("storage_operations_per_second", "s1", "s1", op="io"): [7.0],
        key("storage_operations_per_second", "m1", "m1", op="metadata"): [8.0],
        key("storage_queue_depth", "s1", "s1/storage"): [3.0],
        key("storage_queue_depth", "m1", "m1/meta"): [1.0],
        key("storage_capacity_bytes", "s1", "101"): [9.0],
        key("storage_available_bytes", "s1", "101"): [4.0],
        key("storage_inodes", "s1", "101"): [6.0],
        key("storage_inodes_free", "s1", "101"): [5.0],
    }
    assert found.unmapped == 2, "operations of clients, which name no server"


def test_ethtool_counters_belong_to_their_interface() -> None:
    line = b"ethtool,driver=mlx5_core,host=n1,interface=eth2 rx_prio3_pause=7i,rx_prio3_pause_duration=9i %d" % NOW
    assert values(admitted(line)) == {
        'nic_pfc_pause_frames_total{device="n1",direction="rx",port="eth2",priority="3"}': [7.0],
        'nic_pfc_pause_seconds_total{device="n1",direction="rx",port="eth2",priority="3"}': [9e-6],
    }


def test_lines_of_the_input_gnmi_are_mapped_by_the_settings() -> None:
    """Recorded from a switch: the tag source is the device, as host is where Telegraf runs."""
    lines = (SAMPLES / "openconfig" / "gnmi_responses" / "arista_interface_counters.influx").read_bytes()
    mapping = {
        "metric": "fabric_port_receive_bytes_total",
        "name": "ifcounters_in_octets",
        "labels": {"port": "{name}"},
    }
    rule = TopicRule.model_validate({"job": "ifcounters", "source": "own", "mapping": [mapping]})
    message = lines.split(b" ")[0] + b",host=collector in_octets=11u,in_pkts=3u %d" % NOW
    found = admitted(message, rules=(rule, RULE))
    assert values(found) == {'fabric_port_receive_bytes_total{device="127.0.0.1",port="Ethernet35"}': [11.0]}
    assert found.unmapped == 1


def test_gpus_and_interfaces_by_telegraf_s_own_inputs() -> None:
    """As its documents print them: MiB, MHz, per cent; protocols are of no interface."""
    gpu_tags = b"compute_mode=Default,host=n1,index=1,name=H100,pstate=P0,uuid=GPU-1"
    gpu_fields = b"memory_total=8i,memory_used=2i,power_draw=301.5,temperature_gpu=50i,utilization_gpu=75i"
    lines = (
        b"nvidia_smi,%s %s,clocks_current_sm=1980i,encoder_stats_session_count=0i %d" % (gpu_tags, gpu_fields, NOW),
        b"net,host=n1,interface=eth0 bytes_recv=10i,bytes_sent=20i,drop_in=4i,err_out=1i,packets_recv=3i %d" % NOW,
        b"net,host=n1,interface=all tcp_retranssegs=7i,icmp_inmsgs=9i,tcp_rtomax=120000i %d" % NOW,
        b"ethtool,driver=mlx5_core,host=n1,interface=eth0 link=1i,speed=400000i,rx_flow_control_xoff=6i %d" % NOW,
    )
    shown = Shown()
    reader, read_lines = LineReader(shown), Lines()
    for line in lines:
        reader.read(line, read_lines)
    found = {series: value for series, (value,) in values(reader.admit(read_lines, NOW)).items()}

    def of_gpu(metric: str, **labels: str) -> str:
        return series_key(metric, {"device": "n1", "gpu": "GPU-1", **labels})

    def of_port(metric: str, **labels: str) -> str:
        return series_key(metric, {"device": "n1", "port": "eth0", **labels})

    assert found == {
        of_gpu("gpu_info", index="1", model="H100"): 1.0,
        of_gpu("gpu_memory_total_bytes"): 8.0 * 2**20,
        of_gpu("gpu_memory_used_bytes"): 2.0 * 2**20,
        of_gpu("gpu_power_watts"): 301.5,
        of_gpu("gpu_temperature_celsius"): 50.0,
        of_gpu("gpu_utilization_ratio"): 0.75,
        of_gpu("gpu_sm_clock_hertz"): 1.98e9,
        of_port("nic_receive_bytes_total"): 10.0,
        of_port("nic_transmit_bytes_total"): 20.0,
        of_port("nic_drops_total", direction="rx"): 4.0,
        of_port("nic_errors_total", direction="tx"): 1.0,
        of_port("nic_packets_total", direction="rx"): 3.0,
        series_key("node_tcp_retransmitted_segments_total", {"device": "n1"}): 7.0,
        of_port("nic_up"): 1.0,
        of_port("nic_speed_bits_per_second"): 4e11,
        of_port("nic_pause_frames_total", direction="rx"): 6.0,
    }
    assert not shown.unmapped


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"DCGM_FI_DEV_GPU_TEMP,host=n1 gauge=40 1", "DCGM_FI_DEV_GPU_TEMP"),
        (b"node_load1,host=n1 value=0.4 1", "node_load1"),
        (b"node_disk_reads_completed_total counter=4 1", "node_disk_reads_completed_total"),
        (b"prometheus,host=n1 node_load1=0.4 1", "node_load1"),
        (b"qmon egress/bytes=4u 1", "qmon_egress/bytes"),
    ],
)
def test_a_metric_that_telegraf_scraped_has_its_own_name(line: bytes, name: str) -> None:
    assert [metric for metric, _ in read(line)[0]] == [name]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1i", 1.0),
        (b"-9223372036854775808i", -(2.0**63)),
        (b"18446744073709551615u", 2.0**64),
        (b"1", 1.0),
        (b"-1.5e-3", -0.0015),
        (b".5", 0.5),
        (b"t", 1.0),
        (b"TRUE", 1.0),
        (b"f", 0.0),
        (b"False", 0.0),
    ],
)
def test_fields_are_numbers_of_all_kinds(text: bytes, value: float) -> None:
    _, lines = read(b"a b=" + text + b" 5")
    assert (lines.values.tolist(), lines.times_ns.tolist(), dict(lines.dropped)) == ([value], [5], {})


def test_escapes_are_taken_away_and_texts_are_counted() -> None:
    line = rb'a\ b\,c,t\ k=x\=y\,z d\ e=1i,f="say \"1,2 3=\"\\",g=2 7'
    found, lines = read(line + b"\n" + line)
    labels = {"job": "a b,c", "t k": "x=y,z"}
    assert found == [("a b,c_d e", labels), ("a b,c_g", labels)]
    assert lines.values.tolist() == [1.0, 2.0, 1.0, 2.0]
    assert lines.dropped == Counter(text=2)


def test_a_text_may_have_line_breaks_and_a_tag_quotes() -> None:
    found, lines = read(b'a,t=x"y b="one\ntwo",c=1 5\r\n\n# a comment\nd e=2 6\n')
    assert [metric for metric, _ in found] == ["a_c", "d_e"]
    assert lines.times_ns.tolist() == [5, 6]
    assert found[0][1]["t"] == 'x"y'


@pytest.mark.parametrize(
    "broken",
    [
        b"a",
        b"a b=1",
        b"a b 5",
        b"a b= 5",
        b"a =1 5",
        b"a b=1,c 5",
        b"a b=one 5",
        b"a b=1i1 5",
        b"a b=nan 5",
        b"a b=1_0 5",
        b"a b=1 5.5",
        b"a b=1 99999999999999999999",
        b"a b=1 " + b"9" * 5000,
        b"a,t b=1 5",
        b",t=1 b=1 5",
        b' b="x" 5',
        b'a b="x 5',
        b"a\\",
        b"\xff",
    ],
)
def test_a_broken_line_costs_itself_alone(broken: bytes) -> None:
    found, lines = read(b"x y=1 5\n" + broken + b"\nx y=2 6")
    assert found == [("x_y", {"job": "x"})]
    assert lines.values.tolist() == [1.0, 2.0]
    assert lines.dropped["malformed"] == 1


def test_a_series_is_shown_once_however_often_it_comes() -> None:
    found, lines = read(*[b"a,host=n1 b=%d %d" % (n, n) for n in range(10)])
    assert (len(found), len(set(lines.slots)), len(lines.slots)) == (1, 1, 10)


def test_a_field_that_comes_twice_in_the_first_line_of_its_series_is_one_series() -> None:
    found, lines = read(b"a,host=n1 b=1,b=2 5")
    assert (len(found), lines.slots.tolist(), lines.values.tolist()) == (1, [0, 0], [1.0, 2.0])


def test_series_beyond_the_limit_are_counted() -> None:
    shown = Shown(series_max=1)
    reader, lines = LineReader(shown), Lines()
    line = b"infiniband,host=n1,device=mlx5_0,port=1 symbol_error=1i,link_downed=2i %d" % NOW
    reader.read(line, lines)
    found = reader.admit(lines, NOW)
    assert (sum(map(len, found.batches)), found.dropped) == (1, Counter({DropReason.NEW_SERIES: 1}))


def test_a_series_that_was_silent_makes_room_and_is_known_again() -> None:
    shown = Shown(series_max=2)
    reader = LineReader(shown)
    hour = 3600 * 10**9

    def take(name: bytes, now_ns: int) -> int:
        lines = Lines()
        reader.read(b"infiniband,host=n1,device=mlx5_0,port=1 %b=1i %d" % (name, now_ns), lines)
        return sum(map(len, reader.admit(lines, now_ns).batches))

    assert [take(name, NOW) for name in (b"symbol_error", b"link_downed", b"np_cnp_sent")] == [1, 1, 0]
    assert take(b"link_downed", NOW + hour // 2) == 1
    assert [take(name, NOW + 5 * hour // 4) for name in (b"link_downed", b"np_cnp_sent", b"link_downed")] == [1, 1, 0]
    assert [take(name, NOW + 3 * hour // 2) for name in (b"link_downed", b"np_cnp_sent")] == [1, 1]


def test_a_repeated_message_is_counted_as_such() -> None:
    found = admitted(recorded("infiniband"), recorded("infiniband"))
    assert sum(map(len, found.batches)) == found.dropped[DropReason.DUPLICATE] == 49


_TEXT = st.text(st.characters(exclude_characters="\\\n\r", exclude_categories=["Cs"]), min_size=1, max_size=8)


def escaped(text: str, marks: str) -> bytes:
    return "".join(f"\\{char}" if char in marks else char for char in text).encode()


@given(
    _TEXT.filter(lambda text: text[0] not in "# "),
    st.dictionaries(_TEXT, _TEXT, max_size=3),
    _TEXT,
    st.integers(-(2**63), 2**63 - 1),
)
@settings(deadline=None)
def test_whatever_is_escaped_is_read_as_it_was(measurement: str, tags: dict[str, str], key: str, value: int) -> None:
    head = [escaped(measurement, ", "), *(escaped(k, ",= ") + b"=" + escaped(v, ",= ") for k, v in tags.items())]
    found, lines = read(b",".join(head) + b" " + escaped(key, ",= ") + b"=%di 5" % value)
    assert lines.values.tolist() == [float(value)]
    assert found[0][1] == {"job": measurement, **tags}


@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b'a b="', b"a b=1 5", b"\\", b"a,b=c d=1i,e=t 1\n"]), max_size=6)
)
@settings(deadline=None)
def test_any_bytes_are_read_or_counted(parts: list[bytes]) -> None:
    _, lines = read(b"".join(parts))
    assert len(lines.slots) == len(lines.times_ns) == len(lines.values)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"format": "telegraf_influx"}, "rules: expected at least one"),
        (
            {"format": "telegraf_influx", "rules": [{"source": "telegraf"}], "devices": {"a": "b"}},
            "devices: expected none",
        ),
        ({"format": "gnmic_event", "rules": [{"source": "telegraf"}]}, "rules: expected none"),
        (
            {"format": "telegraf_influx", "rules": [{"source": "telegraf"}], "unmapped": "keep"},
            "unmapped: expected in rules",
        ),
        ({"format": "avro"}, "gnmic_event"),
    ],
)
def test_settings_that_do_not_fit_the_format_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Config.model_validate({"topics": ["a"], **settings})
