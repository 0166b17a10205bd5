"""When a flap or an outage of a port is compared, with what, and what of that outlives a restart."""

from collections.abc import Sequence

import pytest

from analytics.correlate.correlator import Correlator
from analytics.derived.flaps import Flaps
from analytics.engine import Engine
from analytics.models.flap_comparison import FlapComparison
from analytics.view.tick_view import TickView
from telemetry.incidents import Incident, IncidentKind
from telemetry.topology import Device, Entity, Link, Role, TopologyFact
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, port_key, run

KEYS = [
    port_key("fabric_port_flaps_total"),
    port_key("fabric_port_up"),
    port_key("fabric_port_bit_error_ratio", stage="pre_fec"),
    port_key("fabric_port_optical_power_dbm", direction="rx", lane="1"),
]
FLAP, ENDS = 20, 60  # collections
Row = tuple[float, float, float, float]  # flaps, up, BER, light


def rows(before: float = 1e-9, after: float = 1e-6, flaps_at: Sequence[int] = (FLAP,)) -> list[Row]:
    """A port whose carrier goes and comes back twice between two collections, with another error ratio since."""
    seen = [(sum(4 for at in flaps_at if at <= n), n >= flaps_at[0]) for n in range(ENDS)]
    return [
        (flaps, 1.0, (after if flapped else before) * (1 + 0.01 * (n % 3)), -2.0)
        for n, (flaps, flapped) in enumerate(seen)
    ]


def followed(of: Sequence[Row], *, restart: bool = False) -> list[tuple[float, FlapComparison]]:
    """The comparisons, each with the interval in which it came."""
    flaps = [Flaps()]

    def update(view: TickView) -> list[tuple[float, FlapComparison]]:
        if restart:
            state = flaps[0].state()
            flaps[0] = Flaps()
            flaps[0].restore(state)
        at = (view.end_ns - START_NS) / (INTERVAL_S * SECOND)
        return [(at, found) for found in flaps[0].update(view)]

    return [found for each in at_each_tick(update, collected(KEYS, of)) for found in each]


@pytest.mark.parametrize("restart", [False, True])
def test_a_flap_is_compared_three_minutes_later(restart: bool) -> None:
    ((at, found),) = followed(rows(), restart=restart)
    assert (str(found.port), found.verdict, found.changes) == (
        "port:leaf1/Ethernet0",
        "worse",
        "pre-FEC BER 1e-9 to 1e-6",
    )
    assert found.flapped_ns == START_NS + FLAP * INTERVAL_S * SECOND
    assert at == pytest.approx(FLAP + 18, abs=1)


def test_a_port_that_does_not_flap_is_not_followed() -> None:
    assert followed([(5.0, 1.0, 1e-9 if n < FLAP else 1e-6, -2.0) for n in range(ENDS)]) == []


def test_flaps_in_a_row_are_one_step_since_the_last_of_them() -> None:
    ((at, found),) = followed(rows(flaps_at=(FLAP, FLAP + 5, FLAP + 10)))
    assert found.flapped_ns == START_NS + (FLAP + 10) * INTERVAL_S * SECOND
    assert found.changes == "pre-FEC BER 1e-9 to 1e-6"
    assert at == pytest.approx(FLAP + 28, abs=1)


def test_a_link_is_compared_with_what_it_was_like_before_it_went_down() -> None:
    of = [(0.0, float(not 20 <= n < 35), 1e-6 if n < 20 else 1e-9, -2.0) for n in range(ENDS)]
    ((_, found),) = followed(of)
    assert (found.verdict, found.changes) == ("better", "pre-FEC BER 1e-6 to 1e-9")
    assert found.flapped_ns == START_NS + 34 * INTERVAL_S * SECOND


def test_before_is_what_it_was_like_last_where_it_had_left_its_normal() -> None:
    """A minute of errors is not learned yet, but a repair must be compared with them."""
    of = [(4.0 if n >= 26 else 0.0, 1.0, 1e-6 if 20 <= n < 26 else 1e-9, -2.0) for n in range(ENDS)]
    ((_, found),) = followed(of)
    assert (found.verdict, found.changes) == ("better", "pre-FEC BER 1e-6 to 1e-9")


def test_a_spare_port_that_was_never_up_is_not_followed() -> None:
    assert followed([(0.0, 0.0, 0.0, -2.0)] * ENDS) == []


def test_the_incident_and_the_record_of_the_link_say_what_the_flap_changed() -> None:
    engine = Engine(CONFIG, Correlator())
    entities: list[Entity] = [
        Device("leaf1", Role.LEAF),
        Device("spine1", Role.SPINE),
        Link("leaf1", "Ethernet0", "spine1", "Ethernet8"),
    ]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    outputs = run(engine, collected(KEYS, rows()))
    newest = {each.kind: each for each in outputs if isinstance(each, Incident)}[IncidentKind.LINK_FLAPPING]
    text = "worse at leaf1/Ethernet0: pre-FEC BER 1e-9 to 1e-6"
    assert f"after the flap at 22:16:40: {text}" in [entry.text for entry in newest.timeline]
    assert newest.record is not None
    assert ("after flap", text) in [(event.what, event.detail) for event in newest.record.events]
