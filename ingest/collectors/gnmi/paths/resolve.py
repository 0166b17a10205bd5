"""What a path is: a series, metadata of a port, or neither."""

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.kept import kept
from ingest.collectors.gnmi.paths.metadata import MetadataPath, metadata_path
from ingest.collectors.gnmi.paths.naming import Named, Naming
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf, SeriesRows
from ingest.collectors.gnmi.paths.sonic import PortNames, is_sonic, normal_form

Resolved = Leaf | MetadataPath | None
"""None: the catalogue does not know the path."""


class Resolver:
    """names: the ports' other names learnt so far. unnamed: count of entries whose port has no known name yet."""

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self.names = PortNames()
        self.unnamed = 0

    def resolve(self, raw: Elements, rows: SeriesRows) -> Resolved:
        """Slow (tens of microseconds): callers keep the result until ``names.version`` changes."""
        elements: Elements | None = raw
        if is_sonic(raw):
            elements = normal_form(raw, self.names)
            if elements is None:
                self.unnamed += 1
                return None
        if not elements:
            return None
        named = self.naming.name(elements)
        if named is not None:
            return rows.new_leaf(self._of_port(named), raw)
        return metadata_path(elements, raw, self.naming.port_name)

    def keep(self, raw: Elements) -> Leaf | None:
        """A path that ``resolve`` does not know as a series, which begins with its first number; None for most jobs."""
        if not self.naming.kept_max:
            return None
        named = kept((normal_form(raw, self.names) if is_sonic(raw) else raw) or raw)
        return None if named is None else Leaf(ENDED, named, raw)

    def _of_port(self, named: Named) -> Named:
        """Optics are below a component; its port is known once the interface has named its transceiver."""
        port = self.names.ports.get(named.labels.get("port", ""))
        if port is None:
            return named
        return Named(named.metric, named.origin, {**named.labels, "port": port})
