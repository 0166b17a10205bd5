"""Who pushes to a receiver."""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from ingest.collectors.receiver_config import ReceiverConfig

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends. address: IP; certificate: the first name in its verified certificate, '' without one."""

    address: str
    certificate: str

    @property
    def name(self) -> str:
        """The certificate's, else the address, in the form in which a port may follow."""
        return self.certificate or (self.address if "." in self.address else f"[{self.address}]:0")


class Senders:
    """Those that the settings let in; all that could connect where ``allow`` names nobody."""

    def __init__(self, config: ReceiverConfig) -> None:
        self._names = config.senders
        self._networks: tuple[Network, ...] = tuple(ipaddress.ip_network(network) for network in config.allow)

    def find(self, address: str, certificate: str) -> Sender | None:
        """None when they may not push."""
        if self._networks and not _is_in(address, self._networks):
            return None
        return Sender(address, certificate)

    def name_of(self, sender: Sender) -> str:
        """As configured, else as its certificate or address says."""
        return self._names.get(sender.certificate) or self._names.get(sender.address) or sender.name


@lru_cache(maxsize=100_000)
def _is_in(address: str, networks: tuple[Network, ...]) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in networks)
