"""One queue worked off with a scripted receiver: what is delivered, retried, rerouted and dropped."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from alerts.clock import Moment
from alerts.notification import Action, Notification
from alerts.outbox import Outbox
from alerts.receivers.base import Rejected
from alerts.sender import RetryPolicy, Sender
from bus.owner.sending import SendingRight
from common.errors import Unavailable
from common.threads import OneThread
from tests.unit.alerts.incident_factory import T0, S, incident
from tests.waiting import until

TTL_S = 100


def note(action: Action = Action.FIRE, sequence: int = 1, incident_id: str = "inc-1") -> Notification:
    return Notification(incident(id=incident_id), action, sequence, T0, {"a": "b"}, {})


class Scripted:
    """A receiver that raises what its script says, first to last, and accepts everything after that."""

    name = "pager"

    def __init__(self, *script: Exception, refresh_s: float = 0.0) -> None:
        self.script, self.refresh_s = list(script), refresh_s
        self.accepted, self.refreshed, self.held = list[str](), list[list[str]](), set[int]()

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def notify(self, notification: Notification, now_ns: int) -> None:
        if self.script:
            raise self.script.pop(0)
        self.accepted.append(notification.key)

    async def refresh(self, notifications: Sequence[Notification], now_ns: int) -> None:
        if self.script:
            raise self.script.pop(0)
        self.refreshed.append([each.key for each in notifications])
        self.held |= {each.held for each in notifications}


@pytest.fixture
async def right(bus) -> AsyncIterator[SendingRight]:
    made = SendingRight(bus, "alerts", dict)
    await made.start()
    await made.confirm()
    yield made
    await made.stop()


@pytest.fixture
async def run(tmp_path, right) -> AsyncIterator[Callable[..., Any]]:
    """Queues notifications and starts a sender on them."""
    outbox, thread = Outbox(tmp_path, reserve_bytes=0, queue_max=100), OneThread("test-outbox")
    await thread(outbox.open)
    tasks: list[asyncio.Task[None]] = []

    async def start(
        receiver: Scripted, *notes: Notification, fallback: str = "", age_s: float = 0
    ) -> tuple[Sender, Outbox]:
        await thread(outbox.commit, {}, {}, {}, [(receiver.name, each) for each in notes], "", Moment(T0, T0))
        policy = RetryPolicy(TTL_S * S, first_s=0.001, most_s=0.002, fallback=fallback)
        sender = Sender(receiver, outbox, thread, policy, lambda: Moment(T0 + int(age_s * S), T0), right)
        tasks.append(asyncio.create_task(sender.run()))
        return sender, outbox

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await thread(outbox.close)
    thread.stop()


def events(logs: Sequence[Any], *fields: str) -> list[tuple[Any, ...]]:
    return [(each["event"], *(each.get(field) for field in fields)) for each in logs]


async def test_deliveries_of_one_incident_arrive_in_order_and_leave_the_outbox(run):
    receiver = Scripted()
    with capture_logs() as logs:
        _, outbox = await run(receiver, note(), note(Action.UPDATE, 2), note(Action.RESOLVE, 3))
        await until(lambda: len(logs) == 3 and outbox.pending() == {})
    assert receiver.accepted == ["inc-1:1", "inc-1:2", "inc-1:3"]
    assert events(logs, "receiver", "key", "action") == [
        ("notification delivered", "pager", f"inc-1:{n}", action)
        for n, action in ((1, Action.FIRE), (2, Action.UPDATE), (3, Action.RESOLVE))
    ]


async def test_a_failure_is_retried_and_lets_other_incidents_pass(run):
    receiver = Scripted(Unavailable("away"), Unavailable("still away"))
    with capture_logs() as logs:
        sender, _ = await run(receiver, note(), note(incident_id="inc-2"))
        await until(lambda: len(receiver.accepted) == 2)
    assert sorted(receiver.accepted) == ["inc-1:1", "inc-2:1"]
    await until(lambda: sender.problem is None)
    failures = [each for each in logs if each["event"] == "receiver does not answer"]
    assert events(failures, "error") == [
        ("receiver does not answer", "away"),
        ("receiver does not answer", "still away"),
    ]


async def test_our_own_bug_with_one_notification_ends_nothing(run):
    receiver = Scripted(KeyError("bug"))
    await run(receiver, note(), note(incident_id="inc-2"))
    await until(lambda: len(receiver.accepted) == 2)


@pytest.mark.parametrize(
    ("script", "age_s", "reason"),
    [
        ([Rejected("answered 404")], 0, "rejected"),
        ([Rejected("answered 404")], TTL_S, "rejected"),
        ([], TTL_S + 1, "expired"),
    ],
)
@pytest.mark.parametrize("fallback", ["", "mail"])
async def test_what_is_rejected_or_expired_goes_to_the_fallback_or_to_nobody(run, script, age_s, reason, fallback):
    receiver = Scripted(*script)
    with capture_logs() as logs:
        _, outbox = await run(receiver, note(), fallback=fallback, age_s=age_s)
        await until(lambda: outbox.pending() == ({"mail": 1} if fallback else {}))
        await until(lambda: len(logs) == 1)
    expected = ("notification rerouted", reason, "mail") if fallback else ("notification dropped", reason, None)
    assert events(logs, "reason", "fallback") == [expected]
    assert receiver.accepted == []


async def test_the_end_of_what_was_never_sent_is_dropped_quietly(run):
    receiver = Scripted()
    with capture_logs() as logs:
        _, outbox = await run(receiver, note(Action.RESOLVE, 2))
        await until(lambda: outbox.pending() == {})
    assert (receiver.accepted, logs) == ([], [])


async def test_open_alerts_are_refreshed_and_a_failure_waits(run):
    receiver = Scripted(refresh_s=0.001)
    sender, _ = await run(receiver, note(), note(incident_id="inc-2"))
    await until(lambda: ["inc-1:1", "inc-2:1"] in receiver.refreshed)
    receiver.script.append(Unavailable("away"))
    await until(lambda: receiver.script == [])
    refreshed = len(receiver.refreshed)
    await until(lambda: len(receiver.refreshed) > refreshed and sender.problem is None)


async def test_what_is_sent_again_says_how_many_incidents_wait_by_now(run):
    receiver = Scripted(refresh_s=0.001)
    sender, _ = await run(receiver, replace(note(), held=3))
    await until(lambda: receiver.held == {0})
    sender.held = lambda: 5
    await until(lambda: receiver.held == {0, 5})


@pytest.mark.parametrize(
    ("failures", "error", "least_s", "most_s"),
    [
        (1, Unavailable("x"), 0.5, 1),
        (4, Unavailable("x"), 4, 8),
        (99, Unavailable("x"), 150, 300),
        (1, Unavailable("x", 120.0), 120, 120),
        (99, Unavailable("x", 1.0), 150, 300),
    ],
)
async def test_waits_double_to_the_longest_and_honour_what_was_asked_for(
    tmp_path, right, failures, error, least_s, most_s
):
    outbox, thread = Outbox(tmp_path, reserve_bytes=0, queue_max=1), OneThread("test-outbox")
    policy = RetryPolicy(S, first_s=1.0, most_s=300.0, fallback="")
    sender = Sender(Scripted(), outbox, thread, policy, lambda: Moment(T0, T0), right)
    assert least_s <= sender._wait_s(failures, error) <= most_s
    thread.stop()


class Evicting(Scripted):
    """While it is asked, the delivery leaves the outbox for a more important one."""

    outbox: Outbox

    async def notify(self, notification: Notification, now_ns: int) -> None:
        with self.outbox._db as database:
            database.execute("DELETE FROM deliveries")
        raise Unavailable("away")


async def test_an_attempt_at_what_was_evicted_is_forgotten(run):
    receiver = Evicting()
    sender, receiver.outbox = await run(receiver, note())
    await until(lambda: sender.problem == "away" and sender._attempts == {})
