"""Receivers of pages: one that is good, and three that fail each in its way for ever."""

import json
import time
from collections import defaultdict
from collections.abc import Mapping

from telemetry.incidents import Severity
from tests.servers.webhook import HANG, Answer, Request, WebhookServer

GOOD = "good"
FAILING = {
    "refuses_all": Answer(500),
    "never_answers": HANG,
    "says_error_with_200": Answer(200, body=b'{"status": "error"}'),
}


class Pager(WebhookServer):
    """critical_ns: when notifications came that an incident is critical, by incident, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.critical_ns: defaultdict[str, list[int]] = defaultdict(list)

    def answer(self, request: Request) -> Answer:
        now_ns = time.time_ns()
        for alert in json.loads(request.body)["alerts"]:
            if alert["labels"]["severity"] == Severity.CRITICAL and alert["status"] == "firing":
                self.critical_ns[alert["labels"]["incident_id"]].append(now_ns)
        return super().answer(request)


class FailingReceiver(WebhookServer):
    """Answers everything alike."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer
        self.asked = 0

    def answer(self, request: Request) -> Answer:
        self.asked += 1
        if self._answer is HANG:
            self._stopping.wait(10)
        return self._answer


class Receivers:
    """All of them, from ``start`` to ``stop``."""

    def __init__(self) -> None:
        self.good = Pager()
        self.failing = {name: FailingReceiver(answer) for name, answer in FAILING.items()}

    @property
    def urls(self) -> Mapping[str, str]:
        return {GOOD: self.good.url} | {name: one.url for name, one in self.failing.items()}

    def start(self) -> None:
        for one in (self.good, *self.failing.values()):
            one.start()

    def stop(self) -> None:
        for one in (self.good, *self.failing.values()):
            one.stop()
