"""When a job writes its checkpoints and how long they hold it up, learned from the pauses that it makes by itself.

A pause is a stretch in which fewer kernels run than usual; it is a checkpoint if the job's file system is written to
meanwhile. Checkpoints that do not stop the job (asynchronous ones) are not seen.
"""

import math
from dataclasses import dataclass, replace
from statistics import median, median_low
from typing import NamedTuple

_DIP = 0.1  # of the usual share of time with kernels: training runs kernels all the time
_SCALES = 4.0 * 1.4826  # robust standard deviations, for jobs with an uneven load
_USUAL_MIN, _USUAL_MAX = 6, 60
_KEPT = 12  # checkpoints
# Of the usual share of time with kernels: a job that writes stops all its GPUs. One that waits for its data between
# iterations, or of which some hosts were read before and some after, shows more (assumption).
_STANDS = 0.5
LATE_TIMES = 2.0  # as long as usual
CHECKPOINTS_MIN = 3  # before their usual length is known: one of them may be late, or no checkpoint
PERIODS_MIN = 3
_RESTS_MIN = 3  # as for checkpoints
# Share of the usual time with kernels that each checkpoint costs at least: only then a missing one is noticed.
_DIP_SEEN = 0.25
_REGULAR = 0.25  # of the median period: a job whose periods differ by more has no period
_FORGET_PERIODS = 6  # without a checkpoint: the job has stopped writing them
_TRICKLE = 0.1  # of the peak of this pause: less is written by those who have not finished yet
# Of the usual peak of this job's checkpoints: what is written during a pause and is less was written by others. Members
# write at once and as fast as the file system takes it; that three of four targets are slow leaves a quarter.
_PEAK_SHARE = 0.25
# Of each NIC of a host whose job stands still: who writes sends more than the first, as heartbeats, logs and metrics
# are less, and who is done sends less than the second. All send alike where each sends as much as the others, give or
# take (assumptions).
WRITES_BYTES_PER_SECOND, DONE_BYTES_PER_SECOND = 10e6, 2e6
ALIKE_TIMES = LATE_TIMES
# Of a checkpoint without a known length: loading and checkpoints mostly take less (assumption, as for a stalled job).
UNKNOWN_LENGTH_NS = 120 * 10**9


class Sent(NamedTuple):
    """What the hosts of a job sent while it stood still: that is what they wrote, whoever else uses the file system.

    total: bytes a second of all of them; writes: whether one sends more than heartbeats; alike: whether all of them
    send, one as much as the other, so that nobody waits for a single one.
    """

    total: float
    writes: bool
    alike: bool


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one job; ``updated`` returns the next state.

    usual: shares of time with kernels outside of pauses. began_ns, lengths_ns: of the newest checkpoints.
    pause_ns: when the open pause began, 0 outside of one. peak: most bytes a second that were written during it, 0
    while none were. bulk_ns: when more than a trickle of that was last written. busy_min: smallest share of time with
    kernels in the pause; dips: by how much that was below the usual share, as a share of it, of the newest checkpoints.
    peaks: of those, the most bytes a second. still_ns: since when nearly all GPUs are without kernels in the open
    pause, 0 while they are not. rests_ns: lengths of the newest pauses in which nothing was written. carries: whether
    the NICs that are counted were seen to carry what the hosts write.
    """

    usual: tuple[float, ...] = ()
    began_ns: tuple[int, ...] = ()
    lengths_ns: tuple[int, ...] = ()
    newest_ns: int = 0
    pause_ns: int = 0
    peak: float = 0.0
    bulk_ns: int = 0
    busy_min: float = 1.0
    dips: tuple[float, ...] = ()
    peaks: tuple[float, ...] = ()
    still_ns: int = 0
    rests_ns: tuple[int, ...] = ()
    carries: bool = False

    def updated(
        self,
        at_ns: int,
        busy: float,
        written: float,
        shared: bool = False,
        every_ns: int = 0,
        sent: Sent | None = None,
    ) -> "Checkpoints":
        """With one more round of collections.

        busy: share of the interval with kernels; written: bytes a second in it; shared: whether another job may have
        written them. After a trickle a checkpoint does not grow again, so more bytes are those of another job.
        every_ns: how far apart values are that show a pause. sent: by its own hosts, None where that is not known. They
        wrote no more than that, where it is known to go over these NICs.
        """
        if self._stands_later(at_ns, busy, every_ns):
            written_until_ns = self.bulk_ns + at_ns - self.newest_ns
            before = self._finished(written_until_ns, 0.0) if self.trickles_ns() else self
            before = replace(before, pause_ns=0, peak=0.0, bulk_ns=0, busy_min=1.0)
            return before.updated(at_ns, busy, written, shared, every_ns, sent)
        if sent is not None and self.carries and sent.total < written:
            written, shared = sent.total, False
        if self.peaks and not self.peak and written < _PEAK_SHARE * median(self.peaks):
            written = 0.0
        if busy < self._pause_below():
            by_others = shared and self.trickles_ns() > 0
            return self._in_pause(at_ns, busy, 0.0 if by_others else written, by_others, sent)
        after = self._finished(at_ns, written) if self.pause_ns and (self.peak or written) else self._rested(at_ns)
        usual = (*after.usual[1 - _USUAL_MAX :], busy)
        after = replace(after, usual=usual, newest_ns=at_ns, pause_ns=0, peak=0.0, bulk_ns=0, busy_min=1.0, still_ns=0)
        if after.period_ns and at_ns - after.began_ns[-1] > _FORGET_PERIODS * after.period_ns:
            return replace(after, began_ns=())
        return after

    def _in_pause(self, at_ns: int, busy: float, written: float, by_others: bool, sent: Sent | None) -> "Checkpoints":
        peak, bulk_ns = self.peak, self.bulk_ns
        if not by_others:
            peak = max(peak, written)
            bulk_ns = at_ns if written > _TRICKLE * peak else bulk_ns
        if sent is not None and sent.alike and peak:
            bulk_ns = at_ns
        return replace(
            self,
            newest_ns=at_ns,
            pause_ns=self.pause_ns or at_ns,
            busy_min=min(self.busy_min, busy),
            peak=peak,
            bulk_ns=bulk_ns,
            still_ns=(self.still_ns or at_ns) if busy < _STANDS * median(self.usual) else 0,
            carries=self.carries or (sent is not None and sent.writes),
        )

    def _stands_later(self, at_ns: int, busy: float, every_ns: int) -> bool:
        """Whether a job begins to stand still that wrote its checkpoint before and went on, though not as usual.

        One that waits for its data now and then is in a pause all the while, in which others write. Who writes stands
        still from the begin, which all of its GPUs show within ``every_ns``.
        """
        if self.still_ns or not self.peak or at_ns - self.pause_ns <= every_ns:
            return False
        return busy < _STANDS * median(self.usual)

    def _finished(self, at_ns: int, written: float) -> "Checkpoints":
        """Each sample is about the interval before it, so a pause of one sample took up to one interval."""
        return replace(
            self,
            began_ns=(*self.began_ns[1 - _KEPT :], self.pause_ns),
            lengths_ns=(*self.lengths_ns[1 - _KEPT :], at_ns - self.pause_ns),
            dips=(*self.dips[1 - _KEPT :], 1.0 - self.busy_min / median(self.usual)),
            peaks=(*self.peaks[1 - _KEPT :], max(self.peak, written)),
        )

    def _rested(self, at_ns: int) -> "Checkpoints":
        """After a pause without writes; the same where there was none."""
        if not self.pause_ns:
            return self
        return replace(self, rests_ns=(*self.rests_ns[1 - _KEPT :], at_ns - self.pause_ns))

    def pauses(self, busy: float) -> bool:
        """Whether the bytes written matter for this sample: it belongs to a pause, or is the first one after."""
        return bool(self.pause_ns) or busy < self._pause_below()

    def lasts_ns(self, interval_ns: int) -> int:
        """For how long the open checkpoint has been written; 0 without one."""
        return self.newest_ns - self.pause_ns + interval_ns if self.pause_ns and self.peak else 0

    def stands_ns(self, interval_ns: int) -> int:
        """For how long the job has stood still in the open checkpoint; 0 without one, and while it works."""
        return self.newest_ns - self.still_ns + interval_ns if self.still_ns and self.peak else 0

    def trickles_ns(self) -> int:
        """For how long hardly anything of the open checkpoint has been written; 0 without one."""
        return self.newest_ns - self.bulk_ns if self.bulk_ns else 0

    def is_ordinary(self, interval_ns: int) -> bool:
        """Whether an open checkpoint has lasted no longer than usual: no job waits for what it always does."""
        return 0 < self.lasts_ns(interval_ns) <= self._longest_ns(interval_ns)

    def rests(self) -> bool:
        """Whether the open pause is one that this job always makes, and has lasted no longer than twice as long.

        Work in phases pauses by itself: answers wait for the last of them, the next data are prepared. Of the pauses
        that are remembered the longest does not count, as one may have been a fault.
        """
        if not self.pause_ns or len(self.rests_ns) < _RESTS_MIN:
            return False
        return self.newest_ns - self.pause_ns <= LATE_TIMES * sorted(self.rests_ns)[-2]

    def ordinary_since_ns(self, interval_ns: int, settles_ns: int) -> int:
        """When a checkpoint of ordinary length began that is open or ended within ``settles_ns``; 0 without one."""
        if self.pause_ns or not self.began_ns:
            return self.pause_ns if self.is_ordinary(interval_ns) else 0
        began_ns, length_ns = self.began_ns[-1], self.lengths_ns[-1]
        recent = self.newest_ns - began_ns - length_ns <= settles_ns
        return began_ns if recent and length_ns <= self._longest_ns(interval_ns) else 0

    def _longest_ns(self, interval_ns: int) -> int:
        return (self.length_ns or UNKNOWN_LENGTH_NS) + interval_ns

    @property
    def length_ns(self) -> int:
        """Usual length of a checkpoint, of four the second shortest, as one may be late; 0 while too few were seen."""
        return median_low(self.lengths_ns) if len(self.lengths_ns) >= CHECKPOINTS_MIN else 0

    @property
    def late_ns(self) -> int:
        """Length from which on a checkpoint is late; 0 while too few were seen.

        Twice the usual one. Where lengths differ, as they do on a busy file system, what is far off by their own robust
        scale, in logarithms, but never more than the longest that is remembered.
        """
        usual = self.length_ns
        if not usual:
            return 0
        logs = [math.log(length / usual) for length in self.lengths_ns if length > 0]
        scale = median(abs(each - median(logs)) for each in logs)
        own = min(usual * math.exp(min(_SCALES * scale, 10.0)), float(max(self.lengths_ns)))
        return round(max(LATE_TIMES * usual, own))

    @property
    def period_ns(self) -> int:
        """Time from one checkpoint to the next; 0 while it is unknown or irregular, or one could be missed."""
        periods = [after - before for before, after in zip(self.began_ns, self.began_ns[1:], strict=False)]
        if len(periods) < PERIODS_MIN or min(self.dips, default=0.0) < _DIP_SEEN:
            return 0
        usual = median(periods)
        return round(usual) if all(abs(period - usual) <= _REGULAR * usual for period in periods) else 0

    def _pause_below(self) -> float:
        """The share of time with kernels below which a sample belongs to a pause."""
        if len(self.usual) < _USUAL_MIN:
            return 0.0
        level = median(self.usual)
        scale = median(abs(value - level) for value in self.usual)
        return min((1.0 - _DIP) * level, level - _SCALES * scale)
