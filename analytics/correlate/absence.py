"""One time that a device was away; all of it goes into the snapshot."""

from dataclasses import dataclass

STARTS_S = 300.0  # exporters of a host start after it: drivers and fabric manager come first (assumption)


@dataclass
class Absence:
    """Times are event times in nanoseconds.

    here_ns: newest time at which it still answered or had its links. since_ns: the first sign that it is away.
    back_ns: when it was back, 0 while it is away. sure: False while only the other ends of its links say so.
    in_use: whether a job ran on it when it went, or stops with this leaf. idle: why nobody used it then, '' where that
    is not known.
    software: what was new when it was back, '' where nothing was.
    wanted_ns: newest time at which the scheduler wanted it out of use, since before it went; 0 for never.
    """

    here_ns: int
    since_ns: int
    back_ns: int = 0
    sure: bool = True
    in_use: bool = False
    idle: str = ""
    wanted_ns: int = 0
    software: str = ""
