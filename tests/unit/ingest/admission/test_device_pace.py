"""A device has so many requests at once and no more, in the order in which they came, with room between them."""

import asyncio
import functools
from collections.abc import Callable, Coroutine

from ingest.admission.device_pace import DevicePace
from ingest.admission.reasons import DeviceBusy


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time goes on by itself to the next timer: no test waits."""

    now_s = 0.0

    def time(self) -> float:
        return self.now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now_s = max(self.now_s, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def on_its_clock(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def run() -> None:
        with asyncio.Runner(loop_factory=Clock) as runner:
            runner.run(test())

    return run


async def request(pace: DevicePace, device: str, lasts_s: float, log: list[tuple[str, float]], deadline: float) -> None:
    try:
        await pace.begin(device, deadline)
    except DeviceBusy:
        log.append(("busy", asyncio.get_running_loop().time()))
        return
    log.append((device, asyncio.get_running_loop().time()))
    await asyncio.sleep(lasts_s)
    pace.end(device)


@on_its_clock
async def test_so_many_at_once_and_the_others_in_their_order() -> None:
    pace, log = DevicePace(2), list[tuple[str, float]]()
    await asyncio.gather(*(request(pace, "a", 10.0, log, 100.0) for _ in range(5)), request(pace, "b", 10.0, log, 1.0))
    assert log == [("a", 0.0), ("a", 0.0), ("b", 0.0), ("a", 10.0), ("a", 10.0), ("a", 20.0)]
    assert len(pace) == 0, "a device without requests is forgotten"


@on_its_clock
async def test_who_waits_for_too_long_is_left_out_and_takes_no_turn() -> None:
    pace, log = DevicePace(1), list[tuple[str, float]]()
    await asyncio.gather(*(request(pace, "a", 10.0, log, deadline) for deadline in (5.0, 5.0, 30.0)))
    assert log == [("a", 0.0), ("busy", 5.0), ("a", 10.0)]
    assert len(pace) == 0


@on_its_clock
async def test_requests_of_a_device_have_room_between_them() -> None:
    pace, log = DevicePace(4, spacing_s=3.0), list[tuple[str, float]]()
    await asyncio.gather(*(request(pace, "a", 1.0, log, 100.0) for _ in range(3)))
    await request(pace, "a", 1.0, log, 100.0)
    assert log == [("a", 0.0), ("a", 3.0), ("a", 6.0), ("a", 9.0)]
    assert len(pace) == 1, "its next request has to wait"
    await asyncio.sleep(5.0)
    assert len(pace) == 0


@on_its_clock
async def test_one_that_is_cancelled_leaves_its_place() -> None:
    pace, log = DevicePace(1), list[tuple[str, float]]()
    first, second, third = (asyncio.create_task(request(pace, "a", 10.0, log, 100.0)) for _ in range(3))
    await asyncio.sleep(1.0)
    second.cancel()
    await asyncio.gather(first, second, third, return_exceptions=True)
    assert log == [("a", 0.0), ("a", 10.0)]
    assert len(pace) == 0


@on_its_clock
async def test_without_a_limit_nobody_waits() -> None:
    pace, log = DevicePace(), list[tuple[str, float]]()
    await asyncio.gather(*(request(pace, "a", 10.0, log, 0.0) for _ in range(50)))
    assert log == [("a", 0.0)] * 50
