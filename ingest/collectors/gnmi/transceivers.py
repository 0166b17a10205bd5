"""Which module is in which port of one device, from the serials that it reports.

Pure: metadata updates go in, facts come out. OpenConfig states a serial below a component, and the interface names its
component: whichever comes last makes the fact.
"""

from collections.abc import Iterable, Iterator

from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataUpdate
from telemetry.topology import TopologyFact, Transceiver

# SFF-8472, SFF-8636 and CMIS have 16 characters, padded with blanks. More than four times that is no serial.
_SERIAL_CHARS_MAX = 64


class TransceiverTable:
    """The modules of one device as its agent reports them."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._present: dict[str, Transceiver] = {}
        self._ports: dict[str, str] = {}  # by component
        self._serials: dict[str, str] = {}  # by component

    def update(self, updates: Iterable[MetadataUpdate]) -> list[TopologyFact]:
        """The facts that changed."""
        return [fact for update in updates for fact in self._facts(update)]

    def _facts(self, update: MetadataUpdate) -> Iterator[TopologyFact]:
        name, text = update.path.port, (update.text or "").strip()
        match update.path.kind:
            case MetadataKind.SERIAL:
                yield from self._put(name, text, update.time_ns)
            case MetadataKind.COMPONENT_SERIAL:
                self._serials[name] = text
                if name in self._ports:
                    yield from self._put(self._ports[name], text, update.time_ns)
            case MetadataKind.COMPONENT if text:
                self._ports[text] = name
                if text in self._serials:
                    yield from self._put(name, self._serials[text], update.time_ns)

    def _put(self, port: str, serial: str, at_ns: int) -> Iterator[TopologyFact]:
        before = self._present.get(port)
        if serial == (before.serial if before else "") or len(serial) > _SERIAL_CHARS_MAX:
            return
        if serial:
            module = self._present[port] = Transceiver(self._device, port, serial)
        else:
            module = self._present.pop(port)
        yield TopologyFact(module, at_ns, f"gnmi/{self._device}", gone=not serial)
