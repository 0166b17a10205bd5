"""Sends incidents to a real Alertmanager, one alert an incident."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import orjson

from alerts.addresses import Addresses
from alerts.notification import Notification
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.http import HttpReceiver
from alerts.rendering.alertmanager import alerts_of
from common.errors import Unavailable
from common.units import to_ns

ALERTS_PER_REQUEST = 64


class AlertmanagerReceiver(HttpReceiver):
    """Alertmanager's own rules do the rest: grouping, silences, who is on call."""

    def __init__(
        self, config: AlertmanagerConfig, addresses: Addresses, owner: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        super().__init__(config.name, config, replace(addresses, alertmanager_url=config.reached_at), owner)
        self._config = config

    @property
    def refresh_s(self) -> float:
        return self._config.resend_s

    async def notify(self, notification: Notification, now_ns: int) -> None:
        await self._send([notification], now_ns)

    async def refresh(self, notifications: Sequence[Notification], now_ns: int) -> None:
        for begin in range(0, len(notifications), ALERTS_PER_REQUEST):
            await self._send(notifications[begin : begin + ALERTS_PER_REQUEST], now_ns)

    async def _send(self, notifications: Sequence[Notification], now_ns: int) -> None:
        hold_ns = to_ns(self._config.hold_s)
        alerts = [alert for each in notifications for alert in alerts_of(each, now_ns, hold_ns, self._addresses)]
        answer = await self._post("/api/v2/alerts", orjson.dumps(alerts), {})
        # Alertmanager answers 200 without a body; HTML is some proxy's login
        if answer.body.lstrip()[:1] == b"<":
            raise Unavailable(f"{self.name}: something that is not an Alertmanager answered")
