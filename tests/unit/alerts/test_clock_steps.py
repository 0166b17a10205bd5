"""A wall clock that steps by two days in either direction moves no page."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from alerts.clock import DOWN_NS_MAX, Moment, StageClock
from alerts.config import AlertingConfig
from alerts.decision.budget import BudgetRules
from alerts.decision.dispatch import Dispatcher
from alerts.decision.rules import rules_of
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from telemetry.incidents import Incident
from tests.servers.webhook import Answer, WebhookServer
from tests.unit.alerts.incident_factory import T0, S, incident, resolved
from tests.unit.traffic import publish_incidents
from tests.waiting import until

CONFIG = AlertingConfig(receivers=(WebhookConfig(name="hook", url="http://a"),), quiet_s=1800, remember_s=86_400)
RULES = replace(rules_of(CONFIG), budget=BudgetRules(1, 0, 600 * S))
DAYS_2_S = 2 * 86_400
each_step = pytest.mark.parametrize("step_s", [DAYS_2_S, -DAYS_2_S])


class Machine:
    """Clocks that are unchanged until a test sets them."""

    def __init__(self) -> None:
        self.wall_ns, self.monotonic_ns = T0, 0

    def wall(self) -> int:
        return self.wall_ns

    def monotonic(self) -> int:
        return self.monotonic_ns

    def go_on(self, seconds: float) -> None:
        self.wall_ns += int(seconds * S)
        self.monotonic_ns += int(seconds * S)

    def step(self, seconds: float) -> None:
        self.wall_ns += int(seconds * S)

    def reboot(self) -> None:
        self.monotonic_ns = 0

    def clock(self, left: Moment | None = None) -> StageClock:
        return StageClock(self.wall, self.monotonic, left)


class Stage:
    """The decisions of a stage by its clock, across restarts."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.clock, self.dispatcher = machine.clock(), Dispatcher(RULES, {})

    def keys(self, *versions: Incident) -> list[str]:
        plan = self.dispatcher.plan(versions, (), self.clock.now())
        self.dispatcher.accept(plan)
        return [each.key for _, each in plan.notifications]

    def step(self, seconds: float, *, restart: bool) -> None:
        left = self.clock.now()
        self._machine.step(seconds)
        if restart:
            self._machine.reboot()
            self.clock, self.dispatcher = self._machine.clock(left), Dispatcher(RULES, self.dispatcher.tracked)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@each_step
@pytest.mark.parametrize("restart", [False, True])
def test_the_page_budget_is_free_again_after_its_window(machine, step_s, restart):
    stage = Stage(machine)
    assert stage.keys(incident(), incident(id="inc-2")) == ["inc-1:1"]
    stage.step(step_s, restart=restart)
    if not (restart and step_s > 0):  # then it is like a long stop
        machine.go_on(599)
        assert stage.keys() == []
    machine.go_on(1)
    assert stage.keys() == ["inc-2:1"]


@each_step
@pytest.mark.parametrize("restart", [False, True])
def test_the_quiet_time_is_as_long_as_ever(machine, step_s, restart):
    stage = Stage(machine)
    stage.keys(incident())
    stage.keys(resolved(20))
    stage.keys(incident(at_s=30))
    stage.step(step_s, restart=restart)
    if not (restart and step_s > 0):
        machine.go_on(1799)
        assert stage.keys() == []
    machine.go_on(1)
    assert stage.keys() == ["inc-1:3"]


@each_step
@pytest.mark.parametrize("restart", [False, True])
def test_resolved_incidents_are_remembered_as_long_as_ever(machine, step_s, restart):
    stage = Stage(machine)
    stage.keys(incident())
    stage.keys(resolved(20))
    stage.step(step_s, restart=restart)
    machine.go_on(86_400 - 3600)
    assert stage.keys(incident()) == [], "an old version that comes again"
    machine.go_on(3601)
    stage.keys()
    assert stage.dispatcher.tracked == {}


@pytest.mark.parametrize(("since_s", "believed_ns"), [(0, 0), (600, 600 * S), (DAYS_2_S, DOWN_NS_MAX), (-DAYS_2_S, 0)])
def test_of_the_time_between_two_processes_at_most_an_hour_counts(machine, since_s, believed_ns):
    left = machine.clock().now()
    machine.reboot()
    machine.step(since_s)
    after = machine.clock(left).now()
    assert after == Moment(left.stage_ns + believed_ns, left.wall_ns + since_s * S)


@pytest.fixture
def run(bus, tmp_path: Path, replace: Callable[..., Any], machine: Machine, webhook_server: WebhookServer):
    """Starts a stage with the clocks of the machine in place of the one before."""

    async def start() -> AlertsService:
        hook = WebhookConfig(url=webhook_server.url)
        config = AlertingConfig(receivers=(hook,), folder=tmp_path / "alerts", reserve_bytes=0, retry_first_s=0.05)
        service: AlertsService = await replace(AlertsService(config, bus, machine.wall, monotonic=machine.monotonic))
        return service

    return start


@each_step
async def test_a_delivery_that_is_tried_again_does_not_expire(run, bus, machine, webhook_server, step_s):
    webhook_server.script.extend([Answer(503)] * 2)
    service = await run()
    await publish_incidents(bus, incident())
    await until(lambda: service.problem() is not None)
    machine.step(step_s)
    await until(lambda: len(webhook_server.accepted) == 1)


@each_step
async def test_a_delivery_outlives_a_step_between_two_processes(run, bus, machine, webhook_server, step_s):
    webhook_server.script.extend([Answer(503, (("Retry-After", "300"),))])
    service = await run()
    await publish_incidents(bus, incident())
    await until(lambda: service.problem() is not None)
    await service.stop()
    machine.step(step_s)
    await run()
    await until(lambda: len(webhook_server.accepted) == 1)


async def test_the_clock_is_kept_while_nothing_happens(run, machine, monkeypatch):
    monkeypatch.setattr("alerts.service.REPORT_S", 0.01)
    service = await run()
    machine.go_on(4000)
    await until(lambda: (left := service._outbox.moment()) is not None and left.stage_ns == T0 + 4000 * S)
