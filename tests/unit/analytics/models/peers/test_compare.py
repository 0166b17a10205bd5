"""The peer comparison as a whole: which members are named, how soon, and which never are. Seeds are fixed."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.peers.compare import Learning, PeerGroups, PeerValues, compare
from analytics.models.peers.member import MEMBER, WARMUP, WIDTH
from analytics.models.peers.rules import HIGH, Rule, limits_of

LEARNING = 40
ALPHA, FOLLOW, EFFECT_MIN = 1 / 180, 180, 0.03
Floats = NDArray[np.float64]


@dataclass
class Group:
    """Members with levels of their own, in hosts of eight, compared by the logarithm."""

    size: int
    seed: int = 1
    limit: float = np.inf
    static: float = 0.03
    sigma: float = 0.02
    floor: float = 0.01
    busy: float = -np.inf
    whole: bool = True
    reported: tuple[int, ...] = ()
    state: NDArray[np.float32] = field(init=False)
    levels: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.state = np.zeros((self.size, WIDTH), np.float32)
        self.levels = 0.5 * np.exp(self.static * self.rng.normal(size=self.size))

    def step(self, factors: Floats | float = 1.0, present: NDArray[np.int64] | None = None, tag: int = 7) -> set[int]:
        """The members named after one more sample of those present; factors: on the levels of all."""
        rows = np.arange(self.size) if present is None else present
        values = self.levels * factors * np.exp(self.sigma * self.rng.normal(size=self.size))
        score, normal = np.empty(rows.size), np.empty(rows.size)
        starts, tags = np.array([0, rows.size]), np.full(rows.size, tag)
        new, hosts, logs = np.ones(rows.size, bool), rows // 8, np.log(values[rows])
        rule = Rule("", "job", HIGH, None, self.floor, EFFECT_MIN, self.limit, self.busy, whole=self.whole)
        groups = PeerGroups(starts, np.zeros_like(rows), limits_of([rule]), tags, hosts)
        given = PeerValues(logs, new, rows, np.isin(rows, self.reported))
        compare(groups, given, self.state, Learning(ALPHA, FOLLOW), score, normal)
        self.idle = bool(np.isnan(score).any())
        return set(rows[score >= 1.0].tolist())

    def learn(self, steps: int = LEARNING, factors: Floats | float = 1.0) -> set[int]:
        return set().union(*(self.step(factors) for _ in range(steps)))


def worse(group: Group, members: list[int], factor: float) -> Floats:
    factors = np.ones(group.size)
    factors[members] = factor
    return factors


@pytest.mark.parametrize("size", [4, 8, 64, 512, 8192])
@pytest.mark.parametrize("effect", [0.15, 0.3])
def test_one_is_named_within_three_samples_and_nobody_else(size: int, effect: float) -> None:
    group = Group(size)
    assert group.learn() == set()
    named = [group.step(worse(group, [size // 2], 1 + effect)) for _ in range(3)]
    assert named[-1] == {size // 2}
    assert set().union(*named) == {size // 2}


def test_a_small_effect_takes_longer_and_is_found() -> None:
    group = Group(64)
    group.learn()
    named = [group.step(worse(group, [9], 1.06)) for _ in range(15)]
    assert set().union(*named) == {9}


@pytest.mark.parametrize("size", [8, 64, 1024, 8192])
@pytest.mark.parametrize("apart", [0.01, 0.03])
def test_five_per_cent_are_named_within_three_samples_however_far_apart_members_usually_are(
    size: int, apart: float
) -> None:
    found = []
    for seed in range(8):
        group = Group(size, seed, limit=0.05, static=apart, sigma=0.01, floor=0.005)
        assert group.learn(60) == set()
        named = set().union(*(group.step(worse(group, [size // 2], 1.05)) for _ in range(3)))
        assert named <= {size // 2}
        found.append(size // 2 in named)
    assert sum(found) >= 7


@pytest.mark.parametrize("size", [4, 8, 16, 64])
def test_members_that_always_differed_are_not_named_in_small_groups(size: int) -> None:
    """The scale of few members is estimated badly."""
    for seed in range(20):
        assert Group(size, seed, limit=0.05, sigma=0.01, floor=0.005).learn(60) == set()


def test_heavy_tails_raise_the_limit() -> None:
    """Shocks that last a few samples are usual for these members."""

    def names(group: Group) -> int:
        slow, count = np.zeros(group.size), 0
        for _ in range(300):
            slow = 0.7 * slow + 0.005 * group.rng.standard_t(4, size=group.size)
            count += len(group.step(np.exp(slow)))
        return count

    assert sum(names(Group(256, seed, sigma=0.01, floor=0.005)) for seed in range(2)) < 30


def test_a_fault_is_found_while_one_kind_changes_its_pace() -> None:
    group = Group(64, sigma=0.01, floor=0.005)
    group.levels[:32] *= 0.4
    group.learn()
    slower = worse(group, list(range(32)), 0.5)
    named = [group.step(slower * worse(group, [3, 40], 1.08)) for _ in range(3)]
    assert named[-1] == {3, 40}


def test_an_idle_group_is_not_scored() -> None:
    group = Group(16, busy=0.0)
    group.step()
    assert group.idle
    group.levels *= 100.0
    group.step()
    assert not group.idle


def test_the_size_of_an_effect_is_measured_from_its_first_sample() -> None:
    group = Group(64, sigma=0.002, floor=0.005)
    group.learn()
    named = [group.step(worse(group, [9], 1.035)) for _ in range(3)]
    assert named[-1] == {9}


def test_one_sample_names_nobody() -> None:
    group = Group(64)
    group.learn()
    assert group.step(worse(group, [9], 3.0)) == set()
    assert group.learn(5) == set()


@pytest.mark.parametrize(("size", "outliers"), [(8, 2), (64, 21), (512, 170)])
def test_a_third_at_once_do_not_hide_each_other(size: int, outliers: int) -> None:
    group, members = Group(size, sigma=0.01), list(range(0, 3 * outliers, 3))
    group.learn()
    named = [group.step(worse(group, members, 1.1)) for _ in range(3)]
    assert named[-1] == set(members)


@pytest.mark.parametrize("factor", [0.2, 0.7, 1.5])
def test_a_group_that_changes_together_has_no_outlier(factor: float) -> None:
    group = Group(64)
    group.learn()
    assert group.learn(20, factor) == set()


def test_each_is_compared_with_its_own_mode() -> None:
    group = Group(64)
    group.levels[:32] *= 0.4
    assert group.learn() == set()
    first_kind = worse(group, list(range(32)), 0.6)
    assert group.learn(10, first_kind) == set(), "the first mode slows as a whole"
    named = [group.step(first_kind * worse(group, [3, 40], 1.2)) for _ in range(4)]
    assert named[-1] == {3, 40}


def test_three_members_that_were_always_different_are_not_named() -> None:
    group = Group(24)
    group.levels[:3] *= 1.5
    assert group.learn(200) == set()


def test_a_limit_names_a_member_that_was_always_an_outlier() -> None:
    group = Group(16, limit=0.15, static=0.0)
    group.levels[5] *= 1.4
    assert group.learn(WARMUP) == {5}


def test_members_leave_and_come_back_with_their_past() -> None:
    group = Group(16)
    group.levels[5] *= 1.3
    group.learn()
    others = np.array([member for member in range(16) if member != 5])
    for _ in range(30):
        assert group.step(present=others) == set()
    assert group.learn(10) == set()
    assert group.state.view(MEMBER)[5]["count"] > LEARNING, "its usual offset was learned again"


def test_in_a_new_group_a_member_starts_from_zero() -> None:
    group = Group(16)
    group.learn()
    group.levels[5] *= 1.3
    assert set().union(*(group.step(tag=8) for _ in range(10))) == set()


def test_an_effect_that_is_over_is_forgotten() -> None:
    group = Group(64)
    group.learn()
    group.learn(20, worse(group, [9], 1.3))
    assert [group.step() for _ in range(4)][-1] == set()


def test_an_offset_that_lasts_becomes_the_usual_one() -> None:
    group = Group(16)
    group.learn()
    named = [group.step(worse(group, [5], 1.3)) for _ in range(FOLLOW + WARMUP + 10)]
    assert 5 in named[20]
    assert named[-1] == set()


def test_an_offset_that_is_reported_becomes_no_usual_one() -> None:
    group = Group(16)
    group.learn()
    named = [group.step(worse(group, [5], 1.3)) for _ in range(20)]
    group.reported = (5,)
    named += [group.step(worse(group, [5], 1.3)) for _ in range(2 * FOLLOW)]
    assert all(5 in each for each in named[20:])
    group.learn(4)
    assert 5 not in group.learn(40)


def test_a_fault_is_found_after_an_offset_has_become_usual() -> None:
    group = Group(16, sigma=0.01, floor=0.005)
    group.learn()
    group.learn(FOLLOW + 30, worse(group, [5], 1.3))
    named = [group.step(worse(group, [5], 1.3 * 1.08)) for _ in range(3)]
    assert named[-1] == {5}


def test_a_whole_host_needs_more_than_two_samples() -> None:
    """Its members are read at one moment, which may differ from that of the others."""
    group = Group(64)
    group.learn()
    host = worse(group, list(range(8)), 2.0)
    assert group.step(host) == set()
    assert group.step(host) == set()
    assert set().union(*(group.step(host) for _ in range(4))) == set(range(8))


def test_fewer_than_four_are_no_group() -> None:
    group = Group(3)
    group.learn()
    assert group.learn(10, worse(group, [1], 3.0)) == set()
