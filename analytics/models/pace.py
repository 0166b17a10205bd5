"""How fast levels are learned: shared by the settings and compiled code, without importing the compiler."""

from typing import NamedTuple

WARMUP = 12  # values to learn before the first score: two minutes at the default interval


class Pace(NamedTuple):
    """alpha: weight of the newest value in levels and scales. warmup: values before the first score.
    follow: anomalous values in a row until they are the new normal.
    """

    alpha: float
    warmup: int
    follow: int
