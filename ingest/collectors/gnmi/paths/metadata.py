"""Paths that hold text about ports instead of samples: their other names, neighbours and modules."""

from collections.abc import Callable
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
    # Of the module in the port
    SERIAL = "serial"
    VENDOR = "vendor"
    PART = "part"
    DATE_CODE = "date_code"
    # Of the module that is this component
    COMPONENT_SERIAL = "component_serial"
    COMPONENT_VENDOR = "component_vendor"
    COMPONENT_PART = "component_part"
    COMPONENT_DATE_CODE = "component_date_code"


@dataclass(frozen=True, slots=True)
class MetadataPath:
    """A metadata path of one port.

    port: of what a component states (COMPONENT_SERIAL …), the component. neighbour: id of one of several of the port,
    '' for the only one.
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


_OC_MODULE = "components/component[name={port}]/transceiver/state/"
_OC_NEIGHBOUR = "lldp/interfaces/interface[name={port}]/neighbors/neighbor[id={neighbour}]/state/"
# Cisco's NX-OS by model-driven telemetry: an object of its model, and what a command shows.
_NX_NEIGHBOUR = "lldpAdjEp[if={port}][adj={neighbour}]/"
_NX_MODULE = "show interface transceiver details/TABLE_interface/ROW_interface[interface={port}]/"
_PATTERNS = tuple(
    (PathPattern.of(text), kind)
    for text, kind in (
        ("PORT_TABLE/{port}/alias", MetadataKind.ALIAS),
        ("PORT/{port}/alias", MetadataKind.ALIAS),
        ("COUNTERS_PORT_NAME_MAP/{port}", MetadataKind.ALIAS),
        ("COUNTERS_QUEUE_NAME_MAP/{port}", MetadataKind.ALIAS),
        ("COUNTERS_PG_NAME_MAP/{port}", MetadataKind.ALIAS),
        ("COUNTERS_BUFFER_POOL_NAME_MAP/{port}", MetadataKind.ALIAS),
        ("LLDP_ENTRY_TABLE/{port}/lldp_rem_sys_name", MetadataKind.NEIGHBOUR),
        ("LLDP_ENTRY_TABLE/{port}/lldp_rem_port_id", MetadataKind.NEIGHBOUR_PORT),
        ("interfaces/interface[name={port}]/state/transceiver", MetadataKind.COMPONENT),
        ("TRANSCEIVER_INFO/{port}/serial", MetadataKind.SERIAL),
        ("TRANSCEIVER_INFO/{port}/manufacturer", MetadataKind.VENDOR),
        ("TRANSCEIVER_INFO/{port}/model", MetadataKind.PART),
        ("TRANSCEIVER_INFO/{port}/vendor_date", MetadataKind.DATE_CODE),
        (_OC_MODULE + "serial-no", MetadataKind.COMPONENT_SERIAL),
        (_OC_MODULE + "vendor", MetadataKind.COMPONENT_VENDOR),
        (_OC_MODULE + "vendor-part", MetadataKind.COMPONENT_PART),
        (_OC_MODULE + "date-code", MetadataKind.COMPONENT_DATE_CODE),
        (_OC_NEIGHBOUR + "system-name", MetadataKind.NEIGHBOUR),
        (_OC_NEIGHBOUR + "port-id", MetadataKind.NEIGHBOUR_PORT),
        (_NX_NEIGHBOUR + "sysName", MetadataKind.NEIGHBOUR),
        (_NX_NEIGHBOUR + "portIdV", MetadataKind.NEIGHBOUR_PORT),
        (_NX_MODULE + "serialnum", MetadataKind.SERIAL),
        (_NX_MODULE + "name", MetadataKind.VENDOR),
        (_NX_MODULE + "partnum", MetadataKind.PART),
    )
)


def metadata_path(elements: Elements, raw: Elements, port_name: Callable[[str], str] = str) -> MetadataPath | None:
    """The metadata path behind a path in normal form, None for any other path. port_name: a port's name in facts."""
    for pattern, kind in _PATTERNS:
        labels = pattern.match(elements)
        if labels is not None:
            return MetadataPath(kind, port_name(labels["port"]), labels.get("neighbour", ""), raw)
    return None
