"""When to try again."""

import asyncio
from collections.abc import Callable

import pytest

from common.errors import BadInput, ConfigError, Unauthorized, Unavailable
from common.retry import asked_s, backoff_s, retry, retry_after_s


@pytest.mark.parametrize(
    ("failures", "chance", "expected"),
    [
        (0, 0, 0.1),
        (1, 0, 0.1),
        (2, 0, 0.2),
        (3, 0, 0.4),
        (6, 0, 3.2),
        (7, 0, 5.0),  # 6.4 without the cap
        (10_000, 0, 5.0),
        (1, 1, 0.05),
        (2, 0.5, 0.15),
        (10_000, 1, 2.5),  # the jitter stays at the cap, where all clients are
    ],
)
def test_the_wait_doubles_up_to_a_cap_and_is_up_to_a_half_shorter(failures, chance, expected):
    assert backoff_s(failures, first_s=0.1, most_s=5.0, chance=chance) == pytest.approx(expected)


def test_a_cap_below_the_first_wait_holds():
    assert backoff_s(1, first_s=10, most_s=0.5, chance=0) == 0.5


NOON_S = 1_792_065_600  # Thu, 15 Oct 2026 12:00:00 GMT


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("0", 0),
        ("-3", 0),
        ("1.5", 1.5),
        ("120", 120),
        ("86400", 300),
        ("inf", 300),
        ("Thu, 15 Oct 2026 12:01:00 GMT", 60),
        ("Thu, 15 Oct 2026 14:01:00 +0200", 60),
        ("Thu, 15 Oct 2026 11:00:00 GMT", 0),
        ("Fri, 16 Oct 2026 12:00:00 GMT", 300),
        ("Fri, 99 Oct 2026 12:00:00 GMT", None),
    ],
)
def test_retry_after_is_a_number_or_a_date_within_bounds(header, expected):
    assert retry_after_s(header, NOON_S, most_s=300) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [(Unavailable("x"), 0), (Unavailable("x", 7.0), 7), (Unauthorized("x", 2.0), 2), (KeyError("x"), 0)],
)
def test_a_wait_that_was_asked_for_is_known(error, expected):
    assert asked_s(error) == expected


class Peer:
    """Fails as its script says, then answers."""

    def __init__(self, *script: BaseException) -> None:
        self.script, self.failures = list(script), list[Exception]()

    async def call(self) -> str:
        if self.script:
            raise self.script.pop(0)
        return "done"


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """How long every attempt waited for the next one; nothing sleeps."""
    slept: list[float] = []

    async def sleep(delay: float) -> None:
        slept.append(delay)

    monkeypatch.setattr("stamina._core._smart_sleep", sleep)
    return slept


async def tried(peer: Peer, on: type[Exception] = Unavailable, **unless: type[Exception]) -> str:
    return await retry(peer.call, on=on, **unless, first_s=1.0, most_s=4.0, failed=peer.failures.append)


async def test_it_ends_with_what_the_call_returns_and_says_each_failure(waits):
    errors = [Unavailable(str(n)) for n in range(20)]
    peer = Peer(*errors)
    assert await tried(peer) == "done"
    assert peer.failures == errors
    for wait_s, longest_s in zip(waits, [1, 2, *[4] * 18], strict=True):
        assert longest_s / 2 <= wait_s <= longest_s
    assert len(set(waits)) > 1


async def test_a_longer_wait_that_the_peer_asks_for_is_honoured_and_a_shorter_one_is_not(waits):
    await tried(Peer(Unavailable("", 60.0), Unavailable("", 0.0)))
    assert waits[0] == 60.0
    assert 1 <= waits[1] <= 2


@pytest.mark.parametrize("error", [BadInput("x"), KeyError("x"), asyncio.CancelledError()])
async def test_other_errors_are_raised_at_once(waits, error):
    peer = Peer(Unavailable("first"), error)
    with pytest.raises(type(error)):
        await tried(peer)
    assert len(waits) == len(peer.failures) == 1


async def test_some_of_many_errors_can_be_left_out(waits):
    peer = Peer(KeyError("again"), ConfigError("never"))
    with pytest.raises(ConfigError):
        await tried(peer, on=Exception, unless=ConfigError)
    assert len(peer.failures) == 1


async def test_a_deadline_around_it_ends_it():
    async def fails() -> None:
        raise Unavailable("away")

    ignore: Callable[[Exception], None] = lambda error: None  # noqa: E731
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await retry(fails, on=Unavailable, first_s=100, most_s=100, failed=ignore)
