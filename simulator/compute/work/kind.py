"""WorkKind: the names of the kinds of work."""

from enum import StrEnum


class WorkKind(StrEnum):
    """What a job does. docs/simulator/work.md describes each."""

    DATA_PARALLEL = "data-parallel"
    IDLE = "idle"
