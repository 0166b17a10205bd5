"""What this stage received, published and dropped: every sample is accounted for, with a reason of a closed set."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.metrics import (
    SAMPLES_DROPPED,
    SAMPLES_PUBLISHED,
    SAMPLES_RECEIVED,
    SAMPLES_UNACCOUNTED,
    SAMPLES_UNMAPPED,
)
from ingest.target_metrics import TargetMetrics
from telemetry.ledger import StageReport, TargetAccount

STAGE = "ingest"
ACCOUNTS_MAX = 100_000
"""Targets with an account of their own; who pushes names its devices as it likes."""


class DropReason(StrEnum):
    """Why a sample, fact or change did not reach the bus."""

    NO_VALUE = "no_value"  # NaN, "N/A", or a vendor's word for "not supported" in a numeric field
    OUT_OF_BOUNDS = "out_of_bounds"  # a value that the catalogue excludes
    EVENT_TIME = "event_time"  # earlier than 1 h ago or more than 5 min ahead
    DUPLICATE = "duplicate"  # a series that one body holds twice
    OUT_OF_ORDER = "out_of_order"  # pushed after a later one of its series
    BAD_FORMAT = "bad_format"  # one value of a message that is well formed otherwise
    QUOTA = "quota"  # beyond what one target may send
    NEW_SERIES = "new_series"  # of a series beyond the new ones that one target may bring
    QUEUE_FULL = "queue_full"  # the bus was unavailable, and so was the disk: memory was full
    SPOOL_FULL = "spool_full"  # the bus was unavailable for so long that the spool was full
    SPOOL_EXPIRED = "spool_expired"  # waited in the spool for longer than it may
    SPOOL_DAMAGED = "spool_damaged"  # the spool's file is torn, or its checksum does not match
    KILLED = "killed"  # in memory alone when the process ended, by its last saved counts
    TOO_LARGE = "too_large"  # a batch above the bus's limit for one message


@dataclass(frozen=True, slots=True)
class Counts:
    """A ledger at one moment, as it outlives the process."""

    epoch_ns: int
    samples_in: int
    samples_out: int
    drops: Mapping[DropReason, int]

    @property
    def held(self) -> int:
        """Samples that were neither published nor dropped."""
        return self.samples_in - self.samples_out - sum(self.drops.values())


@dataclass(slots=True)
class _Account:
    """Of one target, in this process. queued: samples that were emitted and neither published nor dropped."""

    received: int = 0
    published: int = 0
    queued: int = 0
    drops: Counter[DropReason] = field(default_factory=Counter)

    @property
    def balance(self) -> int:
        return self.received - self.published - self.queued - sum(self.drops.values())


@dataclass
class Ledger:
    """Counts of one ingest process, and of those before it on the same spool, since ``epoch_ns``. Every sample that a
    collector saw in a series that the catalogue knows is ``received``; it then is published, dropped or still queued.
    Those of other series are counted apart, in ``samples_unmapped`` of this process alone.

    Each target has an account of its own, in this process alone. What is of no certain target is in the totals only.
    """

    epoch_ns: int
    samples_in: int = 0
    samples_out: int = 0
    samples_unmapped: int = 0
    drops: Counter[DropReason] = field(default_factory=Counter)
    _accounts: dict[str, _Account] = field(default_factory=dict, repr=False)
    _exported_unmapped: int = field(default=0, repr=False)
    _exported: tuple[int, int, Counter[DropReason]] = field(default=(0, 0, Counter()), repr=False)
    _target_metrics: TargetMetrics = field(default_factory=TargetMetrics, repr=False)

    def __post_init__(self) -> None:
        self._began_ns = self.epoch_ns

    def received(self, n: int, target: str) -> None:
        """target: '' where they are of no certain one."""
        self.samples_in += n
        if target and (account := self._account(target)) is not None:
            account.received += n

    def unmapped(self, n: int) -> None:
        """Counts samples of series that nothing maps; ``received`` does not count them."""
        self.samples_unmapped += n

    def queued(self, n: int, target: str) -> None:
        """Counts samples on their way to the bus, that ``received`` has counted before."""
        if (account := self._account(target)) is not None:
            account.queued += n

    def published(self, n: int, target: str) -> None:
        self.samples_out += n
        if (account := self._accounts.get(target)) is not None:
            account.published += n
            account.queued -= n

    def dropped(self, reason: DropReason, n: int, target: str, *, queued: bool = False) -> None:
        """Counts the end of samples that ``received`` has counted before. queued: and ``queued`` as well."""
        if not n:
            return
        self.drops[reason] += n
        if target and (account := self._account(target)) is not None:
            account.drops[reason] += n
            account.queued -= n if queued else 0

    def account(self, target: str) -> TargetAccount:
        """As of now."""
        own = self._accounts.get(target) or _Account()
        return TargetAccount(self._began_ns, own.received, own.published, own.queued, _by_name(own.drops))

    def forget(self, target: str) -> None:
        """The target is no longer collected; what it still has in the queue is counted in the totals."""
        self._accounts.pop(target, None)
        self._target_metrics.forget(target)

    @property
    def unaccounted(self) -> int:
        """Samples of all targets that are neither published, queued nor dropped, or more than once: a fault of ours."""
        return sum(abs(account.balance) for account in self._accounts.values())

    def _account(self, target: str) -> _Account | None:
        """None for a target beyond ``ACCOUNTS_MAX``."""
        found = self._accounts.get(target)
        if found is None and len(self._accounts) < ACCOUNTS_MAX:
            found = self._accounts[target] = _Account()
        return found

    def counts(self) -> Counts:
        """A copy."""
        return Counts(self.epoch_ns, self.samples_in, self.samples_out, dict(self.drops))

    def resume(self, before: Counts) -> None:
        """Goes on from the counts of the process before; the metrics of this one are its own."""
        self.epoch_ns = before.epoch_ns
        self.samples_in += before.samples_in
        self.samples_out += before.samples_out
        self.drops.update(before.drops)
        exported_in, exported_out, drops = self._exported
        drops = drops + Counter(before.drops)
        self._exported = (exported_in + before.samples_in, exported_out + before.samples_out, drops)

    def update_metrics(self) -> None:
        """Brings the process's metrics up to date; called every few seconds, not for every collection."""
        before, self._exported = self._exported, (self.samples_in, self.samples_out, self.drops.copy())
        SAMPLES_RECEIVED.inc(self.samples_in - before[0])
        SAMPLES_PUBLISHED.inc(self.samples_out - before[1])
        SAMPLES_UNMAPPED.inc(self.samples_unmapped - self._exported_unmapped)
        self._exported_unmapped = self.samples_unmapped
        for reason, n in (self.drops - before[2]).items():
            SAMPLES_DROPPED.labels(reason=reason).inc(n)
        SAMPLES_UNACCOUNTED.set(self.unaccounted)
        for target, account in self._accounts.items():
            self._target_metrics.update(target, account.received, account.published, _by_name(account.drops))

    def report(self, instance: str, at_ns: int, queued: int, details: Mapping[str, float]) -> StageReport:
        return StageReport(
            STAGE,
            instance,
            self.epoch_ns,
            at_ns,
            samples_in=self.samples_in,
            samples_out=self.samples_out,
            held=queued,
            dropped=_by_name(self.drops),
            details=details,
        )


def _by_name(drops: Mapping[DropReason, int]) -> dict[str, int]:
    return {reason.value: n for reason, n in sorted(drops.items())}
