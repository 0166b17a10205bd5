"""The two threads of the embedded bus: one commits, one reads. The event loop never waits for the disk.

Both are daemons: an fsync that never returns must not keep the process from ending.
"""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bus.base import Message
from bus.config import EmbeddedConfig
from bus.embedded import retention
from bus.embedded.log_reader import LogReader
from bus.embedded.log_writer import LogWriter
from bus.metrics import COMMIT_SECONDS, UPKEEP_FAILURES
from common.errors import ConfigError, Unavailable
from common.units import to_ns
from telemetry.topics import Topic

_REOPEN_S = 1.0
_GROUP_PUBLISHES = 10_000


@dataclass(slots=True, eq=False)
class Pending:
    """One publish on its way to the disk. given_up: the caller has gone, so do not write it any more."""

    topic: Topic
    messages: Sequence[Message]
    size: int
    done: "asyncio.Future[None]"
    given_up: bool = False


class WriterThread:
    """Group commit: all that waits goes into one transaction.

    An idle bus commits at once. After a commit the next one waits out the interval, so that many publishers share an
    fsync: a transaction costs as much as twenty records.
    """

    def __init__(
        self,
        config: EmbeddedConfig,
        settle: Callable[[Sequence[Pending], Exception | None], None],
        committed: Callable[[], None],
    ) -> None:
        self._config, self._settle, self._committed = config, settle, committed
        self._wake = threading.Condition()
        self._queue: deque[Pending] = deque()
        self._stopping = False
        self._writer: LogWriter | None = None
        self._upkeep_at = 0.0
        self.opened = threading.Event()
        self.trouble: str | None = None
        self.thread = threading.Thread(target=self._run, name="bus-writer", daemon=True)

    def submit(self, pending: Pending) -> None:
        with self._wake:
            self._queue.append(pending)
            self._wake.notify()

    def finish(self) -> None:
        """Commits what waits, then ends."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def _run(self) -> None:
        while True:
            group = self._take()
            began = time.monotonic()
            if group:
                self._commit(group)
            elif self._stopping:
                break
            if time.monotonic() >= self._upkeep_at:
                self._upkeep()
            if group:
                self._pause(began + self._config.commit_interval_ms / 1000)
        self._close()

    def _take(self) -> list[Pending]:
        with self._wake:
            self._wake.wait_for(
                lambda: self._queue or self._stopping, timeout=max(0.0, self._upkeep_at - time.monotonic())
            )
            count = min(len(self._queue), _GROUP_PUBLISHES)
            return [self._queue.popleft() for _ in range(count)]

    def _pause(self, until: float) -> None:
        with self._wake:
            self._wake.wait_for(lambda: self._stopping, timeout=max(0.0, until - time.monotonic()))

    def _commit(self, group: list[Pending]) -> None:
        wanted = [(pending.topic, pending.messages) for pending in group if not pending.given_up]
        error = self._guarded(lambda writer: writer.append(wanted, time.time_ns()))
        if isinstance(error, ConfigError) and len(group) > 1:
            for pending in group:  # one wrong topic must not fail the others
                self._commit([pending])
            return
        if error is None:
            self._committed()
        self._settle(group, error)

    def _upkeep(self) -> None:
        self._upkeep_at = time.monotonic() + (self._config.upkeep_interval_s if self.trouble is None else _REOPEN_S)
        if self._guarded(self._keep_up) is not None:
            UPKEEP_FAILURES.inc()

    def _keep_up(self, writer: LogWriter) -> None:
        db, config, now_ns = writer.connection, self._config, time.time_ns()
        if not retention.claim(db, now_ns, to_ns(config.upkeep_interval_s)):
            return
        retention.compact(db, now_ns, tombstone_s=config.tombstone_s)
        # One step of each a round, and a round at once while there is more: publishes go in between.
        if retention.expire(db, now_ns) | retention.trim(db, config.log_bytes_max):
            self._upkeep_at = 0.0
            db.execute("UPDATE upkeep SET at_ns = 0")

    def _guarded(self, act: Callable[[LogWriter], None]) -> Exception | None:
        """Runs it on the open file; None, or why it failed. After an error of the disk the file is opened anew."""
        try:
            if self._writer is None:
                self._writer = LogWriter(self._config.path)
                self.opened.set()
            with COMMIT_SECONDS.time():
                act(self._writer)
        except (sqlite3.Error, OSError) as error:
            self.trouble = f"{self._config.path}: {error}"
            self._upkeep_at = time.monotonic() + _REOPEN_S
            self._close()
            return Unavailable(self.trouble)
        except ConfigError as error:
            return error
        self.trouble = None
        return None

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class ReaderThread:
    """Runs reads, and looks for new commits while somebody waits for them."""

    def __init__(
        self, config: EmbeddedConfig, opened: threading.Event, changed: Callable[[dict[str, int]], None]
    ) -> None:
        self._config, self._opened, self._changed = config, opened, changed
        self._wake = threading.Condition()
        self._jobs: deque[tuple[Callable[[LogReader], Any], Callable[[Any, Exception | None], None]]] = deque()
        self._stopping = self._nudged = False
        self._reader: LogReader | None = None
        self._version = -1
        self.watched = False
        self.thread = threading.Thread(target=self._run, name="bus-reader", daemon=True)

    def submit(self, job: Callable[[LogReader], Any], settle: Callable[[Any, Exception | None], None]) -> None:
        with self._wake:
            self._jobs.append((job, settle))
            self._wake.notify()

    def nudge(self) -> None:
        """Look now: this process has just committed, or somebody has just begun to wait."""
        with self._wake:
            self._nudged = True
            self._wake.notify()

    def finish(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def _run(self) -> None:
        while not self._stopping:
            with self._wake:
                self._wake.wait_for(
                    lambda: self._jobs or self._stopping or self._nudged,
                    timeout=self._config.poll_interval_ms / 1000 if self.watched else None,
                )
                jobs, self._nudged = list(self._jobs), False
                self._jobs.clear()
            if self._look():
                for job, settle in jobs:
                    self._answer(job, settle)
            else:
                for _, settle in jobs:
                    settle(None, Unavailable(f"{self._config.path}: cannot be read"))
        self._close()

    def _look(self) -> bool:
        """Tells the bus of new records; False when the file cannot be read."""
        try:
            if self._reader is None:
                if not self._opened.wait(0.5):
                    return False
                self._reader = LogReader(self._config.path)
            version = self._reader.version()
            if version != self._version and self.watched:
                self._version = version
                self._changed(self._reader.totals())
        except sqlite3.Error:
            self._close()
            return False
        return True

    def _answer(self, job: Callable[[LogReader], Any], settle: Callable[[Any, Exception | None], None]) -> None:
        assert self._reader is not None
        try:
            result = job(self._reader)
        except sqlite3.Error as error:
            settle(None, Unavailable(f"{self._config.path}: {error}"))
        else:
            settle(result, None)

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
