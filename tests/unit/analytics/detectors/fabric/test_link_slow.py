"""A link that lost speed, and what its port usually carries: that has to wait where it is more than is left."""

from analytics.models.usual_load import USUAL_LOAD
from telemetry.findings import Finding, FindingKind
from tests.unit.analytics.small_cluster import INTERVAL_S, judged, port_key

SPEED = port_key("fabric_port_speed_bits_per_second")
IN, OUT = (port_key(f"fabric_port_{way}_bytes_total") for way in ("receive", "transmit"))
KNOWN = 40  # collections


def slow(keys: list[str], usual: tuple[float, ...]) -> Finding:
    """What is found where a port goes from 400 to 100 Gb/s. usual: bytes a second of its counters."""
    rows = [[4e11, *(rate * INTERVAL_S * at for rate in usual)] for at in range(KNOWN)]
    rows.append([1e11, *(rate * INTERVAL_S * KNOWN for rate in usual)])
    found = [one for one in judged([SPEED, *keys], rows) if isinstance(one, Finding)]
    return next(one for one in found if one.kind is FindingKind.LINK_SLOW)


def test_it_says_what_the_port_usually_carries_in_its_busier_direction() -> None:
    speed, usual = slow([IN, OUT], (2e9, 25e9)).evidence
    assert (speed.value, speed.normal) == (1e11, 4e11)
    assert usual.series == f'{USUAL_LOAD}{{object="port:leaf1/Ethernet0"}}'
    assert (round(usual.value / 1e9), usual.unit) == (200, "bits_per_second")


def test_it_says_nothing_where_that_is_not_counted() -> None:
    assert len(slow([], ()).evidence) == 1
