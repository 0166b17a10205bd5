"""One run: good targets alone, then hostile ones beside them, with a broker that restarts and hosts that break."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from tests.acceptance.soak.addresses import CHASSIS_COUNT
from tests.acceptance.soak.measurements import Measurements, Phase, quantiles, resident_mib
from tests.acceptance.soak.plan import Plan
from tests.acceptance.soak.product import Product
from tests.acceptance.soak.verdicts import delays

_MEMORY_EVERY, _LINE_EVERY = 5, 30  # seconds


class Soak:
    """``run`` it once; then ``product`` has what was collected, and ``measured`` the rest."""

    def __init__(self, plan: Plan, folder: Path, console: Console) -> None:
        self._plan, self._console = plan, console
        self.product, self.measured = Product(plan, folder), Measurements()
        self.ended_ns = 0
        self._phase: Phase | None = None

    async def run(self) -> None:
        """RuntimeError when a process of the product ends by itself."""
        try:
            await self.product.start()
            await self._measure()
            self.ended_ns = time.time_ns()
        finally:
            await self.product.stop()

    async def _measure(self) -> None:
        self._began_s = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._follow())
            with self._in(self.measured.alone):
                await asyncio.sleep(self._plan.baseline_s)
            await self.product.add_hostile()
            self.measured.hostile_from_s = self._at_s()
            with self._in(self.measured.beside):
                await self._disturb()
            watching.cancel()

    @contextmanager
    def _in(self, phase: Phase) -> Iterator[None]:
        self._phase = phase
        yield
        self._phase = None

    async def _disturb(self) -> None:
        """Until the time is up: one fault after the other, and a restart of the broker now and then."""
        restart_s = self._at_s() + self._plan.restart_every_s
        fault_s, number = self._at_s() + self._plan.fault_every_s / 2, 0
        while self._at_s() < self._plan.duration_s:
            await asyncio.sleep(1)
            if self._at_s() >= restart_s:
                await self._restart()
                restart_s = self._at_s() + self._plan.restart_every_s
            elif self._at_s() >= fault_s:
                await self._break(number % CHASSIS_COUNT)
                fault_s, number = self._at_s() + self._plan.fault_every_s - self._plan.fault_s, number + 1

    async def _restart(self) -> None:
        """What is missing meanwhile is counted apart: no broker, no samples."""
        phase, self._phase, began_s = self._phase, None, self._at_s()
        self.measured.recoveries_s.append(await self.product.restart_broker())
        self.measured.outages_s.append((began_s, self._at_s()))
        self._phase = phase
        self._console.print(
            f"{self._clock()} the broker was restarted; fresh {self.measured.recoveries_s[-1]:.1f} s later"
        )

    async def _break(self, number: int) -> None:
        self.measured.faults += 1
        self.product.break_chassis(number)
        await asyncio.sleep(self._plan.fault_s)
        self.product.repair_chassis(number)

    async def _follow(self) -> None:
        second = 0
        while True:
            await asyncio.sleep(1)
            second += 1
            self.product.check()
            ages_s = list(self.product.watch.ages_s().values())
            self.measured.freshness.append((self._at_s(), *quantiles(ages_s)))
            delays_s = self.product.watch.pop_delays_s()
            if self._phase is not None:
                self._phase.delays_s += delays_s
                self._phase.ages_s += ages_s
                self._phase.seconds += 1
            if second % _MEMORY_EVERY == 0:
                self._weigh()
            if second % _LINE_EVERY == 0:
                self._console.print(self._line())

    def _weigh(self) -> None:
        for name, stage in self.product.stages.items():
            if stage.pid is not None:
                self.measured.memory.setdefault(name, []).append((self._at_s(), resident_mib(stage.pid)))

    def _line(self) -> str:
        _, p50_s, p99_s = self.measured.freshness[-1]
        memory = " ".join(f"{name} {points[-1][1]:.0f}" for name, points in self.measured.memory.items())
        watch = self.product.watch
        paged = delays(watch.critical_ns, self.product.receivers.good.critical_ns)
        return (
            f"{self._clock()} ages p50 {p50_s:.1f} s p99 {p99_s:.1f} s; MiB: {memory}; "
            f"critical {len(watch.critical_ns)}, paged {len(paged)}; "
            f"good ones down {sum(watch.downs.values())}"
        )

    def _clock(self) -> str:
        minutes, seconds = divmod(round(self._at_s()), 60)
        return f"{minutes:3}:{seconds:02}"

    def _at_s(self) -> float:
        return time.monotonic() - self._began_s
