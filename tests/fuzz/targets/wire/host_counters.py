"""Texts of sysfs and ethtool: each has a number or none, and a name."""

import math

from common.errors import BadInput
from ingest.collectors.canonical_samples import Values
from ingest.collectors.host_counters.parse import add_port, add_statistics

SEEDS = (
    b"NIC statistics:\n     rx_prio3_pause: 7\n     [0]: rx_ucast_packets: 5\n",
    b"400 Gb/sec (4X NDR)\n",
    b"4: ACTIVE\n",
)


def target(data: bytes) -> None:
    values = Values()
    add_port(values, "mlx5_0", "1", [("rate", data.decode(errors="replace"))])
    try:
        add_statistics(values, "eth2", data)
    except BadInput:
        assert len(values.names) == 1
    assert len(values.names) == len(values.numbers)
    assert all(map(math.isfinite, values.numbers[1:]))
