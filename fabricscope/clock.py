"""Event time for what carries none: the wall clock, or the clock of a simulated cluster that runs faster."""

import time
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field


class SimulatedTime(BaseModel):
    """Event time that passes ``speed`` times as fast as the wall clock. Written by ``fabricscope simulate``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_ns: int = Field(description="A moment of the wall clock, ns since the Unix epoch.")
    event_ns: int = Field(description="The event time at that moment.")
    speed: float = Field(gt=0, description="Event seconds per second.")


def event_clock(simulated: SimulatedTime | None, wall: Callable[[], int] = time.time_ns) -> Callable[[], int]:
    """Now, as event time in nanoseconds. wall: Unix time in nanoseconds."""
    if simulated is None:
        return wall
    return lambda: simulated.event_ns + int((wall() - simulated.wall_ns) * simulated.speed)
