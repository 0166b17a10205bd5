"""Where each target listens: an address of its own on the loopback, known without asking the process that serves it."""

from tests.acceptance.soak.kinds import KINDS

HOSTS, SWITCHES, CHASSIS = 0, 1, 2  # of good targets; hostile kinds follow
CHASSIS_COUNT = 8
_FIRST_NET = 64  # 127.64.0.0 and above: the simulators use lower ones
_HOSTILE = {kind.name: 8 + number for number, kind in enumerate(KINDS)}
SWITCH_SHARE = 5  # one good target in so many is a switch


def hosts_and_switches(good: int) -> tuple[int, int]:
    """
    >>> hosts_and_switches(200)
    (160, 40)
    """
    switches = good // SWITCH_SHARE
    return good - switches, switches


def good_addresses(net: int, count: int) -> list[str]:
    return [_address(net, number) for number in range(count)]


def hostile_addresses(kind: str, count: int) -> list[str]:
    return [_address(_HOSTILE[kind], number) for number in range(count)]


def _address(net: int, number: int) -> str:
    """
    >>> _address(0, 0), _address(1, 251)
    ('127.64.0.1', '127.65.1.2')
    """
    return f"127.{_FIRST_NET + net}.{number // 250}.{1 + number % 250}"
