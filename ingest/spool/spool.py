"""The spool as the publisher uses it: the files in a thread of their own, the counts in the ledger, and its state.

A disk that fails or is full is no error here: ``append`` says no, ``problem`` says why, and it is tried again.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from common.errors import ConfigError
from common.folder_lock import FolderLock
from common.tasks import cancel
from common.threads import OneThread
from ingest.collectors.base import Clock
from ingest.config import SpoolConfig
from ingest.ledger import Counts, DropReason, Ledger
from ingest.metrics import SPOOL_FAILURES
from ingest.outgoing import Outgoing
from ingest.spool.record import Amount
from ingest.spool.reporting import Holding, count_losses, set_metrics
from ingest.spool.state_file import Position
from ingest.spool.store import SETTING, Store

T = TypeVar("T")
log = structlog.get_logger("ingest")
_SAVE_S = 1.0  # how old the saved counts may be: what a kill makes uncertain while the bus takes everything
_RETRY_S = 1.0  # after the disk has failed
_QUIET_S = 30.0  # the counts may still have room on a disk that takes no samples
_OPEN_S = 10.0  # a disk that does not answer delays collection by so much, once
_STOP_S = 5.0
_READ_BYTES = 4 << 20
_NEARLY_FULL = 0.8


@dataclass(frozen=True, slots=True)
class Group:
    """Messages in order that are published together. end: where they end in the spool, None when it has them not."""

    records: list[Outgoing]
    end: Position | None = None

    @property
    def samples(self) -> int:
        return sum(record.samples for record in self.records)


class Spool:
    """Without a folder it never takes anything. clock: event time, by which samples become too old to keep."""

    def __init__(self, config: SpoolConfig, ledger: Ledger, clock: Clock) -> None:
        self._config, self._ledger, self._clock = config, ledger, clock
        self._store = Store(config.folder, config) if config.folder is not None else None
        self._lock = FolderLock(config.folder / "lock", SETTING) if config.folder is not None else None
        self._thread = OneThread("spool")
        self._turn = asyncio.Lock()  # the counts are brought up to date before the thread goes on
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._opened = False
        self._problem: str | None = None
        self._failed_at = self._busy_since = 0.0
        self._holding = Holding()
        self._is_nearly_full = False

    @property
    def unread(self) -> Amount:
        """What waits on the disk and is not being published."""
        return self._holding.unread

    def problem(self) -> str | None:
        """None, or why nothing can be written, in words."""
        since, now = self._busy_since, asyncio.get_running_loop().time()
        if since and now - since > _OPEN_S:
            return f"{self._config.folder}: the disk has not answered for {now - since:.0f} s"
        return self._problem

    def details(self) -> dict[str, float]:
        """For the stage's report; see ``Holding``."""
        return self._holding.details(self._config, self._clock(), unwritable=self.problem() is not None)

    async def start(self) -> None:
        """Returns when what earlier processes have left is known. ConfigError when another process holds the folder,
        or a newer version wrote it.
        """
        if self._store is None:
            return
        await asyncio.wait({opening := asyncio.ensure_future(self._open(self._store))}, timeout=_OPEN_S)
        if opening.done():
            opening.result()
        self._task = asyncio.get_running_loop().create_task(self._run(self._store, opening))

    @property
    def tasks(self) -> list["asyncio.Task[None]"]:
        return [self._task] if self._task is not None else []

    async def stop(self) -> None:
        """Saves the counts; idempotent, safe before ``start``."""
        if self._store is None or self._task is None:
            return
        self._stopping.set()
        _, late = await asyncio.wait(self.tasks, timeout=_STOP_S)
        self._task = None
        if late or self._busy_since:  # the thread waits for the disk, and nothing can be done about it
            await cancel(late)
            return
        if self._is_ready():
            await self._try(self._store, lambda store: store.save(self._ledger.counts()))
        await self._try(self._store, Store.close)
        self._opened = False
        self._thread.stop()
        if self._lock is not None:
            self._lock.release()

    async def _run(self, store: Store, opening: "asyncio.Future[None]") -> None:
        await opening
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SAVE_S):
                    await self._stopping.wait()
            await (self._save(store) if self._opened else self._open(store))

    async def _open(self, store: Store) -> None:
        counts = await self._try(store, self._open_locked, clears_after_s=0)
        if self._problem is not None:
            return
        if counts is not None:
            self._ledger.resume(counts)
        held, self._opened = counts.held if counts is not None else 0, True
        self._count(store)
        # Between the last save and the end, more was received, or was in memory and is on the disk now.
        self._ledger.received(max(0, self.unread.samples - held), "")
        if lost := max(0, held - self.unread.samples):
            self._ledger.dropped(DropReason.KILLED, lost, "")
            log.warning("samples were in memory alone when the last process was killed", samples=lost)
        await self._try(store, lambda store: store.save(self._ledger.counts()))
        if self.unread:
            log.info(
                "the spool holds samples of an earlier process",
                samples=self.unread.samples,
                bytes=self._holding.used_bytes,
            )

    def _open_locked(self, store: Store) -> Counts | None:
        """ConfigError when another process holds the folder. A disk that does not let us lock is one that fails."""
        assert self._lock is not None, "a store has a folder"
        try:
            self._lock.acquire()
        except ConfigError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, BlockingIOError):
                raise error.__cause__ from error
            raise
        try:
            return store.open()
        except BaseException:
            self._lock.release()
            raise

    async def _save(self, store: Store) -> None:
        counts, now_ns = self._ledger.counts(), self._clock()

        def save(store: Store) -> None:
            store.expire(now_ns)
            store.save(counts)
            store.sync()
            store.check_room()

        await self._try(store, save, clears_after_s=_QUIET_S)

    async def append(self, group: Group, *, taken: bool = False) -> Group | None:
        """The group as it is on the disk; None when the disk does not take it.

        taken: it is being published already, and is not to be read; nothing else may be unread.
        """
        if self._store is None or not self._is_ready():
            return None
        was_empty = self._holding.oldest_ns is None
        counts, now_ns = self._ledger.counts(), self._clock()

        def append(store: Store) -> Position:
            end = store.append(group.records, now_ns, taken=taken)
            with contextlib.suppress(OSError):  # it is there all the same; the next save says what is wrong
                store.save(counts)
            return end

        end = await self._try(self._store, append, clears_after_s=0)
        if end is None:
            return None
        if was_empty:
            log.warning("the bus does not take samples: they go to the disk", folder=str(self._config.folder))
        return Group(group.records, end)

    async def read(self, count_max: int) -> Group:
        """The oldest that are unread, perhaps none of them: what is damaged is dropped on the way."""
        assert self._store is not None
        now_ns = self._clock()
        found = await self._try(self._store, lambda store: store.read(count_max, _READ_BYTES, now_ns))
        assert found is not None, "reading counts what cannot be read"
        return Group(*found)

    async def published(self, group: Group) -> None:
        """The group is on the bus and counted: its place on the disk is free again."""
        if self._store is None or group.end is None:
            return
        counts, end = self._ledger.counts(), group.end
        await self._try(self._store, lambda store: store.published(end, counts))
        if self._holding.oldest_ns is None:
            log.info("the spool is empty: samples go to the bus at once")

    def _is_ready(self) -> bool:
        now = asyncio.get_running_loop().time()
        return self._opened and (self._problem is None or now >= self._failed_at + _RETRY_S)

    async def _try(self, store: Store, act: Callable[[Store], T], *, clears_after_s: float = math.inf) -> T | None:
        """What it returns; None after an error of the disk. clears_after_s: how long after the last error its success
        says that the disk can be written."""
        async with self._turn:
            self._busy_since = asyncio.get_running_loop().time()
            try:
                result = await self._thread(act, store)
            except OSError as error:
                self._failed(error)
                return None
            finally:
                self._busy_since = 0.0
                self._count(store)
            now = asyncio.get_running_loop().time()
            if self._problem is not None and now >= self._failed_at + clears_after_s:
                log.info("the spool can be written again", folder=str(self._config.folder))
                self._problem = None
            return result

    def _failed(self, error: OSError) -> None:
        if self._problem is None:
            log.warning("the spool cannot be written: samples stay in memory", error=str(error))
        self._problem = f"{self._config.folder}: {error}"
        self._failed_at = asyncio.get_running_loop().time()
        SPOOL_FAILURES.inc()

    def _count(self, store: Store) -> None:
        """Brings ledger, counts and metrics up to what the thread has done."""
        self._holding = Holding(store.unread, store.used_bytes, store.oldest_ns)
        count_losses(store.pop_losses(), store.pop_losses_of_targets(), self._ledger)
        details = self.details()
        set_metrics(details)
        was, self._is_nearly_full = self._is_nearly_full, details["spool_fill"] >= _NEARLY_FULL
        if self._is_nearly_full and not was:
            log.warning("the spool is nearly full", bytes=details["spooled_bytes"], seconds=details["spooled_seconds"])
