"""Hosts of a rack that are rebooted one after the other, without a word."""

from common.units import NS_PER_S
from simulator.config import SimulatorConfig
from simulator.direct import campaign
from simulator.faults.schedule import parse_fault
from telemetry.changes import ChangeKind


def test_a_rolling_reboot_takes_one_host_after_the_other_and_nobody_announces_it() -> None:
    campaign_of = campaign(
        SimulatorConfig(hosts=8, step_ms=50), [parse_fault("rolling-reboot@10s:r1")], 240.0, start_ns=0
    )
    off: dict[str, list[float]] = {}
    changes = []
    for tick in campaign_of:
        changes += [change.kind for change in tick.changes]
        for host in tick.cluster.layout.hosts:
            if not tick.cluster.readings.devices.reachable[tick.cluster.layout.device_index[host]]:
                off.setdefault(host, []).append(tick.now_ns / NS_PER_S)
    assert list(off) == ["node1", "node2", "node3", "node4"]
    assert [times[0] for times in off.values()] == sorted(times[0] for times in off.values())
    assert set(changes) == {ChangeKind.JOB_START, ChangeKind.JOB_END}
