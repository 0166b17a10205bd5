"""The judge of ``make crash`` notices each kind of error: on evidence that is made up, with one error at a time."""

from dataclasses import replace

import pytest

from tests.acceptance.crash.judge import IN_MEMORY_S_MAX, Evidence, judge_samples, recovery_s
from tests.acceptance.crash.samples import SERIES, UNREADABLE, Sample, device_of, interface_of, sample_of, value_of

PAGES = {(0, 1): 10.0, (0, 2): 20.0, (1, 1): 30.0}
SAMPLES = [Sample(target, series, number) for target, number in PAGES for series in range(SERIES)]
COLLECTED = [(f"{sample.page}", sample) for sample in SAMPLES]
WRITTEN = [(1000 * sample.number, sample) for sample in SAMPLES]
ALL_IS_WELL = Evidence(
    sent=PAGES, read=frozenset(PAGES), bus=COLLECTED, written=WRITTEN, recorded=COLLECTED, ingest_kills=[15.0]
)
NEVER_SERVED = Sample(0, 0, 9)


def test_what_arrived_once_everywhere_is_in_order():
    verdict = judge_samples(ALL_IS_WELL)
    assert verdict.passed
    assert (verdict.served, verdict.in_memory, verdict.repeated) == (len(SAMPLES), 0, 0)


@pytest.mark.parametrize(
    ("changed", "figure"),
    [
        ({"written": WRITTEN[1:]}, "lost"),
        ({"recorded": COLLECTED[1:]}, "lost"),
        ({"bus": [*COLLECTED, ("another collection", SAMPLES[0])]}, "doubled"),
        ({"written": [*WRITTEN, (7, SAMPLES[0])]}, "doubled"),
        ({"recorded": [*COLLECTED, ("another collection", SAMPLES[0])]}, "doubled"),
        ({"written": [*WRITTEN, (7, NEVER_SERVED)]}, "invented"),
        ({"written": [*WRITTEN, (7, UNREADABLE)]}, "invented"),
        ({"recorded": [*COLLECTED, ("another collection", NEVER_SERVED)]}, "invented"),
        ({"bus": COLLECTED[:-1], "written": WRITTEN[:-1], "recorded": COLLECTED[:-1]}, "unaccounted"),
    ],
)
def test_one_wrong_sample_is_noticed(changed, figure):
    verdict = judge_samples(replace(ALL_IS_WELL, **changed))
    assert not verdict.passed
    counts = {name: getattr(verdict, name) for name in ("lost", "doubled", "invented", "unaccounted")}
    assert counts == {**dict.fromkeys(counts, 0), figure: 1}


def test_what_was_on_the_bus_and_in_no_place_after_it_is_lost_twice():
    assert judge_samples(replace(ALL_IS_WELL, written=WRITTEN[1:], recorded=COLLECTED[1:])).lost == 2


@pytest.mark.parametrize(
    ("kill", "in_memory", "unaccounted"),
    [(20.5, 1, 0), (20 + IN_MEMORY_S_MAX, 1, 0), (20.1 + IN_MEMORY_S_MAX, 0, 1), (19.9, 0, 1)],
)
def test_a_page_is_excused_only_shortly_before_a_kill_of_ingest(kill, in_memory, unaccounted):
    gone = [(at, sample) for at, sample in COLLECTED if sample != Sample(0, 0, 2)]
    written = [(at, sample) for at, sample in WRITTEN if sample != Sample(0, 0, 2)]
    changed = replace(ALL_IS_WELL, bus=gone, recorded=gone, written=written, ingest_kills=[kill])
    verdict = judge_samples(changed)
    assert (verdict.in_memory, verdict.unaccounted) == (in_memory, unaccounted)
    assert verdict.in_memory_s == pytest.approx((kill - 20) * in_memory)


def test_a_repetition_that_readers_can_tell_is_no_error():
    changed = replace(ALL_IS_WELL, bus=[*COLLECTED, COLLECTED[0]], written=[*WRITTEN, WRITTEN[0]])
    verdict = judge_samples(changed)
    assert verdict.passed
    assert verdict.repeated == 2


def test_what_was_set_aside_is_not_lost():
    changed = replace(ALL_IS_WELL, written=WRITTEN[1:], recorded=COLLECTED[1:], set_aside=frozenset({SAMPLES[0]}))
    assert judge_samples(changed).passed


def test_a_page_that_was_not_read_to_its_end_may_be_missing():
    last = SERIES
    changed = replace(
        ALL_IS_WELL,
        read=frozenset(PAGES) - {(1, 1)},
        bus=COLLECTED[:-last],
        written=WRITTEN[:-last],
        recorded=COLLECTED[:-last],
    )
    assert judge_samples(changed).passed


def test_recovery_is_from_the_last_kill_until_a_page_that_was_sent_after_it_arrives():
    arrived = [(12.0, SAMPLES[0]), (24.0, Sample(0, 0, 2)), (31.0, Sample(1, 0, 1))]
    assert recovery_s([15.0, 20.0, 40.0], ALL_IS_WELL, arrived) == [4.0, float("inf")]


def test_a_value_says_which_page_it_is_from():
    for sample in SAMPLES:
        labels = device_of(sample.target), interface_of(sample.series)
        assert sample_of(*labels, float(value_of(sample))) == sample
        assert sample_of(labels[0], "eth99", float(value_of(sample))) == UNREADABLE
    assert sample_of("numbered0", "eth0", 0.5) == UNREADABLE
