"""How often a client may do something, and who counts as one client."""

import pytest

from fabricscope.api.access.client import client_of
from fabricscope.api.access.rate import RateLimit


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_so_many_in_any_minute_and_then_the_time_to_wait():
    clock = Clock()
    limit = RateLimit(3, clock)
    for _ in range(3):
        assert limit.wait_s("a") == 0
        clock.now_s += 10
    assert limit.wait_s("a") == 30  # the first was 30 s ago
    assert limit.wait_s("b") == 0
    clock.now_s += 30
    assert limit.wait_s("a") == 0
    assert limit.wait_s("a") == 10


def test_what_is_refused_does_not_count():
    clock = Clock()
    limit = RateLimit(1, clock)
    assert limit.wait_s("a") == 0
    for _ in range(100):
        assert limit.wait_s("a") == 60
    clock.now_s += 60
    assert limit.wait_s("a") == 0


def test_many_clients_cost_no_more_memory():
    limit = RateLimit(1, Clock())
    for number in range(10_000):
        assert limit.wait_s(f"client{number}") == 0
    assert limit.wait_s("client9999") > 0
    assert len(limit._times) == 4096


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8:0:0:ffff::1", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("/run/socket", "/run/socket"),
    ],
)
def test_an_ipv6_network_is_one_client(address, client):
    assert client_of(address) == client
