"""An outage between two readings: both show the port up, and the carrier count grew by two."""

from collections.abc import Mapping, Sequence

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import CONFIG, batch, clockwork, port_key, run, table

PORT = port_key("fabric_port_up"), port_key("fabric_port_flaps_total")
NIC = tuple(series_key(metric, {"device": "leaf1", "port": "mlx5_0"}) for metric in ("nic_up", "nic_flaps_total"))
INFINIBAND = port_key("ib_port_physical_state"), port_key("ib_port_link_downed_total")
OTHER = port_key("fabric_port_up"), port_key("fabric_port_flaps_total", port="Ethernet4")
Rows = Sequence[tuple[float, float]]


def found(rows: Rows, keys: tuple[str, str] = PORT, missing: int = -1) -> Mapping[K, Finding]:
    """The first finding of each kind. rows: whether the port is up and how often its carrier changed, by reading."""
    batches = [batch(table("leaf1", keys), seq, row) for seq, row in enumerate(rows) if seq != missing]
    outputs = run(Engine(CONFIG), [*batches, *clockwork(0, range(len(rows), len(rows) + 2))])
    return {one.kind: one for one in reversed(outputs) if isinstance(one, Finding)}


@pytest.mark.parametrize("keys", [PORT, NIC])
def test_two_changes_between_readings_that_show_it_up_are_one_outage(keys: tuple[str, str]) -> None:
    (bounced,) = found([(1, 7), (1, 7), (1, 9)], keys).values()
    assert (bounced.kind, bounced.score, bounced.cadence_s) == (K.LINK_BOUNCED, 1.0, 10.0)
    assert [(one.series, one.value, one.normal) for one in bounced.evidence] == [(keys[1], 2.0, 0.0)]


def test_infiniband_counts_one_outage_as_one() -> None:
    (bounced,) = found([(5, 7), (5, 7), (5, 8)], INFINIBAND).values()
    assert (bounced.kind, bounced.score) == (K.LINK_BOUNCED, 1.0)
    assert set(found([(5, 7), (5, 7), (2, 8), (5, 8)], INFINIBAND)) == {K.LINK_DOWN}
    assert set(found([(5, 7), (5, 7), (5, 9)], INFINIBAND)) == {K.LINK_FLAPPING}


LEFT_ALONE: list[tuple[str, Rows]] = [
    ("its first reading", [(1, 2), (1, 2)]),
    ("a count that began again", [(1, 7), (1, 7), (1, 2), (1, 2)]),
    ("one change", [(1, 7), (1, 7), (1, 8)]),
    ("a port that is down", [(0, 7), (0, 7), (0, 9)]),
]


@pytest.mark.parametrize("rows", [row[1] for row in LEFT_ALONE], ids=[row[0] for row in LEFT_ALONE])
def test_it_is_no_outage(rows: Rows) -> None:
    assert K.LINK_BOUNCED not in found(rows)


@pytest.mark.parametrize("rows", [[(1, 7), (1, 7), (0, 8), (1, 9)], [(1, 7), (1, 7), (0, 7), (1, 9)]])
def test_an_outage_that_was_seen_is_none_of_these_when_it_is_over(rows: Rows) -> None:
    """Also where the count follows later."""
    assert set(found(rows)) == {K.LINK_DOWN}


def test_more_changes_are_flapping_alone() -> None:
    assert set(found([(1, 7), (1, 7), (1, 11)])) == {K.LINK_FLAPPING}


def test_two_outages_within_two_minutes_are_flapping_as_well() -> None:
    assert set(found([(1, 7), (1, 7), (1, 9), (1, 9), (1, 11)])) == {K.LINK_BOUNCED, K.LINK_FLAPPING}


def test_where_a_reading_is_missing_nothing_says_how_long_it_was() -> None:
    rows = [(1.0, 7.0)] * 6 + [(1.0, 9.0)]
    assert K.LINK_BOUNCED in found(rows)
    assert found(rows, missing=5) == {}


def test_without_a_state_nothing_says_that_it_is_up() -> None:
    assert found([(1, 7), (1, 7), (1, 9)], OTHER) == {}


def test_it_clears_after_three_readings() -> None:
    rows = [(1.0, 7.0)] * 2 + [(1.0, 9.0)] * 4
    batches = [batch(table("leaf1", PORT), seq, row) for seq, row in enumerate(rows)]
    outputs = run(Engine(CONFIG), [*batches, *clockwork(0, range(len(rows), len(rows) + 2))])
    assert [one.state for one in outputs if isinstance(one, Finding)] == [FindingState.ACTIVE, FindingState.CLEARED]
