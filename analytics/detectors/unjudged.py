"""Findings that may have lost their judge: the detector is gone, other settings let it look at other things, or
a target is not collected any more.

Such a finding stays as it is while its detector still judges the object, and ends when it does not.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from analytics.view.quality import FRESH
from analytics.view.tick_view import TickView

# Longer than any detector waits between two looks at an object: forecasts are judged every ten minutes.
_WAIT_NS = 1800 * 10**9


class Unjudged:
    """The newest sample judged of each object in doubt, by detector."""

    def __init__(self) -> None:
        self._newest_ns: dict[str, dict[str, int]] = {}
        self._gone: set[str] = set()  # detectors that do not exist any more
        self._since_ns: dict[str, dict[str, int]] = {}  # of each, end of the first tick in which it was in doubt

    def begin(self, newest_ns: Mapping[str, Mapping[str, int]], gone: Collection[str]) -> None:
        """After a restart, beside what was still in doubt before it. gone: of these detectors, all."""
        self.doubt(newest_ns)
        self._gone = set(gone)

    def doubt(self, newest_ns: Mapping[str, Mapping[str, int]]) -> None:
        """From now on: whether somebody judges them is seen from the next tick on."""
        for detector, objects in newest_ns.items():
            self._newest_ns.setdefault(detector, {}).update(objects)
            self._since_ns[detector] = {n: at for n, at in self._since_ns.get(detector, {}).items() if n not in objects}

    def due(self, newest_ns: Callable[[str, str], int | None], view: TickView) -> Iterator[tuple[str, str]]:
        """Detector and object of the findings that end now. newest_ns: of a detector and object, None without any."""
        for detector, objects in sorted(self._newest_ns.items()):
            gone, since_ns = detector in self._gone, self._since_ns.setdefault(detector, {})
            for name, known_ns in sorted(objects.items()):
                late = view.end_ns - since_ns.setdefault(name, view.end_ns) >= _WAIT_NS
                if newest_ns(detector, name) != known_ns:
                    del objects[name], since_ns[name]  # it was judged
                elif gone or (late and not _silent(name, view)):
                    del objects[name], since_ns[name]
                    yield detector, name
            if not objects:
                del self._newest_ns[detector], self._since_ns[detector]

    def state(self) -> dict[str, Any]:
        return {"newest_ns": self._newest_ns, "since_ns": self._since_ns, "gone": sorted(self._gone)}

    def restore(self, head: Mapping[str, Any]) -> None:
        self._newest_ns = {detector: dict(objects) for detector, objects in head["newest_ns"].items()}
        self._since_ns = {detector: dict(known) for detector, known in head.get("since_ns", {}).items()}
        self._gone = set(head["gone"])


def _silent(name: str, view: TickView) -> bool:
    """Whether the object has series and none of them a fresh value, so that nobody can judge it."""
    number = view.index.objects.get(name)
    sids = np.flatnonzero(view.index.columns["object"] == (-1 if number is None else number))
    return bool(sids.size and (view.quality[sids] != FRESH).all())
