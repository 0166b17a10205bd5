"""GPUs: clocks, power, temperature and activity, from what each one did in the last tick.

Power is idle power plus a dynamic part that grows with the clock; temperature is one thermal resistance and one time
constant to the inlet air. How much each activity draws: ``figures``. An H100 SXM has 700 W and slows down at 87 C.
"""

import math

import numpy as np

from common.jit import compiled
from common.units import NS_PER_S
from simulator.compute.figures import COMPUTE, HANG, IDLE, SPIN, USUAL, WAIT
from simulator.fabric.state import Flags, Floats
from simulator.layout import Layout

# Exchange by activity, and by kernel how much it differs from COMPUTE.
NVLINK_BYTES_PER_S = np.array([0.0, 95e9, 30e9, 0.0, 0.0])
PCIE_BYTES_PER_S = np.array([0.0, 1.5e9, 0.3e9, 0.2e9, 0.0])
NVLINK_RATED_BYTES_PER_S = 450e9  # one direction of an H100 SXM: 18 links of 25 GB/s

MORE_NVLINK_BYTES_PER_S = np.array([-65e9, 205e9, -95e9, -95e9])

IDLE_WATTS, POWER_LIMIT_WATTS = 72.0, 700.0
BOOST_HERTZ, IDLE_HERTZ, MEMORY_HERTZ = 1980e6, 345e6, 2619e6
RESISTANCE_C_PER_W, TIME_CONSTANT_S, INLET_C = 0.055, 20.0, 27.0
SLOWDOWN_C, HW_SLOWDOWN_C = 87.0, 92.0
THROTTLED = 0.995  # part of the boost clock below which the driver gives heat as the reason
POWER_CONTROL_S = 0.1  # how fast the driver follows the power limit: assumption, a few of its control periods
CAPPED_CLOCK_MIN = 0.5  # of the boost clock: the driver does not go lower for power (assumption)
FRAMEBUFFER = 81559 * 2**20
RESERVED = 551 * 2**20


class Gpus:
    """All GPUs of the cluster, [G].

    clock:  part of the boost clock that the GPU reaches = min(stuck, thermal, powered).
    stuck:  upper bound without any throttle reason (a fault); cooling: thermal resistance, 1 = a clean sink.
    inlet:  temperature of the air that cools it.
    limit_watts: power limit. demand: what chip and work draw at full clock, part of the figures' watts.
    limited: work may draw more than the limit, and then the driver lowers clocks (powered); else it never does.
    pace:   part of the work of its clock that it gets done, lower where its exchange with its neighbours is slow.
    nvlink: whether its links to the others of its host work. braked: the board holds its clock down for want of power.
    hung:   its kernel never returns. spent: [G, 5] seconds by activity since the last tick.
    kernels: [G, 4] seconds of those in COMPUTE by kernels that differ from the usual ones.
    steady, steady_kernels: parts of the time of work that does the same for a while, spent in every step.
    any_hung: whether any hangs in this step.
    """

    def __init__(self, layout: Layout, rng: np.random.Generator, window_s: float) -> None:
        n = len(layout.gpus)
        self._rng, self._window_s = rng, window_s
        self.present = np.ones(n, dtype=np.bool_)
        self.stuck, self.thermal, self.cooling = np.ones(n), np.ones(n), np.ones(n)
        self.inlet = np.full(n, INLET_C)
        self.limit_watts, self.demand, self.powered = np.full(n, POWER_LIMIT_WATTS), np.ones(n), np.ones(n)
        self.limited, self.figures = False, USUAL
        self.pace, self.nvlink = np.ones(n), np.ones(n, dtype=np.bool_)
        self.braked, self.braked_ns = np.zeros(n, dtype=np.bool_), np.zeros(n)
        self.hung = np.zeros(n, dtype=np.bool_)
        self.spent: Floats = np.zeros((n, 5))
        self.activity: Floats = np.zeros((n, 5))  # moving average of the parts of time
        self.activity[:, IDLE] = 1.0
        self.kernels: Floats = np.zeros((n, 4))
        self.steady: Floats = np.zeros((n, 5))
        self.steady_kernels: Floats = np.zeros((n, 4))
        self.any_hung = False
        self.kernel_activity: Floats = np.zeros((n, 4))  # moving average of their parts of time
        self._silicon = rng.normal(1.0, 0.015, n)  # leakage differs from chip to chip
        self._resistance = RESISTANCE_C_PER_W * rng.normal(1.0, 0.03, n)
        self.watts = np.full(n, IDLE_WATTS)
        self.celsius = np.full(n, INLET_C + RESISTANCE_C_PER_W * IDLE_WATTS)
        self.sink_celsius = self.celsius.copy()  # without what the chip shows at once
        self.joules = rng.uniform(1e9, 3e9, n)
        self.hertz = np.full(n, IDLE_HERTZ)
        self.thermal_ns = np.zeros((n, 2))  # software slowdown, hardware slowdown
        self.power_ns = np.zeros(n)  # held by the power limit
        self.framebuffer = np.zeros(n)
        self.xid = np.zeros(n)
        self.bit_errors = np.zeros((n, 2))  # since the driver was loaded: repaired, not repaired
        self.remapped_rows = np.zeros((n, 2))  # for errors of either kind
        self.pcie_replays = rng.poisson(2.0, n).astype(np.float64)

    @property
    def clock(self) -> Floats:
        return np.minimum(np.minimum(self.stuck, self.thermal), self.powered)

    @property
    def work_rate(self) -> Floats:
        """Seconds of compute at full clock that a second brings."""
        rate: Floats = self.clock * self.pace
        return rate

    @property
    def slowed_by_heat(self) -> Flags:
        return self.thermal < THROTTLED

    @property
    def held_by_power(self) -> Flags:
        return self.powered < np.minimum(THROTTLED, np.minimum(self.stuck, self.thermal))

    def spend(self, dt: float) -> None:
        """Adds ``dt`` seconds of what is steady."""
        _spend(dt, self.steady, self.spent)
        _spend(dt, self.steady_kernels, self.kernels)

    def tick(self, dt: float) -> None:
        """Turns the time spent since the last tick into power, heat and averages."""
        clock = self.clock
        hangs, brakes, is_slow, is_throttled = _look(self.hung, self.braked, self.pace, clock)
        if hangs:
            self.kernels[self.hung] = 0.0
            busy_s = self.spent[self.hung, 1:]
            self.spent[self.hung, 1:] = 0.0
            self.spent[self.hung, HANG] = busy_s.sum(axis=1)
        if is_slow:
            self._exchange()
        figures = self.figures
        if figures.holds_clock:
            self._hold_contexts(dt)
        parts, kernels = self.spent / dt, self.kernels / dt
        noise = self._rng.normal(1.0, 0.006, len(self.watts))
        scale = self.demand * (figures.dense if self.limited else 1.0)
        full_watts = (parts @ figures.watts + kernels @ figures.more_watts) * scale + parts @ figures.steady_watts
        dynamic = full_watts * clock**figures.exponent if is_throttled else full_watts
        if self.limited:
            self._keep_limit(dt, full_watts)
            clock = self.clock
        _warm(
            dt,
            _follow(dt, self._window_s),
            _follow(dt, figures.power_window_s),
            _follow(dt, TIME_CONSTANT_S),
            figures.at_once,
            parts,
            kernels,
            dynamic,
            noise,
            self._silicon,
            self.present,
            clock,
            self.inlet,
            self._resistance,
            self.cooling,
            self.spent,
            self.kernels,
            self.activity,
            self.kernel_activity,
            self.watts,
            self.joules,
            self.sink_celsius,
            self.celsius,
            self.hertz,
            self.thermal,
            self.thermal_ns,
        )
        if brakes:
            self.braked_ns += self.braked * dt * NS_PER_S

    def _exchange(self) -> None:
        """Where exchange within the host is slow, part of the time of kernels is spent in waiting for it."""
        slow = self.pace < 1.0
        waits = self.spent[slow, COMPUTE] * (1.0 - self.pace[slow])
        self.spent[slow, COMPUTE] -= waits
        self.spent[slow, SPIN] += waits
        self.kernels[slow] *= self.pace[slow, None]

    def _hold_contexts(self, dt: float) -> None:
        """Where a process has memory on the GPU, time without kernels is not that of a GPU without a process."""
        idle_s = np.maximum(0.0, dt - self.spent[:, 1:].sum(axis=1))
        self.spent[:, WAIT] += np.where(self.framebuffer > 0.0, idle_s, 0.0)

    def _keep_limit(self, dt: float, full_watts: Floats) -> None:
        """The driver moves the clock to where chip and work draw the limit; ``full_watts``: dynamic at full clock."""
        room = np.maximum(0.0, self.limit_watts / self._silicon - IDLE_WATTS) / np.maximum(1.0, full_watts)
        target = np.minimum(np.maximum(room ** (1.0 / self.figures.exponent), CAPPED_CLOCK_MIN), 1.0)
        self.powered += (target - self.powered) * _follow(dt, POWER_CONTROL_S)
        self.power_ns += self.held_by_power * dt * NS_PER_S


def _follow(dt: float, time_constant_s: float) -> float:
    """Part of the way to its target that a first-order lag moves in ``dt``."""
    return 1.0 - math.exp(-dt / time_constant_s)


@compiled
def _spend(dt: float, parts: Floats, spent: Floats) -> None:
    for g in range(parts.shape[0]):
        for k in range(parts.shape[1]):
            spent[g, k] += parts[g, k] * dt


@compiled
def _look(hung: Flags, braked: Flags, pace: Floats, clock: Floats) -> tuple[bool, bool, bool, bool]:
    """Whether any GPU hangs, any is braked, any exchanges slowly, and any has less than its boost clock."""
    hangs = brakes = is_slow = is_throttled = False
    for g in range(hung.size):
        hangs |= hung[g]
        brakes |= braked[g]
        is_slow |= pace[g] < 1.0
        is_throttled |= clock[g] < 1.0
    return hangs, brakes, is_slow, is_throttled


@compiled
def _warm(
    dt: float,
    of_activity: float,
    of_power: float,
    of_heat: float,
    at_once: float,
    parts: Floats,
    kernels: Floats,
    dynamic: Floats,
    noise: Floats,
    silicon: Floats,
    present: Flags,
    clock: Floats,
    inlet: Floats,
    resistance: Floats,
    cooling: Floats,
    spent: Floats,
    spent_in_kernels: Floats,
    activity: Floats,
    kernel_activity: Floats,
    watts: Floats,
    joules: Floats,
    sink_celsius: Floats,
    celsius: Floats,
    hertz: Floats,
    thermal: Floats,
    thermal_ns: Floats,
) -> None:
    """Moves averages, heat and clocks on by ``dt``, and clears ``spent``. All [G],
    [G, 5] by activity, or [G, 4] by kernel.

    of_activity, of_power, of_heat: part of the way to its target that each moves. dynamic: watts above idle.
    at_once: part of the thermal resistance that shows within the tick.
    The driver lowers clocks in proportion to the excess heat, and lets them rise slowly once it is cool.
    """
    for g in range(watts.size):
        power = (IDLE_WATTS + dynamic[g] * noise[g]) * silicon[g] if present[g] else 0.0
        busy = parts[g, 1] + parts[g, 2] + parts[g, 3] + parts[g, 4]
        parts[g, IDLE] = max(0.0, 1.0 - busy)
        for k in range(5):
            activity[g, k] += (parts[g, k] - activity[g, k]) * of_activity
            spent[g, k] = 0.0
        for k in range(4):
            kernel_activity[g, k] += (kernels[g, k] - kernel_activity[g, k]) * of_activity
            spent_in_kernels[g, k] = 0.0
        watts[g] += (power - watts[g]) * of_power
        joules[g] += power * dt
        above = resistance[g] * cooling[g] * power
        sink_celsius[g] += (inlet[g] + above * (1.0 - at_once) - sink_celsius[g]) * of_heat
        celsius[g] = sink_celsius[g] + above * at_once
        hertz[g] = BOOST_HERTZ * clock[g] if busy > 0.0 else IDLE_HERTZ
        excess = celsius[g] - SLOWDOWN_C
        change = -0.05 * excess if excess > 0.0 else 0.02
        thermal[g] = min(1.0, max(0.3, thermal[g] + change * dt))
        if thermal[g] < THROTTLED:
            thermal_ns[g, 0] += dt * NS_PER_S
        if celsius[g] > HW_SLOWDOWN_C:
            thermal_ns[g, 1] += dt * NS_PER_S
