"""Which paths of one target the catalogue does not know."""

import re
from collections import Counter

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.sonic import is_sonic

NAMES_MAX = 10_000


class UnmappedPaths:
    """By name, which is a path without the objects that it is of; up to ``NAMES_MAX`` of them.

    count: the paths themselves. count_left_out: those that the catalogue leaves out on purpose, counted apart.
    """

    def __init__(self, left_out: re.Pattern[str]) -> None:
        self._left_out = left_out
        self._paths, self._paths_left_out = Counter[str](), Counter[str]()
        self._kept: set[Elements] = set()
        self.count = 0
        self.count_left_out = 0

    @property
    def names(self) -> set[str]:
        return {name for name, paths in self._paths.items() if paths}

    @property
    def names_left_out(self) -> set[str]:
        return {name for name, paths in self._paths_left_out.items() if paths}

    def add(self, raw: Elements) -> None:
        """A path that was not added before."""
        self._count(raw, 1)

    def keep(self, raw: Elements) -> None:
        """A path that was added before has become a series under its own name."""
        if raw not in self._kept:
            self._kept.add(raw)
            self._count(raw, -1)

    def _count(self, raw: Elements, paths: int) -> None:
        name = _name(raw)
        if self._left_out.match(name):
            self.count_left_out += paths
            counted = self._paths_left_out
        else:
            self.count += paths
            counted = self._paths
        if name in counted or len(counted) < NAMES_MAX:
            counted[name] += paths


def _name(raw: Elements) -> str:
    """OpenConfig has objects in the keys of its steps, SONiC in the steps between table and field."""
    names = [name for name, _ in raw]
    if is_sonic(raw) and len(names) > 2:
        names = [names[0], "…", names[-1]]
    return "/".join(names)
