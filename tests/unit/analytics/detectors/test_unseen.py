"""Without load a port or GPU shows nothing: what was found of it goes on until it was seen to be well with load."""

import pytest

from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from tests.unit.analytics.detectors.test_reported import (
    PAUSED,
    PAUSING,
    QUEUE,
    QUIET,
    counters,
    of_kind,
)
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, port_key

BROKEN, IDLE = 20, 60  # intervals
SENDING, RECEIVING = (port_key(f"fabric_port_{way}_bytes_total") for way in ("transmit", "receive"))
BAD_FRAMES = port_key("fabric_port_fcs_errors_total")
BAD_CODEWORDS = port_key("fabric_port_fec_uncorrectable_codewords_total")
GPU = {"device": "leaf1", "gpu": "GPU-0"}
THROTTLED = series_key("gpu_throttle_seconds_total", {**GPU, "reason": "hw_thermal"})
DRAWING = series_key("gpu_energy_joules_total", GPU)
FULL, NEXT_TO_NOTHING = 1e10, 1e7  # bytes a second, joules a second

Shown = tuple[FindingKind, list[str], list[float], str]  # kind, series, their rates while it is bad, what is carried
CASES: dict[str, Shown] = {
    "paused, by time": (FindingKind.PFC_PAUSE_RECEIVED, [PAUSED], [0.3], SENDING),
    "pausing, by frames": (FindingKind.PFC_PAUSE_SENT, [PAUSING], [30_000.0], RECEIVING),
    "bad frames": (FindingKind.LINK_ERRORS, [BAD_FRAMES], [2.0], RECEIVING),
    "throttled by heat": (FindingKind.GPU_THROTTLED, [THROTTLED], [0.9], DRAWING),
}


def found(shown: Shown, *phases: tuple[int, bool, float]) -> list[Finding]:
    """After a quiet time phases of so many intervals, bad or not, with so much load."""
    kind, keys, bad, load = shown
    phases = ((QUIET, False, FULL), *phases)
    rates = [[rate if is_bad else 0.0 for n, is_bad, _ in phases for _ in range(n)] for rate in bad]
    carried = [each for n, _, each in phases for _ in range(n)]
    return of_kind(kind, [*keys, load], counters(*rates, carried))


def interval_of(finding: Finding) -> float:
    return (finding.observed_ns - START_NS) / SECOND / INTERVAL_S


@pytest.mark.parametrize("shown", CASES.values(), ids=CASES)
def test_what_is_still_broken_when_the_load_is_back_is_the_same_finding(shown: Shown) -> None:
    """Ten minutes in which the job waits for something else, a checkpoint for one."""
    versions = found(shown, (BROKEN, True, FULL), (IDLE, False, NEXT_TO_NOTHING), (BROKEN, True, FULL))
    assert len({each.id for each in versions}) == 1
    assert {each.state for each in versions} == {FindingState.ACTIVE}
    unseen = [interval_of(each) for each in versions if each.unloaded_since_ns]
    assert QUIET + BROKEN < min(unseen) <= QUIET + BROKEN + 6
    assert not versions[-1].unloaded_since_ns


@pytest.mark.parametrize("shown", CASES.values(), ids=CASES)
def test_what_is_well_with_load_again_is_over(shown: Shown) -> None:
    versions = found(shown, (BROKEN, True, FULL), (IDLE, False, NEXT_TO_NOTHING), (BROKEN, False, FULL))
    (cleared,) = [each for each in versions if each.state is FindingState.CLEARED]
    assert 0 < interval_of(cleared) - (QUIET + BROKEN + IDLE) <= 10
    assert cleared.unloaded_since_ns == 0


@pytest.mark.parametrize("shown", CASES.values(), ids=CASES)
def test_with_load_it_is_over_as_soon_as_ever(shown: Shown) -> None:
    (cleared,) = [each for each in found(shown, (BROKEN, True, FULL), (BROKEN, False, FULL)) if not each.score >= 1.0]
    assert 2 <= interval_of(cleared) - (QUIET + BROKEN) < 7


@pytest.mark.parametrize("shown", CASES.values(), ids=CASES)
def test_a_port_that_nobody_uses_any_more_says_since_when_it_is_not_seen(shown: Shown) -> None:
    """Half an hour is what a new level takes."""
    versions = found(shown, (BROKEN, True, FULL), (220, False, NEXT_TO_NOTHING))
    (cleared,) = [each for each in versions if each.state is FindingState.CLEARED]
    assert 180 <= interval_of(cleared) - (QUIET + BROKEN) <= 190
    assert 0 <= (cleared.unloaded_since_ns - START_NS) / SECOND / INTERVAL_S - (QUIET + BROKEN) < 2
    assert len(versions) < 60  # one each minute says that it is still so


def test_what_carries_nothing_while_it_is_broken_needs_no_load() -> None:
    versions = found(CASES["paused, by time"], (BROKEN, True, 0.0), (BROKEN, False, 0.0))
    assert versions[-1].state is FindingState.CLEARED


def test_a_throttled_gpu_that_draws_half_as_much_while_its_job_waits_is_not_repaired() -> None:
    """A quarter is too little for a port, half for a GPU: so many kelvin less keep it from slowing down."""
    versions = found(CASES["throttled by heat"], (BROKEN, True, FULL), (IDLE, False, 0.45 * FULL))
    assert versions[-1].unloaded_since_ns
    versions = found(CASES["throttled by heat"], (BROKEN, True, FULL), (IDLE, False, 0.55 * FULL))
    assert versions[-1].state is FindingState.CLEARED


def test_fec_that_is_counted_shows_without_frames_that_a_link_is_well() -> None:
    rates = [[0.0] * QUIET + [2.0] * BROKEN + [0.0] * BROKEN] * 2
    carried = [FULL] * (QUIET + BROKEN) + [NEXT_TO_NOTHING] * BROKEN
    keys = [BAD_FRAMES, BAD_CODEWORDS, RECEIVING]
    assert of_kind(FindingKind.LINK_ERRORS, keys, counters(*rates, carried))[-1].state is FindingState.CLEARED


def test_less_load_than_the_fault_itself_is_enough() -> None:
    """An incast fills a port that is mostly half empty."""
    shown = CASES["paused, by time"]
    versions = found(shown, (BROKEN, True, 5 * FULL), (BROKEN, False, FULL))
    assert versions[-1].state is FindingState.CLEARED
    assert interval_of(versions[-1]) - (QUIET + BROKEN) < 7


def test_load_is_what_makes_a_queue_long() -> None:
    """So a queue that is short without it shows that it is over."""
    heights = [1e4] * QUIET + [7.5e6] * BROKEN + [1e4] * BROKEN
    carried = [FULL] * (QUIET + BROKEN) + [NEXT_TO_NOTHING] * BROKEN
    rows = [[height, *row] for height, row in zip(heights, counters(carried), strict=True)]
    assert of_kind(FindingKind.QUEUE_CONGESTED, [QUEUE, SENDING], rows)[-1].state is FindingState.CLEARED
