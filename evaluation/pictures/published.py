"""Published figures that the pictures show beside the simulated ones, each as its source gives it."""

from typing import Final, NamedTuple


class Published(NamedTuple):
    """low, high: in the unit of the axis, where a picture shows it. words: the figure. source: where it is from."""

    low: float
    high: float
    words: str
    source: str


PAUSE_FRAMES: Final = Published(
    low=1e3,
    high=1e4,
    words="servers: up to thousands a second",
    source="Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, 4.4",
)
CLOCK_SPREAD: Final = Published(
    low=8.0,
    high=22.0,
    words="performance of equal GPUs: 8 % on average, 22 % at most",
    source="Sinha et al., Not All GPUs Are Created Equal, SC 2022",
)
CONTEXT_WATTS: Final = Published(
    low=26.0,
    high=50.0,
    words="26 to 50 W above idle",
    source="The Model Parking Tax, arXiv 2605.23918, 2026: GPUs with HBM",
)
EXECUTION_IDLE: Final = Published(
    low=19.7,
    high=19.7,
    words="19.7 % of the time in execution",
    source="The Energy Cost of Execution-Idle in GPU Clusters, arXiv 2604.04745, 2026",
)
# Thresholds of ECN are those of the fabric, which are published themselves: simulator/fabric/parameters.py.
