"""Where the time between a fault and its first page goes, by the clock that the judge of pages has."""

import math
from dataclasses import astuple, dataclass
from itertools import pairwise

from common.units import NS_PER_S
from evaluation.families.paging import Page
from evaluation.families.run_plan import FamilyRun


@dataclass(frozen=True, slots=True)
class Delay:
    """Seconds of each part, one after the other; together what the first page took.

    sample: until the first sample that a detector counts from, so the wait for a collection, and for the fault to show.
    persistence: until the sample with which the first finding of the incident was certain.
    closing: until that finding was published: the rest of its tick, and the holdback.
    hold: until the incident fired. page: from there until it went out: until it was more than info, mostly.
    """

    sample_s: float
    persistence_s: float
    closing_s: float
    hold_s: float
    page_s: float

    @property
    def total_s(self) -> float:
        return math.fsum(astuple(self))


def delay_of(page: Page, begins_ns: int, run: FamilyRun) -> Delay | None:
    """Of a page about a fault that begins at ``begins_ns``; None where all that the incident rests on is older.

    The finding that counts is the first that was published after the begin, of those that the incident had when it
    fired.
    """
    fired = run.notices[page.incident.id]
    published = {
        found: run.published_ns[found]
        for found in fired.incident.findings
        if begins_ns <= run.published_ns.get(found, -1) <= fired.at_ns
    }
    if not published:
        return None
    first = run.findings[min(published, key=lambda found: (published[found], run.findings[found].onset_ns, found))]
    times_ns = [begins_ns]
    for at_ns in (first.onset_ns, first.observed_ns, published[first.id], fired.at_ns, page.at_ns):
        times_ns.append(max(times_ns[-1], at_ns))
    return Delay(*((after - before) / NS_PER_S for before, after in pairwise(times_ns)))
