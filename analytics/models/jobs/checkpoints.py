"""When a job writes its checkpoints and how long they hold it up, learned from the pauses that it makes by itself.

A pause is a stretch in which fewer kernels run than usual; it is a checkpoint where the job's file system is written to
meanwhile. Checkpoints that do not stop the job (asynchronous ones) are not seen, and nothing is said about them.
"""

from dataclasses import dataclass, replace
from statistics import median, median_low

_DIP = 0.1  # of the usual share of time with kernels: training keeps kernels running all the time
_SCALES = 4.0 * 1.4826  # robust standard deviations, for jobs with an uneven load
_USUAL_MIN, _USUAL_MAX = 6, 60
_KEPT = 12  # checkpoints that are remembered
CHECKPOINTS_MIN = 2  # lengths that tell what a checkpoint takes
PERIODS_MIN = 3
# Of its time with kernels that each checkpoint takes at least, for the absence of one to be seen as surely.
_SEEN = 0.25
_REGULAR = 0.25  # of the median period: a job whose periods differ by more writes when it likes
_FORGET_PERIODS = 6  # so long without a checkpoint is the job's new habit
_TRICKLE = 0.1  # of the most that was written in this pause: less is not the checkpoint, but who has not finished


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What is known of one job; ``updated`` gives the next one.

    usual: shares of time with kernels outside of pauses. began_ns, lengths_ns: of the newest checkpoints.
    pause_ns: when the pause that lasts now began, 0 outside of one. peak: most bytes a second that were written during
    it, 0 while none were. bulk_ns: when more than a trickle of that was last written. least: least share of time with
    kernels in the pause; dips: how far below the usual share that was, of the newest checkpoints.
    """

    usual: tuple[float, ...] = ()
    began_ns: tuple[int, ...] = ()
    lengths_ns: tuple[int, ...] = ()
    newest_ns: int = 0
    pause_ns: int = 0
    peak: float = 0.0
    bulk_ns: int = 0
    least: float = 1.0
    dips: tuple[float, ...] = ()

    def updated(self, at_ns: int, busy: float, written: float, shared: bool = False) -> "Checkpoints":
        """With one more round of collections.

        busy: share of the interval with kernels; written: bytes a second in it; shared: whether another job may have
        written them. A checkpoint that has come to a trickle does not swell again: then another has begun.
        """
        if busy < self._floor():
            by_others = shared and self.trickles_ns() > 0
            return self._in_pause(at_ns, busy, 0.0 if by_others else written, by_others)
        after = self._finished(at_ns) if self.pause_ns and (self.peak or written) else self
        usual = (*after.usual[1 - _USUAL_MAX :], busy)
        after = replace(after, usual=usual, newest_ns=at_ns, pause_ns=0, peak=0.0, bulk_ns=0, least=1.0)
        if after.period_ns and at_ns - after.began_ns[-1] > _FORGET_PERIODS * after.period_ns:
            return replace(after, began_ns=())
        return after

    def _in_pause(self, at_ns: int, busy: float, written: float, by_others: bool) -> "Checkpoints":
        peak, bulk_ns = self.peak, self.bulk_ns
        if not by_others:
            peak = max(peak, written)
            bulk_ns = at_ns if written > _TRICKLE * peak else bulk_ns
        least = min(self.least, busy)
        return replace(self, newest_ns=at_ns, pause_ns=self.pause_ns or at_ns, least=least, peak=peak, bulk_ns=bulk_ns)

    def _finished(self, at_ns: int) -> "Checkpoints":
        """Each sample speaks for the interval before it, so a pause of one sample took up to one interval."""
        return replace(
            self,
            began_ns=(*self.began_ns[1 - _KEPT :], self.pause_ns),
            lengths_ns=(*self.lengths_ns[1 - _KEPT :], at_ns - self.pause_ns),
            dips=(*self.dips[1 - _KEPT :], 1.0 - self.least / median(self.usual)),
        )

    def pauses(self, busy: float) -> bool:
        """Whether it matters for this sample if files are written: it belongs to a pause, or is the first one after."""
        return bool(self.pause_ns) or busy < self._floor()

    def lasts_ns(self, interval_ns: int) -> int:
        """How long the checkpoint that is being written takes so far; 0 while none is."""
        return self.newest_ns - self.pause_ns + interval_ns if self.pause_ns and self.peak else 0

    def trickles_ns(self) -> int:
        """How long hardly anything of the checkpoint that is being written has come; 0 while none is."""
        return self.newest_ns - self.bulk_ns if self.bulk_ns else 0

    @property
    def length_ns(self) -> int:
        """What a checkpoint usually takes, of two the shorter: a late one is no measure; 0 while too few were seen."""
        return median_low(self.lengths_ns) if len(self.lengths_ns) >= CHECKPOINTS_MIN else 0

    @property
    def period_ns(self) -> int:
        """Time from one checkpoint to the next; 0 while it is not known, not regular, or one could pass unseen."""
        periods = [after - before for before, after in zip(self.began_ns, self.began_ns[1:], strict=False)]
        if len(periods) < PERIODS_MIN or min(self.dips, default=0.0) < _SEEN:
            return 0
        usual = median(periods)
        return round(usual) if all(abs(period - usual) <= _REGULAR * usual for period in periods) else 0

    def _floor(self) -> float:
        """A share of time with kernels below this is a pause."""
        if len(self.usual) < _USUAL_MIN:
            return 0.0
        level = median(self.usual)
        scale = median(abs(value - level) for value in self.usual)
        return min((1.0 - _DIP) * level, level - _SCALES * scale)
