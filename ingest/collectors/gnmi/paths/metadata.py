"""Paths that carry no number but meaning: names of ports, and neighbours."""

from dataclasses import dataclass
from enum import StrEnum

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.naming import Template


class Fact(StrEnum):
    """What a watched text says about its port."""

    ALIAS = "alias"  # another name of the port
    COMPONENT = "component"  # the name of the component that holds its optics
    NEIGHBOUR = "neighbour"  # the device at the other end
    NEIGHBOUR_PORT = "neighbour_port"


@dataclass(frozen=True, slots=True)
class Watch:
    """A watched path. neighbour: which of several neighbours of the port, '' where there is one."""

    fact: Fact
    port: str
    neighbour: str
    raw: Elements


@dataclass(frozen=True, slots=True)
class Observation:
    """A watched path's text at an event time; None when the path was deleted."""

    watch: Watch
    text: str | None
    time_ns: int


_OC_NEIGHBOUR = "lldp/interfaces/interface[name={port}]/neighbors/neighbor[id={neighbour}]/state/"
_TEMPLATES = tuple(
    (Template.of(text), fact)
    for text, fact in (
        ("PORT_TABLE/{port}/alias", Fact.ALIAS),
        ("PORT/{port}/alias", Fact.ALIAS),
        ("COUNTERS_PORT_NAME_MAP/{port}", Fact.ALIAS),
        ("LLDP_ENTRY_TABLE/{port}/lldp_rem_sys_name", Fact.NEIGHBOUR),
        ("LLDP_ENTRY_TABLE/{port}/lldp_rem_port_id", Fact.NEIGHBOUR_PORT),
        ("interfaces/interface[name={port}]/state/transceiver", Fact.COMPONENT),
        (_OC_NEIGHBOUR + "system-name", Fact.NEIGHBOUR),
        (_OC_NEIGHBOUR + "port-id", Fact.NEIGHBOUR_PORT),
    )
)


def watch(elements: Elements, raw: Elements) -> Watch | None:
    """The watch for a path in normal form, None when it says nothing of interest."""
    for template, fact in _TEMPLATES:
        labels = template.match(elements)
        if labels is not None:
            return Watch(fact, labels["port"], labels.get("neighbour", ""), raw)
    return None
