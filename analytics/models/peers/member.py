"""One member of a group: how its residuals add up (CUSUM), and what it learns of its usual offset and noise."""

import math
from typing import NamedTuple

from analytics.models.records import record_of
from common.jit import compiled


class Member:
    """float32 each, all zero for a new member."""

    usual: float  # offset from the group's median
    noise: float  # mean absolute residual
    count: float  # samples
    cusum: float
    effect: float  # running mean of the residual since the run began
    run: float  # samples in a row that are unlike the peers
    group: float  # tag
    ewma: float  # running mean of the residual …
    ewma_fourth: float  # … and the mean of its fourth power, over three


MEMBER = record_of(Member, "f4")
WIDTH = len(Member.__annotations__)
WARMUP = 12  # samples until a member's usual offset is its own and not that of its kind
SLACK = 1.25  # standard deviations that are not counted: half of the smallest shift that is worth finding
SIGMA_PER_DEVIATION = 1.2533
CLIP = 3.0  # standard deviations that one sample counts for at most
FEW_VALUES = 0.75  # weight of a scale that is estimated from few values: the median of many is worth more
HOST_SHARE = 0.4  # of the alarm that one sample may add where the whole host shows the same effect: it may have been
# read at another moment than the others …
_STEP_SHARE = 0.55  # … and elsewhere: two samples are needed, however large the effect
_CUSUM_MAX = 2.0  # alarms: an effect that is over is soon forgotten
_SUMMED = 4.0  # samples of a sum that share the error of the usual offset
_NEWEST = 0.5  # weight of the newest sample in the size of the effect
_LEARN_BELOW = 0.25  # of the alarm: samples that may be of a fault change no offset …
_CALM_BELOW = 0.5  # … and no noise
_EWMA = 0.2  # weight of the newest sample in a running mean …
_EWMA_FACTOR = 3.0  # … which is smaller by this, sqrt((2 - weight) / weight), where samples are independent
_WILD = 8.0  # standard deviations in the tails of the noise, which show how far a healthy member goes


class Bounds(NamedTuple):
    """limit: difference that is a fault even where it was always so. alarm: CUSUM at which a member is named."""

    limit: float
    alarm: float


@compiled
def join(member: Member, tag: int) -> None:
    """A member that comes from another group starts from zero; one that was only away continues."""
    if member.group != tag:
        member.usual = member.noise = member.count = member.cusum = member.effect = member.run = 0.0
        member.ewma = member.ewma_fourth = 0.0
        member.group = tag


@compiled
def own_sigma(member: Member, noise: float) -> float:
    """Standard deviation of the member's residuals: of the group, its own or of its running mean, whichever is most."""
    return float(max(noise, FEW_VALUES * SIGMA_PER_DEVIATION * member.noise, FEW_VALUES * member.ewma_fourth**0.25))


@compiled
def add_sample(
    member: Member, residual: float, offset: float, sigma: float, common: float, is_known: bool, bounds: Bounds
) -> None:
    """CUSUM, effect and run with one more residual.

    offset: usual distance from the median of the member's kind. common: median of the residuals of its host.
    """
    if is_known:
        share = HOST_SHARE if 2.0 * common > residual else _STEP_SHARE
        unsure = sigma * math.sqrt(1.0 + _SUMMED / member.count)
        step = min(residual / unsure - SLACK, share * bounds.alarm)
        member.cusum = min(max(0.0, member.cusum + step), _CUSUM_MAX * bounds.alarm)
    member.effect = residual if member.run == 0.0 else member.effect + _NEWEST * (residual - member.effect)
    member.run = member.run + 1.0 if member.cusum > 0.0 or offset + residual > bounds.limit else 0.0


@compiled
def learn(member: Member, at: float, kind: float, residual: float, sigma: float, alpha: float, bounds: Bounds) -> None:
    """The usual offset and the noise, each unless the sample may be of a fault.

    at: distance from the group's median. kind: median of the usual offsets of the member's kind.
    """
    member.count = min(member.count + 1.0, 1e6)
    weight = max(alpha, 1.0 / member.count)
    if member.count <= WARMUP:
        member.usual += weight * (min(max(at, kind - bounds.limit), kind + bounds.limit) - member.usual)
    elif member.cusum < _LEARN_BELOW * bounds.alarm:
        member.usual += weight * min(max(residual, -CLIP * sigma), CLIP * sigma)
        member.usual = min(max(member.usual, kind - bounds.limit), kind + bounds.limit)
    if member.count == 1.0:
        return  # one sample has no scale
    weight = max(alpha, 1.0 / (member.count - 1.0))
    # Autocorrelated noise does not cancel out in sums, which shows in the running mean of the samples. Its fourth power
    # is three times that of the standard deviation in a normal distribution, and more where tails are heavy.
    member.ewma += _EWMA * (residual - member.ewma)
    if member.cusum < _CALM_BELOW * bounds.alarm:
        member.noise += weight * (min(abs(residual), CLIP * sigma) - member.noise)
        fourth = min(_EWMA_FACTOR * abs(member.ewma), _WILD * sigma) ** 4 / 3.0
        member.ewma_fourth += weight * (fourth - member.ewma_fourth)


@compiled
def forget_run(member: Member) -> None:
    """What has lasted is learned as the usual offset of a new member."""
    member.count = member.cusum = member.run = member.ewma = 0.0
