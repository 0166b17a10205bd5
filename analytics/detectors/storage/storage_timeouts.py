"""Storage timeouts: a client whose requests nobody answers. It finishes nothing, and so has no times to be judged."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

# A major timeout comes after all retransmissions, a minute or more without an answer (nfs(5): timeo and retrans). So
# one is enough, and more of them say nothing more.
_SCORE = 2.0
_CONFIDENCE = 0.6  # as of ``storage_wait``: anything on the way may be the reason


def client_timeouts(labels: Mapping[str, str]) -> bool:
    """Requests of a client that were given up, and sent again from the beginning."""
    return labels.get("side") == "client" and labels.get("kind") in ("read_timeout", "write_timeout")


@dataclass(frozen=True, kw_only=True)
class StorageTimeouts(Detector):
    """Judges major timeouts of reads and writes; of several file systems of a host it shows the first."""

    name: str = "storage_timeouts"
    kind: FindingKind = FindingKind.STORAGE_WAIT
    metrics: tuple[str, ...] = ("storage_errors_total",)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(self.metrics[0], client_timeouts)
        return [verdicts_of(column, np.where(column.values > 0, _SCORE, 0.0), confidence=_CONFIDENCE)]
