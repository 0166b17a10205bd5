"""Which paths of one target the catalogue does not know."""

import re

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.sonic import is_sonic

NAMES_MAX = 10_000


class UnmappedPaths:
    """names: of the paths, without the objects that they are of, up to ``NAMES_MAX``. count: the paths themselves.

    left_out: those that the catalogue leaves out on purpose, by name; they are counted apart, names_left_out.
    """

    def __init__(self, left_out: re.Pattern[str]) -> None:
        self._left_out = left_out
        self.names: set[str] = set()
        self.names_left_out: set[str] = set()
        self.count = 0
        self.count_left_out = 0

    def add(self, raw: Elements) -> None:
        """A path that was not added before."""
        name = _name(raw)
        if self._left_out.match(name):
            self.count_left_out += 1
            if len(self.names_left_out) < NAMES_MAX:
                self.names_left_out.add(name)
            return
        self.count += 1
        if len(self.names) < NAMES_MAX:
            self.names.add(name)


def _name(raw: Elements) -> str:
    """OpenConfig has objects in the keys of its steps, SONiC in the steps between table and field."""
    names = [name for name, _ in raw]
    if is_sonic(raw) and len(names) > 2:
        names = [names[0], "…", names[-1]]
    return "/".join(names)
