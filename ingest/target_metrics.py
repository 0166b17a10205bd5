"""What each target sent, as metrics: by name for a bounded number of targets, and together for all others."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.metrics import TARGET_DROPPED, TARGET_PUBLISHED, TARGET_RECEIVED

TARGETS_MAX = 1000
"""Some five series each: as many as a page of own metrics can bear at an interval of seconds."""
OTHERS = ""


@dataclass(slots=True)
class _Exported:
    received: int = 0
    published: int = 0
    drops: Counter[str] = field(default_factory=Counter)


class TargetMetrics:
    """Those of one process."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._exported: dict[str, _Exported] = {}

    def update(self, target: str, received: int, published: int, drops: Mapping[str, int]) -> None:
        """Brings the metrics up to these counts of a target, which only grow until it is forgotten."""
        before = self._exported.setdefault(target, _Exported())
        if before.received == received and before.published == published and before.drops == drops:
            return
        if target not in self._named and len(self._named) < TARGETS_MAX:
            self._named.add(target)
        name = target if target in self._named else OTHERS
        TARGET_RECEIVED.labels(name).inc(received - before.received)
        TARGET_PUBLISHED.labels(name).inc(published - before.published)
        for reason, count in drops.items():
            if more := count - before.drops[reason]:
                TARGET_DROPPED.labels(name, reason).inc(more)
        self._exported[target] = _Exported(received, published, Counter(drops))

    def forget(self, target: str) -> None:
        """Its series end; those of all others together stay."""
        exported = self._exported.pop(target, None)
        if exported is None or target not in self._named:
            return
        self._named.remove(target)
        TARGET_RECEIVED.remove(target)
        TARGET_PUBLISHED.remove(target)
        for reason in exported.drops:
            TARGET_DROPPED.remove(target, reason)
