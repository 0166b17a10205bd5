"""Evidence of a multivariate verdict: the three inputs that contribute most, with the normal that they left further."""

from math import exp, log

import numpy as np
import pytest

from analytics.detectors.multivariate.features import Devices
from analytics.detectors.multivariate.measures import Kind, Measure, Part
from analytics.detectors.multivariate.verdicts import CONFIDENCE, Judged, verdicts_of
from telemetry.objects import ObjectKind

KIND = Kind(
    "gpu",
    ObjectKind.GPU,
    (
        Measure("power", "watts", Part("p"), 0.1, by_factor=True, least=1.0),
        *(Measure(name, "celsius", Part(name), 1.0) for name in ("a", "b", "c")),
    ),
)
NUMBERS = np.array([11, 12, 13])
DEVICES = Devices(NUMBERS, NUMBERS, NUMBERS, {})


def judged(score: float, parts: list[float], peers: float = 50.0, row: int = 1) -> Judged:
    return Judged(
        np.array([row]),
        np.array([1000]),
        np.array([score]),
        np.array([[500.0, 60.0, 61.0, 62.0]]),
        np.array([[log(400.0 + 1.0), 40.0, 41.0, 42.0]]),
        np.array([[log(300.0 + 1.0), peers, peers, peers]]),
        np.array([parts]),
    )


def shown(of: Judged) -> list[tuple[str, float, float]]:
    evidence = verdicts_of(KIND, DEVICES, of).evidence
    assert all(one.label for one in evidence)
    return [(one.label(0), float(one.values[0]), float(one.normals[0])) for one in evidence if one.label]


def test_the_three_largest_contributions_are_shown_own_and_peers_together() -> None:
    found = shown(judged(2.0, [0.0, 5.0, 1.0, 3.0, 0.0, 0.0, 3.0, 0.5]))
    assert [name for name, _, _ in found] == ["a [celsius]", "b [celsius]", "c [celsius]"]


@pytest.mark.parametrize(
    ("own", "peers", "normal"),
    [(5.0, 1.0, 40.0), (1.0, 5.0, 50.0), (2.0, 2.0, 40.0)],
)
def test_the_normal_is_that_of_the_larger_contribution(own: float, peers: float, normal: float) -> None:
    first, *_ = shown(judged(2.0, [0.0, own, 0.0, 0.0, 0.0, peers, 0.0, 0.0]))
    assert first == ("a [celsius]", 60.0, normal)


def test_a_device_without_peers_has_its_own_normal() -> None:
    first, *_ = shown(judged(2.0, [0.0, 1.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0], peers=np.nan))
    assert first == ("a [celsius]", 60.0, 40.0)


def test_the_normal_of_a_factor_is_in_the_unit_of_its_value() -> None:
    name, value, normal = shown(judged(2.0, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))[0]
    assert (name, value) == ("power [watts]", 500.0)
    assert normal == pytest.approx(exp(log(401.0)) - 1.0)


@pytest.mark.parametrize(("score", "breached"), [(0.999, False), (1.0, True)])
def test_one_verdict_a_device_at_its_limit(score: float, breached: bool) -> None:
    found = verdicts_of(KIND, DEVICES, judged(score, [0.0] * 8))
    assert (found.objects.tolist(), found.times_ns.tolist()) == ([12], [1000])
    assert (found.score.tolist(), found.breached.tolist(), found.confidence) == ([score], [breached], CONFIDENCE)


def test_rows_are_chosen_by_a_mask() -> None:
    one = judged(2.0, [0.0] * 8)
    assert one.only(np.array([True])).score.tolist() == [2.0]
    assert one.only(np.array([False])).parts.shape == (0, 8)
