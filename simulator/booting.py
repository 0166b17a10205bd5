"""Hosts that are powered on and boot: how long, and which are done.

A DGX or HGX host of eight GPUs and as many NICs takes minutes: POST trains 2 TB of memory and the PCIe switches, then
come the fabric manager, the drivers and the links. 5 to 12 minutes is an assumption from that order of magnitude.
"""

from collections.abc import Iterable

import numpy as np


class Booting:
    """takes_s: shortest and longest time, uniform between. Draws from a generator of its own."""

    def __init__(self, seed: int, takes_s: tuple[float, float]) -> None:
        self._rng, self._takes_s = np.random.default_rng([seed, *b"boot"]), takes_s
        self._ready_ns: dict[str, int] = {}

    @property
    def takes_time(self) -> bool:
        return self._takes_s[1] > 0.0

    def start(self, host: str, now_ns: int) -> None:
        self._ready_ns[host] = now_ns + int(self._rng.uniform(*self._takes_s) * 1e9)

    def ready_ns(self, hosts: Iterable[str]) -> int:
        """When the last of the hosts that boot now will be up; 0 when none boots."""
        return max((self._ready_ns.get(host, 0) for host in hosts), default=0)

    def interrupt(self, host: str) -> bool:
        """The host loses its power; True if it was booting."""
        return self._ready_ns.pop(host, None) is not None

    def finished(self, now_ns: int) -> list[str]:
        """Hosts that are up since the last call."""
        done = [host for host, ready_ns in self._ready_ns.items() if now_ns >= ready_ns]
        for host in done:
            del self._ready_ns[host]
        return done
