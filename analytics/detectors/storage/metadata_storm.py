"""Metadata storm: a metadata server gets many times its usual opens, stats and creates, and all clients wait for it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import METADATA_PER_SECOND_MIN

# Lustre's names (mdt.*.md_stats), which other file systems share.
_FILES = ("open", "close", "create", "mknod", "link", "unlink", "rename")
_REST = ("mkdir", "rmdir", "readdir", "getattr", "setattr", "getxattr", "setxattr", "statfs", "sync")
_OPERATIONS = frozenset((*_FILES, *_REST))
_TIMES_OWN = 5.0
_SIGMAS = 8.0


def of_metadata(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "server" and labels.get("op") in _OPERATIONS


@dataclass(frozen=True, kw_only=True)
class MetadataStorm(Detector):
    """Judges each kind of operation on each target: against its own normal, and against a least rate that matters."""

    name: str = "metadata_storm"
    kind: FindingKind = FindingKind.METADATA_STORM
    metrics: tuple[str, ...] = ("storage_operations_total",)
    persist: int = 2
    fire_immediately_score: float = 5.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        done = view.column(self.metrics[0], of_metadata)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_own = np.where(done.level > 0, done.values / (_TIMES_OWN * done.level), done.score)
        least = done.values / METADATA_PER_SECOND_MIN
        return [verdicts_of(done, np.minimum(np.minimum(by_own, least), done.score / _SIGMAS), confidence=0.7)]
