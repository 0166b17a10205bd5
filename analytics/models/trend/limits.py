"""What has a limit that it may reach slowly, and where the limit comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from telemetry.findings import FindingKind
from telemetry.selectors import Selector, received, sent

_LOCAL = frozenset({"ext4", "xfs", "btrfs"})


def own_room(labels: Mapping[str, str]) -> bool:
    """File systems where they are stored: each of a thousand clients reports the same of a shared one."""
    return labels.get("side") == "server" or labels.get("system") in _LOCAL


@dataclass(frozen=True)
class Limited:
    """Series of one metric, divided by those of another one with the same labels where ``share_of`` names it.

    scale: factor of what is divided. limit: in ``unit``, or times the series' own first day where ``of_first``.
    worst: of the lanes of a port only this one is followed, the smallest or the largest at each time.
    daily: has a swing by the time of day. stepwise: a count of rare events, of which the rate is what matters.
    """

    kind: FindingKind
    metric: str
    limit: float
    unit: str
    selector: Selector | None = None
    share_of: str = ""
    scale: float = 1.0
    of_first: bool = False
    worst: Literal["", "smallest", "largest"] = ""
    daily: bool = False
    stepwise: bool = False


_SPEED = "fabric_port_speed_bits_per_second"

LIMITS = (
    # Medians of two hours: a link that is so full for most of the time has no room for bursts.
    Limited(FindingKind.CAPACITY, "fabric_port_transmit_bytes_total", 0.9, "ratio", None, _SPEED, 8.0, daily=True),
    Limited(FindingKind.CAPACITY, "fabric_port_receive_bytes_total", 0.9, "ratio", None, _SPEED, 8.0, daily=True),
    # What is left. ext4 keeps a twentieth for root, and Lustre's allocator slows down near the end.
    Limited(
        FindingKind.CAPACITY,
        "storage_available_bytes",
        0.05,
        "ratio left",
        own_room,
        "storage_capacity_bytes",
        daily=True,
    ),
    # The catalogue has no alarm limits of modules: least average power of a lane of 400GBASE-FR4
    # (IEEE 802.3cu clause 151); of the common short and long ones it is the lowest but for multimode.
    Limited(FindingKind.WEAR, "fabric_port_optical_power_dbm", -7.3, "dBm", received, worst="smallest", daily=True),
    Limited(FindingKind.WEAR, "fabric_port_optical_power_dbm", -3.3, "dBm", sent, worst="smallest", daily=True),
    # A laser is at the end of its life when it needs half as much current again (Telcordia GR-468).
    Limited(FindingKind.WEAR, "fabric_port_laser_bias_amperes", 1.5, "A", of_first=True, worst="largest", daily=True),
    # A GPU can remap 512 rows (NVIDIA, GPU memory error management).
    Limited(FindingKind.WEAR, "gpu_remapped_rows_total", 512.0, "rows", stepwise=True),
)
