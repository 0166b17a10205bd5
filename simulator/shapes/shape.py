"""Shapes of clusters by name, and the default numbers of each."""

import math
from enum import StrEnum
from typing import NamedTuple

# Ports of 400 Gb/s of the largest modular switches, such as Arista 7816R4 (576 of 800 Gb/s).
SWITCH_PORTS_MAX = 1152
SMALL, MEDIUM = 16, 1024  # hosts, up to which the numbers of ``usual_sizes`` hold


class Shape(StrEnum):
    """How hosts are connected."""

    TWO_TIER = "two-tier"  # rail-optimised leaves, each with a link to every spine
    THREE_TIER = "three-tier"  # leaves and aggregation switches in pods, cores above them
    RAIL_ONLY = "rail-only"  # one switch a rail, nothing above (Wang et al. 2023)
    SINGLE_RAIL = "single-rail"  # two-tier; one NIC for all GPUs of a host
    INFINIBAND = "infiniband"  # two-tier; credits instead of PFC and ECN


class Sizes(NamedTuple):
    """pod_hosts: hosts that share their leaves. leaf_rails: NIC positions that one leaf serves.

    spines: switches above each leaf. uplink_gbps: speed of the link to each of them.
    """

    pod_hosts: int
    leaf_rails: int
    spines: int
    uplink_gbps: float


def usual_sizes(shape: Shape, hosts: int, nics: int) -> Sizes:
    """The numbers that follow from ``hosts`` with ``nics`` NICs each.

    More than 1,024 hosts have leaves of 128 ports of 400 Gb/s (51.2 Tb/s: Tomahawk 5, Spectrum-4), half of them down.
    In three tiers the spines are the aggregation switches of one pod; their links are 800 Gb/s (two of 400) there.
    """
    if shape is Shape.RAIL_ONLY:
        return Sizes(hosts, 1, 0, 0.0)
    three = shape is Shape.THREE_TIER
    if hosts <= SMALL:
        return Sizes(min(16, max(1, math.ceil(hosts / 2))), math.gcd(2, nics), 4, 800.0)
    if hosts <= MEDIUM:
        return Sizes(min(16, math.ceil(hosts / 2)), 1, 16 if three else max(4, hosts // 2), 400.0)
    return Sizes(64, 1, 32, 800.0) if three else Sizes(64, 1, 64, 400.0)
