"""Compares what was served with what arrived. Pure: what it looks at was gathered by others.

Delivery on the bus and to a remote-write receiver is at least once. So what comes again *as a repetition* is no
error: on the bus the same collection (target, start of the collector's run, sequence number), at a receiver the same
series, time and value, which Prometheus takes as one. A sample counts as doubled where readers cannot tell: it is in
two different collections, or at two different times.

A page that was read and was in memory alone when its process was killed is gone: nothing acknowledged it. That is
allowed for as long as ``IN_MEMORY_S_MAX`` before a kill of ingest, and has its own figure. Everything else that was
read and is not on the bus is unaccounted.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.acceptance.crash.samples import SERIES, Sample

Page = tuple[int, int]
IN_MEMORY_S_MAX = 5.0  # what the bus does not take goes to the disk after 1 s; the rest is a busy machine


@dataclass
class Evidence:
    """What is known without the program's own counts.

    sent: when each page was sent, in seconds. read: the pages of which the client has read the whole answer.
    bus, recorded: collections and their samples. written: samples and their times (ms) at the remote-write receiver.
    set_aside: samples among the dead letters. ingest_kills: when ingest was killed, in order.
    """

    sent: Mapping[Page, float] = field(default_factory=dict)
    read: frozenset[Page] = frozenset()
    bus: Sequence[tuple[str, Sample]] = ()
    written: Sequence[tuple[int, Sample]] = ()
    recorded: Sequence[tuple[str, Sample]] = ()
    set_aside: frozenset[Sample] = frozenset()
    ingest_kills: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class SampleVerdict:
    """Samples by what became of them; only ``served``, ``in_memory``, ``repeated`` and ``set_aside`` may be above 0.

    lost: on the bus, and neither at the receiver nor in the recording nor set aside; each of both counts.
    in_memory_s: the longest time between a page that a kill took from the memory of ingest and that kill.
    """

    served: int
    lost: int
    doubled: int
    invented: int
    unaccounted: int
    in_memory: int
    in_memory_s: float
    repeated: int
    set_aside: int

    @property
    def passed(self) -> bool:
        return not (self.lost or self.doubled or self.invented or self.unaccounted)


def judge_samples(evidence: Evidence) -> SampleVerdict:
    bus, written = set(evidence.bus), set(evidence.written)
    recorded = set(evidence.recorded)
    on_bus, at_receiver, in_recording = ({sample for _, sample in found} for found in (bus, written, recorded))
    read = {Sample(target, series, number) for target, number in evidence.read for series in range(SERIES)}
    ages = [_until_a_kill(evidence, sample) for sample in read - on_bus]
    in_memory = [age for age in ages if age <= IN_MEMORY_S_MAX]
    expected = on_bus - evidence.set_aside
    return SampleVerdict(
        served=len(read),
        lost=len(expected - at_receiver) + len(expected - in_recording),
        doubled=_doubled(bus) + _doubled(written) + _doubled(recorded),
        invented=sum(sample.page not in evidence.sent for sample in on_bus | at_receiver | in_recording),
        unaccounted=len(ages) - len(in_memory),
        in_memory=len(in_memory),
        in_memory_s=max(in_memory, default=0.0),
        repeated=len(evidence.bus) - len(bus) + len(evidence.written) - len(written),
        set_aside=len(evidence.set_aside),
    )


def _doubled(found: Iterable[tuple[object, Sample]]) -> int:
    return sum(times - 1 for times in Counter(sample for _, sample in found).values())


def _until_a_kill(evidence: Evidence, sample: Sample) -> float:
    """Seconds from when its page was sent to the next kill of ingest; infinite without one."""
    at = evidence.sent[sample.page]
    following = bisect_left(evidence.ingest_kills, at)
    return evidence.ingest_kills[following] - at if following < len(evidence.ingest_kills) else float("inf")


def recovery_s(kills: Sequence[float], evidence: Evidence, arrived: Iterable[tuple[float, Sample]]) -> list[float]:
    """From a kill until the receiver has a sample of a page that was sent after it.

    Of kills with no such sample in between, the last one counts. Infinite where none came.
    """
    waiting, found = deque(sorted(kills)), []
    for at, sample in sorted(arrived):
        sent_at, last = evidence.sent.get(sample.page, 0.0), None
        while waiting and waiting[0] <= sent_at:
            last = waiting.popleft()
        if last is not None:
            found.append(at - last)
    return [*found, float("inf")] if waiting else found
