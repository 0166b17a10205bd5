"""A robust level and its scale, which follow slowly and learn little from anomalies, and a fast level beside them."""

from analytics.models.pace import Pace
from analytics.models.scoring.layout import Core, Level
from common.jit import compiled_unchecked as compiled

SIGMA_PER_SCALE = 1.2533  # of a normal distribution, from its mean absolute deviation
Z_MAX = 100.0
_CLIP = 3.0  # scales that one value may be off by when it is learned
_FREEZE = 6.0  # standard deviations from which on a value is an anomaly and not learned
_NEAR_SHARE = 0.25  # of three scales: those of a series that rests are of the height of its departures
_LEAK = 0.2  # of the usual learning, for the scale, while values are anomalous
_PRIOR_HITS = 4.0  # values in a row near the level before an event that restore it
_APART = 1.0  # memories of the level: a level that was held for less was that of an event
_FAST = 0.25  # weight of the newest value in the fast level
_FAST_CLIP = 4.0
_FAST_WARMUP = 8.0


@compiled
def distance(error: float, scale: float, floor: float) -> float:
    """Standard deviations, within ±``Z_MAX``. floor: smallest scale."""
    sigma = SIGMA_PER_SCALE * max(scale, floor)
    if error == 0.0:
        return 0.0
    if abs(error) >= Z_MAX * sigma:
        return Z_MAX if error > 0.0 else -Z_MAX
    return error / sigma


@compiled
def learn_level(level: Level, x: float, z: float, floor: float, pace: Pace) -> None:
    """Learns one value at a distance of ``z``; after ``follow`` anomalous ones in a row they are the new normal."""
    alpha, warmup, follow = pace
    error, count = x - level.level, level.count
    level.count = count + 1.0
    scale = max(level.scale, floor)
    if count < warmup:
        level.level += error / (count + 1.0)
        level.scale += (abs(error) - level.scale) / max(count, 1.0)
        return
    rate = max(alpha, 1.0 / (count + 1.0))
    clip = _CLIP * scale
    if abs(z) > _FREEZE:
        outliers = level.outliers + 1.0
        level.outlier_level = x if outliers == 1.0 else level.outlier_level + (x - level.outlier_level) / outliers
        level.outliers = outliers
        level.scale += _LEAK * rate * (clip - level.scale)
        if outliers >= follow:
            level.level, level.outliers = level.outlier_level, 0.0
        return
    level.outliers = 0.0
    level.level += rate * min(max(error, -clip), clip)
    level.scale += rate * (min(abs(error), clip) - level.scale)


@compiled
def learn_values(core: Core, x: float, z: float, floor: float, departs: bool, pace: Pace) -> None:
    """Learns the level of the values, and restores the one before an event when they return to it.

    A value that is repeated ``follow`` times is the level. departs: from rest, where no distance is large.
    """
    values = core.values
    before, count, near = values.level, values.count, _CLIP * max(values.scale, floor)
    learn_level(values, x, z, floor, pace)
    if count < pace.warmup:
        return
    unusual = abs(z) > _FREEZE
    held = core.run >= pace.follow and x != before
    if held:
        values.level, values.outliers = x, 0.0
    if (held and abs(x - before) > near) or (unusual and values.outliers == 0.0):  # they have become the new normal
        _remember(core, before, count, _APART / pace.alpha)
    elif departs or unusual:
        _restore(core, x, _NEAR_SHARE * near if departs else near)
    else:
        core.prior_hits = 0.0


@compiled
def _remember(core: Core, level: float, count: float, apart: float) -> None:
    """Keeps the level that is given up, unless it was itself that of an event a short time ago."""
    if core.prior_at == 0.0 or count - abs(core.prior_at) > apart:
        core.prior_level, core.prior_at = level, count
    else:
        core.prior_at = count if core.prior_at > 0.0 else -count
    core.prior_hits = 0.0


@compiled
def _restore(core: Core, x: float, near: float) -> None:
    """Returns to the level before an event after a few values near it, before they are the new normal."""
    if core.prior_at <= 0.0 or abs(x - core.prior_level) > near:
        core.prior_hits = 0.0
        return
    core.prior_hits += 1.0
    if core.prior_hits >= _PRIOR_HITS:
        core.values.level = core.prior_level
        core.prior_at = -core.values.count
        core.values.outliers = core.prior_hits = 0.0
        core.drift = core.drift_slow = 0.0


@compiled
def learn_fast(level: Level, x: float, floor: float, alpha: float) -> None:
    """The fast level, and its mean absolute error as a forecast."""
    error = x - level.fast
    rate = max(alpha, 1.0 / (level.count + 1.0))
    clip = _FAST_CLIP * max(level.fast_scale, floor)
    if level.count < _FAST_WARMUP:
        clip = abs(error)
    level.fast += _FAST * min(max(error, -clip), clip)
    level.fast_scale += rate * (min(abs(error), clip) - level.fast_scale)


@compiled
def learn_step(core: Core, x: float, floor: float, alpha: float) -> None:
    """The mean absolute step from the last value."""
    count = core.values.count
    error = abs(x - core.last)
    clip = _FAST_CLIP * max(core.step_scale, floor) if count >= _FAST_WARMUP else error
    core.step_scale += max(alpha, 1.0 / (count + 1.0)) * (min(error, clip) - core.step_scale)
