"""Which module is in which port of one device, from what it reports of them: serial, vendor, part number, date code.

Pure: metadata updates go in, facts come out. OpenConfig states them below a component, and the interface names its
component: whichever comes last makes the fact.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataUpdate
from telemetry.topology import TopologyFact, Transceiver

# SFF-8472, SFF-8636 and CMIS have 16 characters, padded with blanks. More than four times that is none of their fields.
_CHARS_MAX = 64
_SERIAL = "serial"
_OF_PORT = {
    MetadataKind.SERIAL: _SERIAL,
    MetadataKind.VENDOR: "vendor",
    MetadataKind.PART: "part",
    MetadataKind.DATE_CODE: "date_code",
}
_OF_COMPONENT = {
    MetadataKind.COMPONENT_SERIAL: _SERIAL,
    MetadataKind.COMPONENT_VENDOR: "vendor",
    MetadataKind.COMPONENT_PART: "part",
    MetadataKind.COMPONENT_DATE_CODE: "date_code",
}
# OpenConfig has no other type for a day than date-and-time; the time says nothing.
_DATE_AND_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})T\d{2}:")

_Holder = tuple[bool, str]
"""Whether it is a component and no port, and its name."""


class TransceiverTable:
    """The modules of one device as its agent reports them."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._present: dict[str, Transceiver] = {}
        self._ports: dict[str, str] = {}  # by component
        self._stated: dict[_Holder, Mapping[str, str]] = {}  # by field of a Transceiver

    def update(self, updates: Iterable[MetadataUpdate]) -> list[TopologyFact]:
        """The facts that changed: one a port, from all that came together."""
        stated: defaultdict[_Holder, dict[str, str]] = defaultdict(dict)
        times_ns: dict[_Holder, int] = {}
        for update in updates:
            holder = self._read(update, stated)
            if holder is not None:
                times_ns[holder] = max(update.time_ns, times_ns.get(holder, 0))
        return [fact for holder, at_ns in times_ns.items() for fact in self._facts(holder, stated[holder], at_ns)]

    def _read(self, update: MetadataUpdate, stated: Mapping[_Holder, dict[str, str]]) -> _Holder | None:
        """Which module an update is about, None for any other one."""
        kind, name, text = update.path.kind, update.path.port, (update.text or "").strip()
        if kind is MetadataKind.COMPONENT and text:
            self._ports[text] = name
            return True, text
        of_component = kind in _OF_COMPONENT
        field = _OF_COMPONENT.get(kind) or _OF_PORT.get(kind)
        if field is None or len(text) > _CHARS_MAX:
            return None
        dated = _DATE_AND_TIME.match(text) if field == "date_code" else None
        stated[of_component, name][field] = dated[1] if dated else text
        return of_component, name

    def _facts(self, holder: _Holder, stated: Mapping[str, str], at_ns: int) -> Iterator[TopologyFact]:
        known = self._stated.get(holder, {})
        if stated.get(_SERIAL, known.get(_SERIAL)) != known.get(_SERIAL):
            known = {}  # another module: what is not stated of it is not what was stated of the one before
        self._stated[holder] = known = {**known, **stated}
        is_component, name = holder
        port = self._ports.get(name) if is_component else name
        if port is not None:
            yield from self._put(port, known, at_ns)

    def _put(self, port: str, stated: Mapping[str, str], at_ns: int) -> Iterator[TopologyFact]:
        before = self._present.pop(port, None)
        serial, vendor, part, date_code = (stated.get(field, "") for field in _OF_PORT.values())
        module = Transceiver(self._device, port, serial, vendor, part, date_code) if serial else None
        if module is not None:
            self._present[port] = module
        entity = module or before
        if entity is not None and module != before:
            yield TopologyFact(entity, at_ns, f"gnmi/{self._device}", gone=module is None)
