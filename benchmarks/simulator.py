"""What the simulator costs: simulated seconds per CPU-second; 1.0 is real time on one core."""

import time

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.faults.schedule import ScheduledFault
from simulator.servers.config import ServeConfig
from simulator.servers.snapshot import copied

_SIZES = (8, 64)  # hosts of 8 GPUs; 64 of them have 512 GPUs and 66 switches
_SETTLED_S, _MEASURED_S, _ROUNDS = 20, 10, 3


def speed(hosts: int) -> tuple[float, SimulatedCluster]:
    """Simulated seconds per CPU-second (user and system, all threads), best of some rounds, with a lasting fault.

    The model advances and its readings are copied as often as when it is served.
    """
    cluster = SimulatedCluster(SimulatorConfig(hosts=hosts), start_ns=0)
    cluster.inject(ScheduledFault(fault="slow-receiver", at_s=_SETTLED_S / 2, lasts_s=3600))
    _advance(cluster, _SETTLED_S)
    best = 0.0
    for _ in range(_ROUNDS):
        began_s = time.process_time()
        _advance(cluster, _MEASURED_S)
        best = max(best, _MEASURED_S / (time.process_time() - began_s))
    return best, cluster


def _advance(cluster: SimulatedCluster, seconds: int) -> None:
    step_s = ServeConfig().step_s
    began_ns = cluster.now_ns
    for step in range(1, round(seconds / step_s) + 1):
        cluster.advance(began_ns + int(step * step_s * NS_PER_S))
        copied(cluster.readings)


def run() -> list[Row]:
    rows = []
    for hosts in _SIZES:
        value, cluster = speed(hosts)
        layout = cluster.layout
        what = f"simulator: {len(layout.gpus)} GPUs, {len(layout.switches)} switches"
        rows.append(row(what, value, "simulated s/CPU-s", 1.0))
    return rows


if __name__ == "__main__":
    print_rows(run())
