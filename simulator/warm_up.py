"""Compiles the loops of the model, which otherwise happens in the first simulation on a machine:
``python -m simulator.warm_up``.
"""

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig


def warm_up() -> None:
    """Runs a cluster of two hosts for some seconds of event time."""
    cluster = SimulatedCluster(SimulatorConfig(hosts=2, gpus_per_host=2, jobs=JobMix(jobs=1)), start_ns=0)
    cluster.advance(10 * NS_PER_S)


if __name__ == "__main__":
    warm_up()
