"""How many requests one device has at once, and how close they follow each other, whatever serves them on it.

An agent on a switch or a host shares a small CPU with the work of the device, and several exporters of one device are
several targets of ours. What waits is bounded in time, and who has waited for too long is left out once.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from ingest.admission.reasons import DeviceBusy


@dataclass(slots=True)
class _Device:
    """requests: under way. waiting: for their turn, in order. next_s: loop time at which the next one may begin."""

    requests: int = 0
    waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)
    next_s: float = 0.0
    timer: asyncio.TimerHandle | None = None


class DevicePace:
    """requests_max: of one device at once; None for any number. spacing_s: from the begin of one to that of the next.

    A device is remembered while it has requests, and until its next one may begin.
    """

    def __init__(self, requests_max: int | None = None, spacing_s: float = 0.0) -> None:
        self._requests_max, self._spacing_s = requests_max, spacing_s
        self._devices: dict[str, _Device] = {}

    def __len__(self) -> int:
        """Devices that are remembered."""
        return len(self._devices)

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return sum(len(device.waiting) for device in self._devices.values())

    async def begin(self, device: str, deadline: float) -> bool:
        """Returns when a request may begin, and whether it had to wait; ``end`` must follow.

        DeviceBusy when there is no turn until the loop's time ``deadline``.
        """
        if self._requests_max is None:
            return False
        loop = asyncio.get_running_loop()
        known = self._devices.setdefault(device, _Device())
        waiter = loop.create_future()
        known.waiting.append(waiter)
        self._serve(device, known)
        if waiter.done():
            return False
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():  # its turn came at the same moment
                self.end(device)
            else:
                known.waiting.remove(waiter)
                self._serve(device, known)
            if isinstance(error, TimeoutError):
                raise DeviceBusy from None
            raise
        return True

    def end(self, device: str) -> None:
        """The request is over, however it ended."""
        if self._requests_max is not None:
            known = self._devices[device]
            known.requests -= 1
            self._serve(device, known)

    def _serve(self, device: str, known: _Device) -> None:
        """Begins what may begin now, and looks again when the next one may."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        while known.waiting and known.requests < (self._requests_max or 1) and known.next_s <= now_s:
            known.requests += 1
            known.next_s = now_s + self._spacing_s
            known.waiting.popleft().set_result(None)
        if not known.waiting and not known.requests and known.next_s <= now_s:
            self._devices.pop(device, None)
        elif known.next_s > now_s and known.timer is None:
            known.timer = loop.call_at(known.next_s, self._serve_later, device, known)

    def _serve_later(self, device: str, known: _Device) -> None:
        known.timer = None
        self._serve(device, known)
