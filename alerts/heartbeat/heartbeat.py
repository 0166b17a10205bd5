"""Asks the service outside for as long as all is well, on a path that no bus and no other stage is part of."""

import asyncio
from collections.abc import Callable

import structlog

from alerts.addresses import Addresses
from alerts.heartbeat.config import HeartbeatConfig
from alerts.metrics import HEARTBEATS, HeartbeatOutcome
from alerts.receivers.base import Rejected
from alerts.receivers.http import HttpReceiver
from common.errors import Unavailable

AGAIN_S = 5.0
"""Until the next attempt while something is wrong: a short trouble is no missing heartbeat."""
log = structlog.get_logger(__name__)


class Heartbeat(HttpReceiver):
    """Sends one every ``interval_s`` while ``run`` runs. wrong: None, or why none may be sent now, in words."""

    def __init__(self, config: HeartbeatConfig, wrong: Callable[[], str | None]) -> None:
        super().__init__("heartbeat", config, Addresses())
        self.problem: str | None = None
        self._config, self._wrong = config, wrong

    async def run(self) -> None:
        """Until it is cancelled."""
        interval_s = self._config.interval_s
        again_s = min(AGAIN_S, interval_s)
        await asyncio.sleep(again_s)  # by then the stages were heard
        while True:
            outcome = await self._beat()
            HEARTBEATS.labels(outcome).inc()
            await asyncio.sleep(interval_s if outcome is HeartbeatOutcome.SENT else again_s)

    async def _beat(self) -> HeartbeatOutcome:
        problem, outcome = self._wrong(), HeartbeatOutcome.WITHHELD
        if problem is not None:
            problem = f"heartbeat withheld: {problem}"
        else:
            outcome = HeartbeatOutcome.SENT
            try:
                await self._request(self._config.method)
            except (Unavailable, Rejected) as error:
                problem, outcome = str(error), HeartbeatOutcome.FAILED
        if problem is not None and self.problem is None:  # the next ones are the same, or follow from it
            log.error("heartbeat not sent", reason=outcome, error=problem)
        elif problem is None and self.problem is not None:
            log.info("heartbeat sent again")
        self.problem = problem
        return outcome
