"""GPUs: power, heat, clocks and averages from what each one did, against the formulas of the model."""

import math

import numpy as np
import pytest

from simulator.compute.figures import COMPUTE, HANG, IDLE, SPIN, USUAL, WAIT
from simulator.compute.gpus import BOOST_HERTZ, IDLE_HERTZ, IDLE_WATTS, INLET_C, RESISTANCE_C_PER_W, SLOWDOWN_C, Gpus
from simulator.config import SimulatorConfig
from simulator.wiring import build_layout

WATTS, UTILIZATION = USUAL.watts, USUAL.utilization
LAYOUT = build_layout(SimulatorConfig(hosts=2, gpus_per_host=2))
DT = 0.05


class Quiet(np.random.Generator):
    """No noise: every normal number is its mean."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def normal(self, loc=0.0, scale=1.0, size=None):
        return np.full(size, loc)


def gpus(window_s: float = 1.0) -> Gpus:
    return Gpus(LAYOUT, Quiet(), window_s)


def work(found: Gpus, seconds: float, activity: int, gpu: int = 0, part: float = 1.0) -> None:
    for _ in range(round(seconds / DT)):
        found.spent[gpu, activity] = part * DT
        found.tick(DT)


def test_an_idle_gpu_stays_at_idle_power_clock_and_temperature() -> None:
    found = gpus()
    work(found, 60.0, COMPUTE, part=0.0)
    assert found.watts.tolist() == pytest.approx([IDLE_WATTS] * 4)
    assert found.celsius.tolist() == pytest.approx([INLET_C + RESISTANCE_C_PER_W * IDLE_WATTS] * 4)
    assert found.hertz.tolist() == [IDLE_HERTZ] * 4
    assert found.activity[0].tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("activity", [COMPUTE, SPIN, WAIT])
def test_steady_work_ends_at_its_power_and_temperature(activity: int) -> None:
    found = gpus()
    work(found, 200.0, activity)
    watts = IDLE_WATTS + WATTS[activity]
    assert found.watts[0] == pytest.approx(watts, rel=1e-3)
    assert found.celsius[0] == pytest.approx(INLET_C + RESISTANCE_C_PER_W * watts, rel=1e-3)
    assert found.hertz[0] == BOOST_HERTZ
    assert (found.activity[0] @ UTILIZATION) == pytest.approx(UTILIZATION[activity])
    assert found.watts[1] == pytest.approx(IDLE_WATTS)


def test_energy_is_the_integral_of_power() -> None:
    found = gpus()
    before = found.joules[0]
    work(found, 10.0, COMPUTE)
    assert found.joules[0] - before == pytest.approx(10.0 * (IDLE_WATTS + WATTS[COMPUTE]))


def test_temperature_approaches_with_its_time_constant() -> None:
    found = gpus()
    start = found.celsius[0]
    work(found, 20.0, COMPUTE)
    final = INLET_C + RESISTANCE_C_PER_W * (IDLE_WATTS + WATTS[COMPUTE])
    assert (found.celsius[0] - start) / (final - start) == pytest.approx(1 - math.exp(-1.0), abs=0.01)


def test_activity_is_an_average_over_the_window() -> None:
    found = gpus(window_s=5.0)
    work(found, 5.0, COMPUTE)
    assert found.activity[0, COMPUTE] == pytest.approx(1 - math.exp(-1.0), abs=0.01)
    assert found.activity[0].sum() == pytest.approx(1.0)


def test_power_falls_with_the_clock_to_the_power_2_2() -> None:
    found = gpus()
    found.stuck[0] = 0.5
    work(found, 100.0, COMPUTE)
    assert found.watts[0] == pytest.approx(IDLE_WATTS + WATTS[COMPUTE] * 0.5**2.2, rel=1e-3)
    assert found.hertz[0] == 0.5 * BOOST_HERTZ
    assert not found.slowed_by_heat.any()


def test_a_gpu_without_cooling_lowers_its_clock_until_it_stays_near_the_slowdown_temperature() -> None:
    found = gpus()
    found.cooling[0] = 3.0
    work(found, 300.0, COMPUTE)
    assert found.celsius[0] == pytest.approx(SLOWDOWN_C, abs=2.0)
    assert found.clock[0] < 0.9
    assert found.slowed_by_heat.tolist() == [True, False, False, False]
    assert found.thermal_ns[0, 0] > 200e9
    assert found.thermal_ns[1:].sum() == 0.0
    throttled_ns = found.thermal_ns[0, 0]
    found.cooling[0] = 1.0
    work(found, 120.0, COMPUTE, part=0.0)
    assert found.clock[0] == 1.0, "the clock rises once it is cool"
    work(found, 10.0, COMPUTE)
    assert found.thermal_ns[0, 0] - throttled_ns < 60e9


def test_a_clock_is_bounded_by_the_lower_of_fault_and_heat() -> None:
    found = gpus()
    found.stuck[:], found.thermal[:] = [0.5, 0.9, 1.0, 0.7], [0.8, 0.6, 1.0, 0.7]
    assert found.clock.tolist() == [0.5, 0.6, 1.0, 0.7]


def test_a_hung_gpu_looks_busy_whatever_its_job_does() -> None:
    found = gpus()
    found.hung[0] = True
    work(found, 100.0, COMPUTE)
    assert found.activity[0, HANG] == pytest.approx(1.0)
    assert found.activity[0, COMPUTE] == 0.0
    assert found.watts[0] == pytest.approx(IDLE_WATTS + WATTS[HANG], rel=1e-3)


def test_a_gpu_off_the_bus_draws_no_power() -> None:
    found = gpus()
    found.present[0] = False
    work(found, 30.0, COMPUTE)
    assert found.watts[0] == pytest.approx(0.0, abs=1e-6)


def test_warm_inlet_air_warms_the_gpu_by_as_much() -> None:
    found = gpus()
    found.inlet[0] += 12.0
    work(found, 300.0, IDLE, part=0.0)
    assert found.celsius[0] - found.celsius[1] == pytest.approx(12.0, abs=1e-3)


def test_leakage_and_contact_differ_from_chip_to_chip() -> None:
    found = gpus()
    found._silicon[:] = [1.0, 1.1, 1.0, 1.1]
    found._resistance[:] = [RESISTANCE_C_PER_W, RESISTANCE_C_PER_W, 0.08, 0.08]
    work(found, 200.0, COMPUTE, part=0.0)
    watts = IDLE_WATTS * np.array([1.0, 1.1, 1.0, 1.1])
    assert found.watts == pytest.approx(watts, rel=1e-3)
    assert found.celsius == pytest.approx(INLET_C + watts * [0.055, 0.055, 0.08, 0.08], rel=1e-3)


def test_reported_power_is_an_average_of_a_second() -> None:
    found = gpus()
    work(found, 1.0, COMPUTE)
    assert found.watts[0] == pytest.approx(IDLE_WATTS + WATTS[COMPUTE] * (1 - math.exp(-1.0)), rel=1e-6)


def test_the_seed_decides_chips_and_noise() -> None:
    one, same, other = (Gpus(LAYOUT, np.random.default_rng(seed), 1.0) for seed in (1, 1, 2))
    for each in (one, same, other):
        work(each, 1.0, COMPUTE)
    assert one.watts.tobytes() == same.watts.tobytes() != other.watts.tobytes()
    assert one.pcie_replays.tolist() == same.pcie_replays.tolist()
    replays = Gpus(build_layout(SimulatorConfig(hosts=64)), np.random.default_rng(1), 1.0).pcie_replays
    assert replays.mean() == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("limit_watts", [700.0, 500.0, 400.0])
def test_dense_work_settles_at_the_power_limit_with_power_as_the_reason(limit_watts: float) -> None:
    gpus = Gpus(LAYOUT, Quiet(), 1.0)
    gpus.limited, gpus.limit_watts[:] = True, limit_watts
    for _ in range(200):
        gpus.spent[:, COMPUTE] = DT
        gpus.tick(DT)
    assert gpus.watts == pytest.approx(limit_watts, rel=0.01)
    assert gpus.held_by_power.all()
    assert not gpus.slowed_by_heat.any()
    room = (limit_watts - IDLE_WATTS) / (USUAL.dense * WATTS[COMPUTE])
    assert gpus.hertz == pytest.approx(BOOST_HERTZ * room ** (1 / 2.2), rel=0.01)
    assert gpus.power_ns == pytest.approx(10e9, rel=0.05)


def test_work_that_waits_for_peers_runs_at_the_full_clock_below_the_limit() -> None:
    gpus = Gpus(LAYOUT, Quiet(), 1.0)
    gpus.limited, gpus.limit_watts[:] = True, 400.0
    for activity in (COMPUTE, SPIN):
        for _ in range(100):
            gpus.spent[:, activity] = DT
            gpus.tick(DT)
    assert gpus.hertz == pytest.approx(BOOST_HERTZ, rel=1e-3)
    assert not gpus.held_by_power.any()


def test_a_limit_does_not_hold_a_clock_that_is_stuck_lower() -> None:
    gpus = Gpus(LAYOUT, Quiet(), 1.0)
    gpus.limited, gpus.limit_watts[:], gpus.stuck[0] = True, 500.0, 0.5
    for _ in range(100):
        gpus.spent[:, COMPUTE] = DT
        gpus.tick(DT)
    assert gpus.held_by_power.tolist() == [False, True, True, True]
