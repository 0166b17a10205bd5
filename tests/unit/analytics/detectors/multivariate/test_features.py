"""From series to measures of devices, by hand: folds, ratios, logarithms, medians of peers."""

from math import log

import numpy as np
import pytest

from analytics.detectors.multivariate.features import (
    comparable,
    find_devices,
    groups_of,
    measured,
    offset,
    peers_median,
)
from analytics.detectors.multivariate.measures import Fold, Kind, Measure, Part
from analytics.view.tick_view import TickView
from telemetry.objects import ObjectKind
from telemetry.series import series_key
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import port_key

NAN = np.nan
WATTS, CELSIUS = Part("gpu_power_watts"), Part("gpu_temperature_celsius")
POWER = Measure("power", "watts", WATTS, 0.1, by_factor=True, least=1.0)
HEAT = Measure("heat", "celsius", CELSIUS, 1.0)
HEAT_PER_WATT = Measure("heat per watt", "celsius/watt", CELSIUS, 0.1, WATTS, by_factor=True, least=1.0)
GPUS = Kind("gpu", ObjectKind.GPU, (POWER, HEAT, HEAT_PER_WATT))
KEYS = [
    series_key(metric, {"device": "node1", "gpu": f"GPU-{n}"})
    for n in range(2)
    for metric in ("gpu_power_watts", "gpu_temperature_celsius")
]


def hosts(fold: Fold) -> Kind:
    return Kind("host", ObjectKind.DEVICE, (Measure("power", "watts", Part("gpu_power_watts", fold), 0.1),))


def table_of(kind: Kind, *row: float) -> list[list[float]]:
    """The measures of each device after one collection."""

    def work(view: TickView) -> list[list[float]]:
        found: list[list[float]] = measured(kind, find_devices(kind, view.index), view)[0].tolist()
        return found

    return at_each_tick(work, collected(KEYS, [row], "node1"))[0]


def test_measures_are_values_and_ratios_with_a_least_divisor() -> None:
    assert table_of(GPUS, 500.0, 60.0, 0.0, 40.0) == [
        [500.0, 60.0, pytest.approx(60.0 / 501.0)],
        [0.0, 40.0, pytest.approx(40.0 / 1.0)],
    ]


@pytest.mark.parametrize(("fold", "expected"), [(Fold.SUM, 800.0), (Fold.MEAN, 400.0), (Fold.MAX, 500.0)])
def test_the_series_of_a_host_are_folded(fold: Fold, expected: float) -> None:
    assert table_of(hosts(fold), 500.0, 60.0, 300.0, 40.0) == [[expected]]


def test_a_kind_without_series_has_no_devices() -> None:
    kind = Kind("port", ObjectKind.PORT, (Measure("x", "", Part("fabric_port_transmit_bytes_total"), 0.1),))
    assert table_of(kind, 1.0, 2.0, 3.0, 4.0) == []


def test_factors_are_compared_as_logarithms_and_others_as_they_are() -> None:
    scaled = comparable(GPUS, np.array([[500.0, 60.0, 0.12], [-3.0, 40.0, 0.0]]))
    assert scaled[0].tolist() == pytest.approx([log(501.0), 60.0, log(0.12)])
    assert scaled[1].tolist() == pytest.approx([log(1.0), 40.0, log(1e-12)])  # no logarithm of less than 0
    assert (offset(POWER), offset(HEAT_PER_WATT)) == (1.0, 1e-12)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([0, 0, 0], [2.0, 2.0, 2.0]),
        ([0, 0, 1], [NAN, NAN, NAN]),  # fewer than three are no peers
        ([7, 7, 7, 7, 2], [2.5, 2.5, 2.5, 2.5, NAN]),
        ([], []),
    ],
)
def test_peers_show_the_median_of_their_group(groups: list[int], expected: list[float]) -> None:
    values = np.array([1.0, 2.0, 3.0, 9.0, 5.0])[: len(groups)].reshape(-1, 1)
    found = peers_median(values, np.array(groups, np.int64))
    np.testing.assert_array_equal(found[:, 0], expected)


ENTITIES: list[Entity] = [
    *(Device(name, Role.HOST) for name in ("node1", "node2")),
    *(Gpu("node1", f"GPU-{n}", n) for n in range(2)),
    Device("leaf1", Role.LEAF),
    Link("leaf1", "Ethernet0", "node1", "mlx5_0", 400e9),
    Link("leaf1", "Ethernet4", "node2", "mlx5_0", 400e9),
    Link("leaf1", "Ethernet8", "node2", "mlx5_1", 100e9),
]


def test_gpus_of_one_job_are_peers_and_others_those_of_their_host() -> None:
    def work(view: TickView) -> list[int]:
        found: list[int] = groups_of(GPUS, find_devices(GPUS, view.index), view).tolist()
        return found

    batches = collected(KEYS, [(500.0, 60.0, 500.0, 60.0)], "node1")
    together, alone = (
        at_each_tick(work, batches, [*ENTITIES, Job("7", ("node1",), gpu_indices=indices)])[0] for indices in ((), (0,))
    )
    assert together == [0, 0]
    assert alone[0] == 0
    assert alone[1] < 0


def test_ports_of_one_switch_with_one_rating_are_peers() -> None:
    kind = Kind("port", ObjectKind.PORT, (Measure("x", "", Part("fabric_port_up"), 0.1),))
    keys = [port_key("fabric_port_up", f"Ethernet{n}") for n in (0, 4, 8)]
    (first, second, slow), *_ = at_each_tick(
        lambda view: groups_of(kind, find_devices(kind, view.index), view).tolist(),
        collected(keys, [(1.0, 1.0, 1.0)]),
        ENTITIES,
    )
    assert first == second != slow
