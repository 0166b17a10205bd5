"""Steps of the wall clock, short and lasting."""

import pytest

from common.steady_clock import SETTLE_NS, SteadyClock

SECOND = 10**9
BEGIN_NS = 1_700_000_000 * SECOND


class Machine:
    """steady_ns: since boot. error_ns: how far the wall clock is ahead of the true time."""

    def __init__(self) -> None:
        self.steady_ns, self.error_ns = 1000 * SECOND, 0
        self.clock = SteadyClock(lambda: self.true_ns + self.error_ns, lambda: self.steady_ns)

    @property
    def true_ns(self) -> int:
        return BEGIN_NS + self.steady_ns

    def read(self, after_s: float = 1.0) -> int:
        """How far the clock is ahead of the true time, in nanoseconds, so much later."""
        self.steady_ns += round(after_s * SECOND)
        return self.clock() - self.true_ns


@pytest.mark.parametrize("step_s", [3600, -3600, 2 * 86400, -2 * 86400, 1])
def test_ten_wrong_seconds_move_nothing(step_s: int) -> None:
    machine = Machine()
    assert machine.read() == 0
    machine.error_ns = step_s * SECOND
    assert {machine.read() for _ in range(10)} == {0}
    machine.error_ns = 0
    assert {machine.read() for _ in range(100)} == {0}


@pytest.mark.parametrize("step_s", [3600, -3600])
def test_a_step_that_lasts_is_followed(step_s: int) -> None:
    machine = Machine()
    machine.error_ns = step_s * SECOND
    machine.read()
    assert machine.read(SETTLE_NS / SECOND - 1) == 0
    assert machine.read() == step_s * SECOND
    machine.error_ns += SECOND // 10
    assert machine.read() == step_s * SECOND + SECOND // 10


def test_a_clock_that_steps_again_and_again_is_not_followed_before_it_stays() -> None:
    machine = Machine()
    for _ in range(20):
        machine.error_ns = 3600 * SECOND
        assert machine.read(30) == 0
        machine.error_ns = 0
        assert machine.read(30) == 0


def test_small_corrections_are_followed_at_once() -> None:
    """NTP slews, and a second is a long time: the drift of a day must not be left for later."""
    machine = Machine()
    for n in range(100):
        machine.error_ns = n * SECOND // 100
        assert machine.read() == machine.error_ns


def test_a_clock_that_is_read_seldom_follows_what_has_lasted_since_it_was_seen() -> None:
    machine = Machine()
    machine.error_ns = 3600 * SECOND
    assert machine.read(600) == 0
    assert machine.read(600) == 3600 * SECOND
