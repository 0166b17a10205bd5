"""What a path leads to: a series, a fact about a port, or nothing that anyone asked for."""

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.metadata import Watch, watch
from ingest.collectors.gnmi.paths.naming import Named, Naming
from ingest.collectors.gnmi.paths.series_rows import Leaf, Rows
from ingest.collectors.gnmi.paths.sonic import PortNames, is_sonic, normal_form

Target = Leaf | Watch | None


class Resolver:
    """names: what is known about the ports' other names. unnamed: entries whose port nobody has named yet."""

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self.names = PortNames()
        self.unnamed = 0

    def resolve(self, raw: Elements, rows: Rows) -> Target:
        """Slow (tens of microseconds): callers remember the answer until ``names.version`` moves."""
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
            return rows.leaf(self._of_port(named), raw)
        return watch(elements, raw)

    def _of_port(self, named: Named) -> Named:
        """Optics hang below a component; its port is known once the interface has named its transceiver."""
        port = self.names.ports.get(named.labels.get("port", ""))
        if port is None:
            return named
        return Named(named.metric, named.origin, {**named.labels, "port": port})
