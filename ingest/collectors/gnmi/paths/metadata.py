"""Paths that hold text about ports instead of samples: their other names, neighbours and modules' serials."""

from dataclasses import dataclass
from enum import StrEnum

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.pattern import PathPattern


class MetadataKind(StrEnum):
    """What the text of a metadata path is."""

    ALIAS = "alias"  # another name of the port
    COMPONENT = "component"  # the name of the component that holds its optics
    NEIGHBOUR = "neighbour"  # the device at the other end
    NEIGHBOUR_PORT = "neighbour_port"
    SERIAL = "serial"  # of the module in the port
    COMPONENT_SERIAL = "component_serial"  # of the module that is this component


@dataclass(frozen=True, slots=True)
class MetadataPath:
    """A metadata path of one port.

    port: of a COMPONENT_SERIAL, the component. neighbour: id of one of several of the port, '' for the only one.
    """

    kind: MetadataKind
    port: str
    neighbour: str
    raw: Elements


@dataclass(frozen=True, slots=True)
class MetadataUpdate:
    """A metadata path's text at an event time; None when the path was deleted."""

    path: MetadataPath
    text: str | None
    time_ns: int


_OC_NEIGHBOUR = "lldp/interfaces/interface[name={port}]/neighbors/neighbor[id={neighbour}]/state/"
_PATTERNS = tuple(
    (PathPattern.of(text), kind)
    for text, kind in (
        ("PORT_TABLE/{port}/alias", MetadataKind.ALIAS),
        ("PORT/{port}/alias", MetadataKind.ALIAS),
        ("COUNTERS_PORT_NAME_MAP/{port}", MetadataKind.ALIAS),
        ("LLDP_ENTRY_TABLE/{port}/lldp_rem_sys_name", MetadataKind.NEIGHBOUR),
        ("LLDP_ENTRY_TABLE/{port}/lldp_rem_port_id", MetadataKind.NEIGHBOUR_PORT),
        ("interfaces/interface[name={port}]/state/transceiver", MetadataKind.COMPONENT),
        ("TRANSCEIVER_INFO/{port}/serial", MetadataKind.SERIAL),
        ("components/component[name={port}]/transceiver/state/serial-no", MetadataKind.COMPONENT_SERIAL),
        (_OC_NEIGHBOUR + "system-name", MetadataKind.NEIGHBOUR),
        (_OC_NEIGHBOUR + "port-id", MetadataKind.NEIGHBOUR_PORT),
    )
)


def metadata_path(elements: Elements, raw: Elements) -> MetadataPath | None:
    """The metadata path behind a path in normal form, None for any other path."""
    for pattern, kind in _PATTERNS:
        labels = pattern.match(elements)
        if labels is not None:
            return MetadataPath(kind, labels["port"], labels.get("neighbour", ""), raw)
    return None
