"""What is left of a group's values without its median, modes, hosts and usual offsets, by hand."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.peers.compare import Learning, PeerGroups, PeerValues, bounds_of, compare, run_lengths
from analytics.models.peers.member import MEMBER, WIDTH
from analytics.models.peers.residuals import median_by_host, median_by_kind, residuals_of
from analytics.models.peers.rules import HIGH, LOW, Rule, limits_of

Floats = NDArray[np.float64]
RULE = Rule("", "job", HIGH, None, floor=0.1, effect=1.0)


def known(usual: list[float], noise: float = 0.0, ewma_fourth: float = 0.0) -> NDArray[np.void]:
    """Members past their warm-up."""
    members = np.zeros(len(usual), MEMBER)
    members["usual"], members["count"], members["noise"], members["ewma_fourth"] = usual, 100.0, noise, ewma_fourth
    return members


def hosts_of(size: int) -> NDArray[np.int64]:
    return np.arange(size)


def test_medians_of_each_kind() -> None:
    values, upper = np.array([1.0, 2.0, 9.0, 50.0, 70.0]), np.array([False, False, False, True, True])
    everyone = np.ones(5, bool)
    assert median_by_kind(values, upper, everyone).tolist() == [2.0, 2.0, 2.0, 60.0, 60.0]
    some = np.array([True, True, False, False, False])
    assert median_by_kind(values, upper, some).tolist() == [1.5, 1.5, 1.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([1, 1, 1, 2, 2], [2.0, 2.0, 2.0, 0.0, 0.0]),  # two members have no median of their own
        ([1, 1, 1, 1, 1], [0.0] * 5),  # the only host is the group
        ([1, 1, 2, 2, 2], [0.0, 0.0, 40.0, 40.0, 40.0]),
    ],
)
def test_medians_of_each_host(hosts: list[int], expected: list[float]) -> None:
    assert median_by_host(np.array([1.0, 2.0, 9.0, 40.0, 70.0]), np.array(hosts)).tolist() == expected


def test_residuals_are_what_the_usual_offsets_do_not_explain() -> None:
    members = known([-1.0, -0.5, 0.0, 0.5, 1.0])
    found = residuals_of(members, np.array([-1.0, -0.5, 0.0, 0.5, 4.0]), hosts_of(5), limits_of([RULE])[0])
    assert found.residuals.tolist() == pytest.approx([0.0, 0.0, 0.0, 0.0, 3.0])
    assert found.kinds.tolist() == [0.0] * 5
    assert found.noise == 0.1, "the floor of the rule"


def test_a_jump_of_the_median_is_no_residual() -> None:
    """Two of five left; the median is another member's value now."""
    found = residuals_of(known([-1.0, 0.0, 1.0]), np.array([-2.0, -1.0, 0.0]), hosts_of(3), limits_of([RULE])[0])
    assert found.at.tolist() == [-1.0, 0.0, 1.0]
    assert found.residuals.tolist() == [0.0, 0.0, 0.0]


def test_a_new_member_has_no_residual() -> None:
    members = known([0.0, 0.0, 0.0, 0.0])
    members["count"][3] = 0.0
    found = residuals_of(members, np.array([0.0, 0.0, 0.0, 8.0]), hosts_of(4), limits_of([RULE])[0])
    assert found.usual.tolist() == [0.0, 0.0, 0.0, 8.0]
    assert found.residuals.tolist() == [0.0] * 4
    assert found.known.tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("noise", "fourth", "expected"), [(0.2, 0.0, 1.2533 * 0.2), (0.0, 0.5**4, 0.5), (0.01, 0.0, 0.1)]
)
def test_the_noise_is_that_of_the_members_and_at_least_the_floor(noise: float, fourth: float, expected: float) -> None:
    found = residuals_of(known([0.0] * 4, noise, fourth), np.zeros(4), hosts_of(4), limits_of([RULE])[0])
    assert found.noise == pytest.approx(expected, rel=1e-6)


def test_the_noise_of_the_moment_counts_for_three_quarters() -> None:
    at = np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3])
    found = residuals_of(known([0.0] * 7), at, hosts_of(7), limits_of([RULE])[0])
    assert found.noise == pytest.approx(0.75 * 1.4826 * 0.2)


def test_outliers_do_not_pull_the_median() -> None:
    """Three of seven are at 9: the median of the others is 0.2."""
    at = np.array([0.0, 0.1, 0.3, 0.4, 9.0, 9.0, 9.0]) - 0.4
    found = residuals_of(known([0.0] * 7), at, hosts_of(7), limits_of([RULE])[0])
    assert found.residuals[:4].tolist() == pytest.approx([-0.2, -0.1, 0.1, 0.2])


@pytest.mark.parametrize(("whole", "residual"), [(True, 2.0), (False, 0.0)])
def test_what_a_host_has_in_common_is_left_out_where_the_rule_wants_it(whole: bool, residual: float) -> None:
    rule = Rule("", "job", HIGH, None, floor=0.1, effect=1.0, whole=whole)
    at = np.array([0.0] * 5 + [2.0] * 3)
    found = residuals_of(known([0.0] * 8), at, np.array([0] * 5 + [1] * 3), limits_of([rule])[0])
    assert found.residuals[5:].tolist() == pytest.approx([residual] * 3)


@pytest.mark.parametrize(
    ("size", "offsets", "limit", "expected"),
    [
        (8, 0.0, 0.0, 0.1 * (6.0 + 500.0 / 64.0)),  # of the floor; 14 scales in a group of 8
        (100, 0.3, 0.0, 1.4826 * 0.3 * 6.05),
        (100, 0.3, 5.0, 5.0),
    ],
)
def test_the_limit_is_in_scales_of_the_usual_offsets(size: int, offsets: float, limit: float, expected: float) -> None:
    rule = Rule("", "job", HIGH, None, floor=0.1, effect=1.0, limit=limit)
    usual = np.resize([-offsets, offsets], size)
    assert bounds_of(usual, limits_of([rule])[0]).limit == pytest.approx(expected)


@pytest.mark.parametrize("size", [8, 8192])
def test_the_alarm_gives_one_false_alarm_of_a_group_a_month(size: int) -> None:
    """Siegmund (1985): a CUSUM with slack k reaches h after (exp(2 k (h + 1.166)) - …) / (2 k²) samples on average."""
    alarm = bounds_of(np.zeros(size), limits_of([RULE])[0]).alarm
    k, h = 1.25, alarm + 1.166
    samples = (math.exp(2.0 * k * h) - 2.0 * k * h - 1.0) / (2.0 * k * k)
    assert samples / size == pytest.approx(260_000.0, rel=1e-4)


def test_rules_become_records_with_logarithms_where_values_are() -> None:
    ratio = Rule("", "job", LOW, least=1e-3, floor=0.01, effect=0.05, limit=0.2, busy=100.0, whole=False)
    (plain, by_ratio) = limits_of([RULE, ratio])
    assert plain.tolist() == (0.1, 1.0, math.inf, -math.inf, 1.0, 1.0)
    assert by_ratio.tolist() == (0.01, 0.05, 0.2, math.log(100.0), -1.0, 0.0)


def scores(values: Floats, state: NDArray[np.float32], rule: Rule = RULE) -> tuple[Floats, Floats]:
    n = values.size
    rows, score, normal = np.arange(n), np.empty(n), np.empty(n)
    groups = PeerGroups(np.array([0, n]), np.zeros_like(rows), limits_of([rule]), np.full(n, 3), rows)
    compare(
        groups, PeerValues(values, np.ones(n, bool), rows, np.zeros(n, bool)), state, Learning(0.01, 60), score, normal
    )
    return score, normal


def test_scores_and_normal_values_of_one_step() -> None:
    state = np.zeros((8, WIDTH), np.float32)
    members = state.view(MEMBER)[:, 0]
    members["usual"], members["count"], members["group"] = [0.0] * 6 + [1.0, 0.0], 100.0, 3.0
    members["cusum"][7], members["run"][7], members["effect"][7] = 4.0, 2.0, 2.0
    score, normal = scores(np.array([5.0] * 6 + [6.0, 7.0]), state)
    alarm = bounds_of(np.zeros(8), limits_of([RULE])[0]).alarm
    assert score[:7].tolist() == [0.0] * 7
    assert score[7] == pytest.approx((4.0 + 0.55 * alarm) / alarm)
    assert normal.tolist() == [5.0] * 6 + [6.0, 5.0]
    assert run_lengths(state).tolist() == [0] * 7 + [3]


def test_an_effect_below_the_one_that_matters_is_not_named() -> None:
    state = np.zeros((8, WIDTH), np.float32)
    members = state.view(MEMBER)[:, 0]
    members["count"], members["group"], members["cusum"][7], members["run"][7] = 100.0, 3.0, 9.0, 9.0
    members["effect"][7] = 0.5
    score, _ = scores(np.array([5.0] * 7 + [5.5]), state)
    assert score[7] == pytest.approx(0.5)


def test_a_member_that_was_always_beyond_the_limit_is_named_against_its_kind() -> None:
    state = np.zeros((8, WIDTH), np.float32)
    members = state.view(MEMBER)[:, 0]
    members["count"], members["group"], members["run"][7], members["usual"][7] = 100.0, 3.0, 2.0, 6.0
    limited = Rule("", "job", HIGH, None, floor=0.1, effect=1.0, limit=4.0)
    score, normal = scores(np.array([5.0] * 7 + [11.0]), state, limited)
    assert score[7] == pytest.approx(6.0 / 4.0)
    assert normal[7] == 5.0


@pytest.mark.parametrize(("worse", "median", "idle"), [(HIGH, 9.0, True), (HIGH, 10.0, False), (LOW, -9.0, True)])
def test_a_group_below_its_busy_median_is_idle(worse: float, median: float, idle: bool) -> None:
    rule = Rule("", "job", worse, None, floor=0.1, effect=1.0, busy=10.0)
    score, _ = scores(np.full(8, median), np.zeros((8, WIDTH), np.float32), rule)
    assert np.isnan(score).all() == idle
