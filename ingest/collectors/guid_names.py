"""What the ports of InfiniBand fabrics are called: shared by the collectors of their links and those that see GUIDs."""

from collections.abc import Awaitable, Callable
from typing import Protocol


class PortNames(Protocol):
    """The names of one fabric as it was read once."""

    def of_guid(self, guid: str, port: str) -> tuple[str, str] | None:
        """Device and port of a GUID and the port's number, '' for the device itself; None where nobody knows it."""
        ...


class GuidNames:
    """The fabrics of a process, by the names of their sources."""

    def __init__(self) -> None:
        self._read: dict[str, Callable[[], Awaitable[PortNames]]] = {}

    def add(self, source: str, read: Callable[[], Awaitable[PortNames]]) -> None:
        """read: the names as they were read last; of the fabric now where they were not yet."""
        self._read[source] = read

    async def of(self, source: str) -> PortNames:
        """The same object until the fabric is read again. NoAnswer or BadInput where it cannot be read at all."""
        return await self._read[source]()
