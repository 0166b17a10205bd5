"""Slow storage targets: against siblings, against their own past, and hung."""

from collections.abc import Callable, Mapping

import pytest

from analytics.detectors.storage.storage_slow import CONFIDENCE, ONE_CLIENT_CONFIDENCE
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import judged

SLOW = FindingKind.STORAGE_SLOW
Latency = Callable[[int, int], tuple[float, float]]  # (target, collection) -> operations a second, seconds each


LUSTRE, DISKS = {"system": "lustre", "fs": "scratch"}, {"system": "block"}


def findings(
    targets: int, latency: Latency, collections: int = 30, system: Mapping[str, str] = LUSTRE
) -> list[Finding]:
    keys = []
    for target in range(targets):
        labels = {**system, "device": "oss1", "side": "server", "op": "write"}
        labels["target"] = f"OST{target:04x}"
        keys.append(series_key("storage_operation_duration_seconds_sum", labels))
        keys.append(series_key("storage_operation_duration_seconds_count", labels))
    rows, row = [], [0.0] * len(keys)
    for number in range(collections):
        for target in range(targets):
            rate, seconds = latency(target, number)
            row[2 * target] += 10 * rate * seconds
            row[2 * target + 1] += 10 * rate
        rows.append(list(row))
    return [found for found in judged(keys, rows, device="oss1") if isinstance(found, Finding) and found.kind is SLOW]


@pytest.mark.parametrize(
    ("targets", "latency"),
    [
        (4, lambda target, number: (100.0, 0.2 if target == 2 and number >= 28 else 0.003)),
        (4, lambda target, number: (0.0 if target == 2 and number >= 27 else 100.0, 0.003)),
        (1, lambda target, number: (100.0, 0.2 if number >= 28 else 0.003)),
        (4, lambda target, number: (600.0, 0.052 if target == 2 and number >= 29 else 0.006)),
    ],
    ids=["slower than its siblings", "hung", "slower than it was", "far slower, at the end of a checkpoint"],
)
def test_a_slow_target_is_found(targets: int, latency: Latency) -> None:
    found = findings(targets, latency)
    assert {str(each.object) for each in found} == {f"storage_target:scratch/OST000{2 if targets > 1 else 0}"}


def test_a_slow_target_stays_found_when_its_siblings_have_nothing_left_to_do() -> None:
    found = findings(
        4, lambda target, number: (100.0 if target == 2 or number < 32 else 0.0, _slow(target, number)), 45
    )
    assert {each.state for each in found} == {FindingState.ACTIVE}
    assert len({each.id for each in found}) == 1


def _slow(target: int, number: int) -> float:
    return 0.2 if target == 2 and number >= 28 else 0.003


@pytest.mark.parametrize(
    "latency",
    [
        lambda target, number: (500.0, 0.05) if number % 12 > 9 else (5.0, 0.003),
        lambda target, number: (100.0 if target == 2 else 0.0, 0.003) if number > 20 else (100.0, 0.003),
        lambda target, number: (0.0, 0.0) if number > 20 else (100.0, 0.003),
        lambda target, number: (100.0, 0.015 if target == 1 else 0.003),
        lambda target, number: (0.1 if target == 3 else 100.0, 0.003),
    ],
    ids=["checkpoints that slow all", "all wait for one", "rest", "slower, but nobody waits", "hardly used, as always"],
)
def test_what_is_normal_is_not_found(latency: Latency) -> None:
    assert findings(4, latency) == []


@pytest.mark.parametrize(("rate", "slow"), [(500.0, False), (40.0, True)], ids=["busy for others", "serves little"])
def test_a_target_that_does_as_much_as_it_can_may_take_longer(rate: float, slow: bool) -> None:
    """All have had 600 operations a second in checkpoints, so that is what each of them can do."""

    def latency(target: int, number: int) -> tuple[float, float]:
        if number % 12 == 10:
            return 600.0, 0.03
        return (rate, 0.12) if target == 2 and number >= 26 else (100.0, 0.03)

    assert bool(findings(4, latency, collections=33)) is slow


@pytest.mark.parametrize(
    ("rate", "slow"), [(590.0, False), (250.0, False), (150.0, True)], ids=["all that it can", "a burst", "a quarter"]
)
def test_the_target_of_other_clients_may_take_any_time_while_it_finishes_more_than_a_slow_one_can(
    rate: float, slow: bool
) -> None:
    """All have had 600 operations a second. At the limit queues grow without bounds: forty times those of others."""

    def latency(target: int, number: int) -> tuple[float, float]:
        if number % 12 == 10:
            return 600.0, 0.03
        return (rate, 1.2) if target == 2 and number >= 26 else (100.0, 0.03)

    assert bool(findings(4, latency, collections=33)) is slow


@pytest.mark.parametrize(("rate", "slow"), [(480.0, False), (400.0, True)], ids=["asked for more", "little more"])
def test_a_target_that_finishes_half_as_much_again_as_its_siblings_is_not_slow(rate: float, slow: bool) -> None:
    def latency(target: int, number: int) -> tuple[float, float]:
        return (rate, 0.3) if target == 2 and number >= 26 else (300.0, 0.03)

    assert bool(findings(4, latency)) is slow


@pytest.mark.parametrize(
    ("rate", "slow"), [(400.0, False), (120.0, True)], ids=["serves what is left to it", "serves little"]
)
def test_a_target_that_others_use_too_is_not_slow_in_a_burst_that_all_have(rate: float, slow: bool) -> None:
    """A checkpoint of three collections: each does what it can. One rebuilds, and other clients take some of it."""

    def latency(target: int, number: int) -> tuple[float, float]:
        if number % 12 < 9:
            return 60.0, 0.003
        return (rate, 0.2) if target == 2 and number > 30 else (600.0, 0.04)

    assert bool(findings(4, latency, collections=36)) is slow


@pytest.mark.parametrize(("rate", "found_at"), [(20.0, 32), (65.0, 33)], ids=["does little", "as much as usual"])
def test_a_target_that_is_read_first_in_a_burst_is_slow_with_its_second_sample(rate: float, found_at: int) -> None:
    def latency(target: int, number: int) -> tuple[float, float]:
        if number % 12 == 10:
            return 600.0, 0.03
        return (rate, 0.06) if target == 2 and number >= 32 else (65.0, 0.006)

    assert not findings(4, latency, collections=found_at)
    assert findings(4, latency, collections=found_at + 1)


@pytest.mark.parametrize(("rate", "found_at"), [(100.0, 28), (110.0, 29)], ids=["as much as its siblings", "more"])
def test_a_target_that_does_more_than_its_siblings_is_slow_with_its_second_sample(rate: float, found_at: int) -> None:
    def latency(target: int, number: int) -> tuple[float, float]:
        return (rate, 0.06) if target == 2 and number >= 28 else (100.0, 0.006)

    assert not findings(4, latency, collections=found_at)
    assert findings(4, latency, collections=found_at + 1)


def test_disks_of_one_host_are_judged_separately() -> None:
    assert findings(4, lambda target, number: (10.0 ** (target + 1), 0.003), system=DISKS) == []


@pytest.mark.parametrize(
    ("rate", "system", "confidence"),
    [(100.0, LUSTRE, CONFIDENCE), (5.0, LUSTRE, ONE_CLIENT_CONFIDENCE), (5.0, DISKS, CONFIDENCE)],
    ids=["many clients wait", "no more than one client has in flight", "a disk has no client elsewhere"],
)
def test_a_target_that_one_client_waits_for_has_less_confidence(
    rate: float, system: Mapping[str, str], confidence: float
) -> None:
    slow = findings(1, lambda target, number: (rate, 0.2 if number >= 28 else 0.003), system=system)
    assert [one.confidence for one in slow] == [confidence]
