"""Whether there is data that a verdict can rest on. The NOC page and ``/-/ready`` say so in the same words."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from common.units import NS_PER_S
from fabricscope.api.read_model import TargetStatus

AGE_MAX_S = 60.0  # of a target that is collected more often than three times a minute
AGE_MAX_INTERVALS = 3.0  # of others: two collections may be lost
FORGET_S = 3600.0  # a target of which nobody says anything any more was removed
ANSWER_MIN = 0.5  # share of the targets below which nobody knows how the cluster is


class DataLevel(StrEnum):
    """good: all targets answer. partial: some do not. missing: what the page shows may be wrong or old."""

    GOOD = "good"
    PARTIAL = "partial"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class DataState:
    """text: what is missing, in words; '' where nothing is. up, all: targets that answer, of those known.

    age_s: of the newest collection, in event time; None before the first one.
    """

    level: DataLevel
    text: str
    up: int
    all: int
    age_s: float | None


def data_state(
    targets: Sequence[TargetStatus], now_ns: int, problem: str | None = None, undetected: str | None = None
) -> DataState:
    """The state at ``now_ns``.

    targets: a copy, as another thread applies records meanwhile. problem: why nothing can be relied on, such as a bus
    that does not answer. undetected: why no faults are looked for in the data that there is.
    """
    known = _known(targets)
    newest_ns = max((status.collected_ns for status in known), default=0)
    up = sum(_answers(status, now_ns) for status in known)
    age_s = max(0.0, (now_ns - newest_ns) / NS_PER_S) if known else None
    level, text = _verdict(known, up, age_s)
    loudest = problem if level is DataLevel.MISSING else problem or undetected
    if loudest is not None:
        level, text = DataLevel.MISSING, loudest
    return DataState(level, text, up, len(known), age_s)


def silent(targets: Sequence[TargetStatus], now_ns: int) -> list[TargetStatus]:
    """Those that do not answer, of the targets that ``data_state`` counts."""
    return [status for status in _known(targets) if not _answers(status, now_ns)]


def _known(targets: Sequence[TargetStatus]) -> list[TargetStatus]:
    newest_ns = max((status.collected_ns for status in targets), default=0)
    return [status for status in targets if newest_ns - status.collected_ns <= FORGET_S * NS_PER_S]


def _verdict(known: Sequence[TargetStatus], up: int, age_s: float | None) -> tuple[DataLevel, str]:
    if age_s is None:
        return DataLevel.MISSING, "no data: no target has been collected yet"
    if age_s > max(map(_age_max_s, known)):
        return DataLevel.MISSING, f"no data for {age_s:.0f} s: no target is collected"
    if up == len(known):
        return DataLevel.GOOD, ""
    text = f"{len(known) - up} of {len(known)} targets do not answer"
    return (DataLevel.PARTIAL if up >= ANSWER_MIN * len(known) else DataLevel.MISSING), text


def _answers(status: TargetStatus, now_ns: int) -> bool:
    return status.up and now_ns - status.collected_ns <= _age_max_s(status) * NS_PER_S


def _age_max_s(status: TargetStatus) -> float:
    return max(AGE_MAX_S, AGE_MAX_INTERVALS * status.interval_s)
