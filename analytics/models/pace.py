"""How fast baselines learn: what the settings and the compiled baseline both need, without the compiler."""

from typing import NamedTuple

WARMUP = 12  # values to learn before the first score: two minutes at the default interval


class Pace(NamedTuple):
    """How fast baselines learn, in values. alpha: weight of the newest one. warmup: values before the first score.
    follow: values in a row that are all anomalous until they are the new normal.
    """

    alpha: float
    warmup: int
    follow: int
