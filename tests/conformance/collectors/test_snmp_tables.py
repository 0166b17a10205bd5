"""The tables that the SNMP collector reads beside IF-MIB, each served by a real agent."""

import math
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ingest.collectors.snmp.collector import SnmpCollector
from ingest.ledger import DropReason, Ledger
from tests.conformance.collectors.snmp_agent import NOW_NS, collector, interfaces, sensor, served, values
from tests.servers.snmpd import Objects, Snmpd

CELSIUS, WATTS, AMPERES, VOLTS_DC, RPM, DBM = 8, 6, 5, 4, 10, 14
UNITS, MILLI = 9, 8


@pytest.fixture
async def switch(agent: Snmpd, tmp_path: Path, ledger: Ledger) -> AsyncIterator[SnmpCollector]:
    """A collector of the agent."""
    made = collector(tmp_path, agent.address, ledger)
    yield made
    await made.stop()


def without_ports(found: dict[str, float]) -> dict[str, float]:
    """What IF-MIB did not give."""
    interface = ("_bytes_total", "_packets_total", "_discards", "_errors", "_up{", "_speed", "_mtu", "_uptime")
    kept = {key: value for key, value in found.items() if not any(part in key.partition(",")[0] for part in interface)}
    return {key.replace('device="leaf1",', ""): value for key, value in kept.items()}


async def test_sensors_of_ports_and_of_the_switch(agent: Snmpd, switch: SnmpCollector, ledger: Ledger) -> None:
    agent.serve(
        served(
            interfaces(2),
            sensor(1, "DOM TX Bias Sensor for etp1/3", AMPERES, MILLI, 2, 3345),
            sensor(2, "DOM RX Power Sensor for etp1/3", WATTS, MILLI, 4, 6322),
            sensor(3, "DOM TX Power Sensor for Ethernet4", DBM, UNITS, 2, -150),
            sensor(4, "DOM Temperature Sensor for etp2", CELSIUS, UNITS, 0, 41),
            sensor(5, "DOM Voltage Sensor for etp2", VOLTS_DC, UNITS, 3, 3301),
            sensor(6, "Temperature sensor for PSU 1", CELSIUS, UNITS, 1, 305),
            sensor(7, "Power sensor for PSU 1", WATTS, UNITS, 0, 410),
            sensor(8, "Fan 1", RPM, UNITS, 0, 9000),
        )
    )
    batch = await switch.collect(NOW_NS)
    assert without_ports(values(batch)) == pytest.approx(
        {
            'fabric_port_laser_bias_amperes{lane="3",port="Ethernet0"}': 0.03345,
            'fabric_port_optical_power_dbm{direction="rx",lane="3",port="Ethernet0"}': 10 * math.log10(0.6322),
            'fabric_port_optical_power_dbm{direction="tx",port="Ethernet4"}': -1.5,
            'fabric_transceiver_temperature_celsius{port="Ethernet4"}': 41,
            'fabric_transceiver_volts{port="Ethernet4"}': 3.301,
            'fabric_device_temperature_celsius{sensor="Temperature sensor for PSU 1"}': 30.5,
            'fabric_device_psu_watts{sensor="Power sensor for PSU 1"}': 410,
            'fabric_device_fan_rpm{sensor="Fan 1"}': 9000,
        }
    )
    assert (batch.collection.unmapped, ledger.samples_in) == (0, len(batch))


async def test_sensors_without_a_value_are_no_samples(agent: Snmpd, switch: SnmpCollector, ledger: Ledger) -> None:
    agent.serve(
        served(
            interfaces(1),
            sensor(1, "too hot to say", CELSIUS, UNITS, 0, 1_000_000_000),
            sensor(2, "not there", CELSIUS, UNITS, 0, 20, status=3),
            sensor(3, "DOM RX Power Sensor for etp1/1", WATTS, MILLI, 4, 0),
            sensor(4, "DOM RX Power Sensor for etp1/2", DBM, UNITS, 0, -40),
        )
    )
    batch = await switch.collect(NOW_NS)
    assert without_ports(values(batch)) == {}
    assert ledger.drops == {DropReason.NO_VALUE: 3, DropReason.OUT_OF_BOUNDS: 1}
    assert ledger.samples_in == len(batch) + 4


def pfc(table: str, sent: int, received: int) -> Objects:
    """Columns that count pause frames of port 1, priority 3."""
    return {f"{table}.{sent}.1.3": ("counter64", 11), f"{table}.{received}.1.3": ("counter64", 12)}


@pytest.mark.parametrize(
    "objects",
    [pfc("1.3.6.1.4.1.9.9.813.1.2.1", 2, 3), pfc("1.3.6.1.4.1.33049.15.1.1.1", 15, 8)],
    ids=["cisco", "mellanox"],
)
async def test_pause_frames_by_priority(agent: Snmpd, switch: SnmpCollector, objects: Objects) -> None:
    agent.serve(served(interfaces(1), objects))
    found = values(await switch.collect(NOW_NS))
    key = 'fabric_port_pfc_pause_frames_total{{device="leaf1",direction="{}",port="Ethernet0",priority="3"}}'
    assert (found[key.format("tx")], found[key.format("rx")]) == (11, 12)


async def test_queues_count_from_zero_and_add_unicast_and_multicast(
    agent: Snmpd, switch: SnmpCollector, ledger: Ledger
) -> None:
    table = "1.3.6.1.4.1.9.9.580.1.5.5.1.4"
    agent.serve(served(interfaces(1), {f"{table}.1.2.4.{stat}": ("counter64", 10**12 * stat) for stat in range(1, 9)}))
    batch = await switch.collect(NOW_NS)
    found = {key: value / 10**12 for key, value in values(batch).items() if key.startswith("fabric_queue")}
    labels = '{device="leaf1",port="Ethernet0",queue="3"}'
    assert found == {
        f"fabric_queue_transmit_packets_total{labels}": 1 + 3,
        f"fabric_queue_transmit_bytes_total{labels}": 2 + 4,
        f"fabric_queue_dropped_packets_total{labels}": 5 + 7,
        f"fabric_queue_dropped_bytes_total{labels}": 6 + 8,
    }
    assert ledger.samples_in == len(batch)


async def test_bgp_sessions_by_peer(agent: Snmpd, switch: SnmpCollector) -> None:
    ietf, arista = "1.3.6.1.2.1.15.3.1", "1.3.6.1.4.1.30065.4.1.1.2.1.13"
    v6 = ".".join(map(str, bytes.fromhex("20010db8000000000000000000000001")))
    agent.serve(
        {
            f"{ietf}.2.10.0.0.1": ("integer", 6),
            f"{ietf}.15.10.0.0.1": ("counter", 4),
            f"{ietf}.2.10.0.0.2": ("integer", 3),
            f"{arista}.1.2.16.{v6}": ("integer", 6),
            f"{arista}.1.1.4.10.1.0.9": ("integer", 1),
        }
    )
    found = values(await switch.collect(NOW_NS))
    assert {key: value for key, value in found.items() if "bgp" in key} == {
        'fabric_bgp_session_up{device="leaf1",peer="10.0.0.1"}': 1,
        'fabric_bgp_session_up{device="leaf1",peer="10.0.0.2"}': 0,
        'fabric_bgp_session_up{device="leaf1",peer="2001:db8::1"}': 1,
        'fabric_bgp_session_up{device="leaf1",peer="10.1.0.9"}': 0,
        'fabric_bgp_session_transitions_total{device="leaf1",peer="10.0.0.1"}': 4,
    }


async def test_power_of_a_raritan_pdu(agent: Snmpd, switch: SnmpCollector, ledger: Ledger) -> None:
    inlet, outlet = "1.3.6.1.4.1.13742.6.5.2.3.1", "1.3.6.1.4.1.13742.6.5.4.3.1"
    digits_in, digits_out = "1.3.6.1.4.1.13742.6.3.3.4.1.7", "1.3.6.1.4.1.13742.6.3.5.4.1.7"
    objects: dict[str, tuple[str, object]] = {}
    for kind, digits, value in ((1, 2, 1234), (4, 0, 231), (5, 0, 2851), (7, 2, 98)):
        objects |= {f"{inlet}.2.1.1.{kind}": ("integer", 1), f"{inlet}.4.1.1.{kind}": ("gauge", value)}
        objects |= {f"{outlet}.2.1.12.{kind}": ("integer", 1), f"{outlet}.4.1.12.{kind}": ("gauge", value // 2)}
        objects |= {f"{digits_in}.1.1.{kind}": ("integer", digits), f"{digits_out}.1.12.{kind}": ("integer", digits)}
    objects |= {f"{outlet}.2.1.13.5": ("integer", 2), f"{outlet}.4.1.13.5": ("gauge", 0)}
    agent.serve({**objects, f"{digits_out}.1.13.5": ("integer", 0)})
    batch = await switch.collect(NOW_NS)
    assert {key: value for key, value in values(batch).items() if "pdu" in key} == pytest.approx(
        {
            'pdu_inlet_amperes{device="leaf1",inlet="1.1"}': 12.34,
            'pdu_inlet_volts{device="leaf1",inlet="1.1"}': 231,
            'pdu_inlet_watts{device="leaf1",inlet="1.1"}': 2851,
            'pdu_outlet_amperes{device="leaf1",outlet="1.12"}': 6.17,
            'pdu_outlet_volts{device="leaf1",outlet="1.12"}': 115,
            'pdu_outlet_watts{device="leaf1",outlet="1.12"}': 1425,
        }
    )
    assert (batch.collection.unmapped, ledger.drops) == (0, {DropReason.NO_VALUE: 1})


async def test_power_of_a_server_technology_pdu(agent: Snmpd, switch: SnmpCollector, ledger: Ledger) -> None:
    cord, outlet = "1.3.6.1.4.1.1718.4.1.3.3.1", "1.3.6.1.4.1.1718.4.1.8.3.1"
    agent.serve(
        {
            f"{cord}.3.1.1": ("integer", 888),
            f"{outlet}.3.1.1.7": ("integer", 215),
            f"{outlet}.6.1.1.7": ("integer", 2073),
            f"{outlet}.7.1.1.7": ("integer", 402),
            f"{outlet}.7.1.1.8": ("integer", -1),
        }
    )
    batch = await switch.collect(NOW_NS)
    assert {key: value for key, value in values(batch).items() if "pdu" in key} == pytest.approx(
        {
            'pdu_inlet_watts{device="leaf1",inlet="1.1"}': 888,
            'pdu_outlet_amperes{device="leaf1",outlet="1.1.7"}': 2.15,
            'pdu_outlet_volts{device="leaf1",outlet="1.1.7"}': 207.3,
            'pdu_outlet_watts{device="leaf1",outlet="1.1.7"}': 402,
        }
    )
    assert ledger.drops == {DropReason.OUT_OF_BOUNDS: 1}
